// SPDX-License-Identifier: Apache-2.0
// A few calls, made by the hooks' own code, and a dump that copies the region, interleaved instruction by instruction:
// the threads stop after any change of the region, the dump before any word that it reads or writes there, and each
// goes on when the schedule says so. Each copy is compared with the definition in docs/consistency.md. usage:
// running_steps_test [SCHEDULES [SEED]]
static struct payload_state_words {
	unsigned active, present;
} state = { 1, 1 };

#define PAYLOAD_CONFIG .state = (uint64_t)&state

#include "running_steps.h"

static const struct scenario scenarios[] = {
	SCENARIO("a block comes and goes", 1, { CALL_allocate(1, 1), CALL_release(0), CALL_release(1) }),
	SCENARIO("a block becomes another in its place", 1, { CALL_change(0, 0, 1), CALL_change(0, 0, 2) }),
	SCENARIO("a block grows and shrinks in its place", 8,
		 { CALL_change(3, 3, 1), CALL_change(3, 3, 2), CALL_fail(3, 3), CALL_change(3, 3, 1) }),
	SCENARIO("a block moves, and goes", 1, { CALL_change(0, 1, 1), CALL_change(1, 3, 2), CALL_release(3) }),
	SCENARIO("a reallocation fails", 1, { CALL_fail(0, 1), CALL_change(0, 2, 2), CALL_fail(2, 3) }),
	SCENARIO("a gap and a pair", 3,
		 { CALL_release(1), CALL_allocate(1, 1), CALL_release(1), CALL_release(0), CALL_allocate(0, 2) }),
	SCENARIO("new tables", 0, { CALL_allocate(5, 1), CALL_change(5, 3, 2), CALL_allocate(5, 3), CALL_release(3) }),
	SCENARIO("new stacks", FRESH_STACKS | 1, { CALL_allocate(1, 1), CALL_change(1, 3, 2), CALL_release(3) }),
	SCENARIO("one allocates where the other one is moving away", 1, { CALL_change(0, 1, 1), CALL_release(1) },
		 { CALL_allocate(0, 2, .behind = 1), CALL_release(0) }),
	SCENARIO("each goes on with what the other one has begun", 5,
		 { CALL_change(0, 1, 1), CALL_allocate(0, 3, .after = 1) },
		 { CALL_change(1, 3, 2, .after = 1), CALL_release(2), CALL_release(0, .after = 2),
		   CALL_allocate(2, 4) }),
	SCENARIO("each at its own", 3, { CALL_release(0), CALL_allocate(0, 1), CALL_change(0, 2, 1) },
		 { CALL_change(1, 3, 2), CALL_change(3, 1, 2), CALL_release(1) }),
};

static uint64_t dice;

static unsigned draw(unsigned below)
{
	dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)((dice >> 33) % below);
}

// Two dumps, one after the other, and turns anywhere in them.
static void run_drawn(void)
{
	const unsigned thread_count = scenario->calls[1][0].what == DONE ? 1 : 2, count = 1 + draw(TURNS_MAX);
	const int failures = check_failures;
	struct turn schedule[TURNS_MAX];
	unsigned at = 0;

	for (unsigned i = 0; i < count; i++) {
		schedule[i] = (struct turn){ at, draw(thread_count), draw(2) ? draw(8) : draw(40), draw(12) };
		at += draw(2) ? draw(40) : draw(4);
	}
	large_blocks = draw(1u << BLOCKS);
	begin_run(schedule, count);
	for (unsigned i = 0; i < DUMPS && check_failures == failures; i++)
		CHECK(dump());
	end_run(failures);
}

// Three blocks go at each point of a dump whose log has room for two: it has no copy, or a right one, because they went
// before the cut. The next dump has one.
static void test_full_log(void)
{
	static const struct scenario three_go =
		SCENARIO("three blocks go", 7, { CALL_release(0), CALL_release(1), CALL_release(2) });
	const uint32_t limit = made.header->log_limit;
	unsigned full = 0, found_room = 0, last_point;

	scenario = &three_go;
	made.header->log_limit = 2;
	for (unsigned at = 0;; at++) {
		const struct turn all = { at, 0, UINT32_MAX, 0 };
		const int failures = check_failures;

		begin_run(&all, 1);
		*(dump() ? &found_room : &full) += 1;
		last_point = point;
		CHECK(dump());
		end_run(failures);
		if (at > last_point)
			break;
	}
	made.header->log_limit = limit;
	CHECK(full > 5 && found_room > 5);
	printf("a log that is too small: full in %u dumps, not in %u\n", full, found_room);
}

// From now on every block is a sample (as large as the interval), and they are all in one bucket.
static void begin_samples(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = SMALL_SIZE };

	memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
	sampling_settings_begin(made.header, &settings, 1, 2000);
	for (uint32_t i = 0; i < payload_slot_count(&made); i++)
		if (used_slot(i))
			used_slot(i)->shared.interval = 0;
	for (unsigned i = 0; i < PLACES; i++)
		addresses[i] = sample_address(0, sample_entry(1000 + i, 1));
	has_samples = true;
}

static void *made_filler(size_t size)
{
	static unsigned count;

	(void)size;
	return (void *)sample_address(0, sample_entry(2000 + count++, 1));
}

// So that some samples find the bucket full.
static void fill_bucket(void)
{
	for (unsigned i = 0; i < FILLERS; i++)
		(void)call_malloc(FILLER_SIZE, filler_island, site_pc[0] - 0x1000);
	site_calls_begun[0] += FILLERS;
	site_calls_returned[0] += FILLERS;
}

// A failed reallocation puts its block back into another entry, at any point of the dump: its own was taken by another
// block in between.
static void test_moved_entry(void)
{
	// of the region, until the failing call has left the allocator; where that is wrong nothing moves
	enum { CHANGES = 8 };
	static const struct scenario moved = SCENARIO("a sample's entry moves", 3, { CALL_fail(0, 1) },
						      { CALL_release(1), CALL_allocate(3, 2, .behind = 1) });
	unsigned last_point, moves = 0;

	scenario = &moved;
	for (unsigned at = 0;; at++) {
		// The second place's block goes; the reallocation takes the first one's out; another block gets its
		// entry; the reallocation fails.
		const struct turn schedule[] = { { at, 1, UINT32_MAX, 0 },
						 { at, 0, CHANGES, 0 },
						 { at, 1, UINT32_MAX, 0 },
						 { at, 0, UINT32_MAX, 0 } };
		const int failures = check_failures;
		const uint64_t *before, *after;

		begin_run(schedule, 0);
		before = sample_table_find(addresses[0]);
		turns = schedule;
		turn_count = 4;
		take_turns();
		CHECK(dump());
		after = sample_table_find(addresses[0]);
		moves += before != after;
		last_point = point;
		end_run(failures);
		if (at > last_point)
			break;
	}
	CHECK(moves > 10);
}

static void run_scenarios(unsigned schedules)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		scenario = &scenarios[i];
		for (unsigned n = 0; n < schedules && check_failures < 10; n++)
			run_drawn();
	}
}

enum { SCHEDULES = CHECK_TIMES(30, 6) };

int main(int argc, char **argv)
{
	unsigned schedules = argc > 1 ? (unsigned)atoi(argv[1]) : SCHEDULES;
	struct region_access access = { .layout = &region_layout_own, .fd = -1, .memory.fd = -1 };
	enum running_obstacle obstacle;
	struct hook_island *islands =
		mmap(NULL, HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	dice = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	payload_region_share();
	payload_region_init(&made, 16000);
	malloc_island = make_island(&islands[0], (void *)made_malloc, 0);
	realloc_island = make_island(&islands[1], (void *)made_realloc, 1);
	free_island = make_island(&islands[2], (void *)free, 2);
	calloc_island = make_island(&islands[3], (void *)made_initial, 3);
	filler_island = make_island(&islands[4], (void *)made_filler, 4);
	if (mprotect(islands, HS_PAGE_SIZE, PROT_READ | PROT_EXEC) != 0)
		return 1;
	for (unsigned i = 0; i < SITES; i++)
		site_pc[i] = 0x2000 + i;
	access.size = made.size;
	access.fd = payload_region_fd;
	CHECK(thread_slot_claim(arch_thread_pointer()));
	for (unsigned i = 0; i < THREADS; i++) {
		stepped_create(&threads[i], work, i);
		stepped_go_on(&threads[i], 0, 0);
	}
	CHECK(running_cut_open(&access, &cut, &obstacle) == NULL);
	CHECK_EQUAL(obstacle, OBSTACLE_none);
	test_full_log();
	run_scenarios(schedules);
	begin_samples();
	run_scenarios(schedules / 3);
	test_moved_entry();
	fill_bucket();
	run_scenarios(schedules / 3);
	running_cut_close(&cut);
	printf("%" PRIu64 " dumps, %" PRIu64 " log records, %" PRIu64 " blocks being reallocated\n", dumps_made,
	       log_records, blocks_pending);
	CHECK(log_records > 0 && blocks_pending > 0);
	return CHECK_RESULT();
}
