// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: one dump beside a recorder, stepped through, for three tests.
// Calls of a scenario and dumps of the region, interleaved as a schedule says: the threads and their allocator, the
// dump that looks for its turn before each word that it reads, and what a copy may show.
#ifndef HEAPSNAP_TEST_UNIT_RUNNING_STEPS_H
#define HEAPSNAP_TEST_UNIT_RUNNING_STEPS_H

#include "hook_calls.h"
#include "payload_slots.h"
#include "stepped_thread.h"

#include "attach/guard/interrupt.h"
#include "snapshot/copy/membarrier.h"
#include "snapshot/copy/running_copy.h"
#include "snapshot/profile/aggregate.h"

// The dump's reads, each of which is a place where it may be interrupted: of a run of neighbouring words the first one,
// and one in each page.
static void dump_reaches(const void *place);

#define __atomic_load_n(place, order) (dump_reaches(place), __atomic_load_n(place, order))
#include "../../snapshot/copy/racing_memory.c"
#undef __atomic_load_n

// For the hash of a stack.
#include "inject/table/record.h"
#include "inject/table/sample_table.h"
#include "inject/table/stack_table.c"

enum {
	THREADS = 2,
	CALLS_MAX = 6,
	PLACES = 6,
	BLOCKS = PLACES + THREADS * CALLS_MAX,
	SITES = 8,
	TURNS_MAX = 8,
	DUMPS = 2
};

static uint64_t addresses[PLACES] = {
	0x20000030, 0x20000020, 0x20000018,
	0x20014000, 0x20014040, 0xa0000000, // neighbours, an odd one, another leaf, another table
};
static bool is_small_place(unsigned place)
{
	return place == 1 || place == 2;
} // the next block would overlap a wide one

// Which block it is shows by its size. Some are to have wide entries, where their place and their address can have one.
enum { SMALL_SIZE = 16, LARGE_SIZE = 64 };
static uint32_t large_blocks; // a bit for each

static uint64_t size_of(unsigned number, unsigned place)
{
	return (large_blocks >> number & 1 && !is_small_place(place) ? LARGE_SIZE : SMALL_SIZE) + number;
}

static uint64_t number_of(uint64_t size) { return size >= LARGE_SIZE ? size - LARGE_SIZE : size - SMALL_SIZE; }

// Blocks that stay, and take all entries but two of the bucket that all samples are in.
enum { FILLER_SIZE = SMALL_SIZE + BLOCKS, FILLERS = HS_SAMPLE_BUCKET_ENTRIES - 2 };

static bool has_samples;

enum what { DONE, ALLOCATE, RELEASE, CHANGE, FAIL };

// A call of a thread. Places are where the allocator puts a block.
struct call {
	enum what what;
	unsigned from, to; // places
	unsigned site;     // of the caller
	unsigned after;    // begins only when the other thread has returned from so many calls
	unsigned behind;   // or has only left the allocator for so many times
};

struct scenario {
	const char *name;
	unsigned places; // a bit for each place that has a block before, and FRESH_STACKS
	struct call calls[THREADS][CALLS_MAX];
};

// The calls' stacks are new ones, in the same chain as older ones, and their nodes in pages that no thread had before.
#define FRESH_STACKS 0x100u

// What each does, in order; further fields may follow.
#define CALL_allocate(place, caller, ...)                                                                              \
	{                                                                                                              \
		.what = ALLOCATE, .to = (place), .site = (caller), __VA_ARGS__                                         \
	}
#define CALL_release(place, ...)                                                                                       \
	{                                                                                                              \
		.what = RELEASE, .from = (place), __VA_ARGS__                                                          \
	}
#define CALL_change(place, new_place, caller, ...)                                                                     \
	{                                                                                                              \
		.what = CHANGE, .from = (place), .to = (new_place), .site = (caller), __VA_ARGS__                      \
	}
#define CALL_fail(place, caller, ...)                                                                                  \
	{                                                                                                              \
		.what = FAIL, .from = (place), .site = (caller), __VA_ARGS__                                           \
	}
#define SCENARIO(text, places_before, ...)                                                                             \
	{                                                                                                              \
		.name = (text), .places = (places_before), .calls = { __VA_ARGS__ }                                    \
	}

// When the dump is about to read its word `point` (0 = before it begins), a thread goes on.
struct turn {
	unsigned point, thread, changes, instructions;
};

static const struct hook_island *filler_island;
static struct made_region made;
static struct running_cut cut;
static struct stepped_thread threads[THREADS];
static const struct scenario *scenario;
static uint64_t site_pc[SITES]; // of the callers

// What is where, by the numbers of blocks: those of before, then one for each call.
static unsigned holds[PLACES]; // number + 1; 0 = none
static uint32_t live_before,
	events[THREADS][CALLS_MAX]; // a bit for each block: which is live, which come or go by a call
static uint64_t address_of[BLOCKS];
static unsigned begun[THREADS], left[THREADS], returned[THREADS];
static bool ended[THREADS];
static uint64_t site_calls_begun[SITES], site_calls_returned[SITES]; // since the region was made

static _Thread_local unsigned running_thread;
static _Thread_local const struct call *running_call;

// Of the slots that payload_slots.h numbers. NULL = no thread has had it.
static struct thread_slot *used_slot(uint32_t index)
{
	return index >= HS_THREAD_SLOTS || made.header->used_slots[index / 64] >> (index % 64) & 1
		       ? payload_slot(&made, index)
		       : NULL;
}

// Not what was never written: reading it would put it there.
static void watch_region(void)
{
	off_t page = HS_OFFSET_PAGES;

	stepped_watch_nothing();
	stepped_watch(made.bytes + (offsetof(struct region_header, next_page) & ~(size_t)(HS_PAGE_SIZE - 1)));
	stepped_watch(made.bytes + HS_OFFSET_LOG);
	if (has_samples)
		stepped_watch(made.bytes + HS_OFFSET_SAMPLES);
	for (uint32_t i = 0; i < payload_slot_count(&made); i++)
		if (used_slot(i))
			stepped_watch((const uint8_t *)used_slot(i));
	while ((page = lseek(payload_region_fd, page, SEEK_DATA)) >= 0 && (uint64_t)page < made.size) {
		stepped_watch(made.bytes + page);
		page += HS_PAGE_SIZE;
	}
}

// The allocator.
static void *put_block(void)
{
	const struct call *call = running_call;
	unsigned number = PLACES + running_thread * CALLS_MAX + (unsigned)(call - scenario->calls[running_thread]);

	if (call->what == CHANGE)
		holds[call->from] = 0;
	holds[call->to] = number + 1;
	address_of[number] = addresses[call->to];
	left[running_thread]++;
	return (void *)addresses[call->to];
}

static void *made_malloc(size_t size)
{
	(void)size;
	return put_block();
}

static void *made_realloc(void *block, size_t size)
{
	(void)block;
	(void)size;
	if (running_call->what != FAIL)
		return put_block();
	left[running_thread]++;
	return NULL;
}

static void make_call(unsigned thread, unsigned index)
{
	const struct call *call = &scenario->calls[thread][index];
	unsigned gone = holds[call->from], number = PLACES + thread * CALLS_MAX + index;
	uint64_t place = 0, from = addresses[call->from], caller = site_pc[call->site] - 0x1000;

	running_call = call;
	events[thread][index] = (call->what == ALLOCATE || call->what == CHANGE ? 1u << number : 0) |
				(call->what == RELEASE || call->what == CHANGE ? 1u << (gone - 1) : 0);
	if (call->what == ALLOCATE || call->what == CHANGE)
		site_calls_begun[call->site]++;
	begun[thread]++;
	stepped_begin();
	switch (call->what) {
	case ALLOCATE:
		(void)call_malloc(size_of(number, call->to), malloc_island, caller);
		break;
	case CHANGE:
	case FAIL:
		(void)call_hook(hook_realloc, from, size_of(number, call->to), realloc_island, caller);
		break;
	default:
		hook_before_free(from, (uint64_t)&place, free_island);
	}
	stepped_end();
	if (call->what == RELEASE) {
		holds[call->from] = 0;
		left[thread]++;
	}
	if (call->what == ALLOCATE || call->what == CHANGE)
		site_calls_returned[call->site]++;
	returned[thread]++;
}

// All calls of all schedules.
static void work(struct stepped_thread *self)
{
	const unsigned me = self->number, other = !me;

	running_thread = me;
	if (me == THREADS - 1)
		payload_slot_take_place(&made); // one of them has a further slot
	while (!thread_slot_claim(arch_thread_pointer()))
		continue;
	for (;;) {
		stepped_pause(self);
		for (unsigned i = 0; i < CALLS_MAX && scenario->calls[me][i].what != DONE; i++) {
			const struct call *call = &scenario->calls[me][i];

			while (returned[other] < call->after || left[other] < call->behind)
				stepped_pause(self);
			make_call(me, i);
		}
		ended[me] = true;
	}
}

static const struct turn *turns;
static unsigned turn_count, next_turn, point;
static const void *last_place;
static bool dump_runs;

static void take_turns(void)
{
	while (next_turn < turn_count && turns[next_turn].point <= point) {
		const struct turn *turn = &turns[next_turn++];

		if (!ended[turn->thread])
			stepped_go_on(&threads[turn->thread], turn->changes, turn->instructions);
	}
}

static void dump_reaches(const void *place)
{
	const char *here = place, *last = last_place;

	if (!dump_runs || here == last)
		return;
	last_place = here;
	if (here == last + 8 && (uintptr_t)here % HS_PAGE_SIZE != 0)
		return;
	point++;
	take_turns();
}

// The steps of the dump at which the tool may fail are steps before which it may wait. Nothing fails here.
struct hs_error *fault_point(const char *step)
{
	dump_reaches(step);
	return NULL;
}

void fault_request(void) { dump_reaches(NULL); }
struct hs_error *interrupt_check(void) { return NULL; }
void fault_kills(pid_t pid) { (void)pid; }

// Threads that stand have nothing in a processor's buffer.
bool membarrier_exists(void) { return true; }

bool membarrier_run(void)
{
	dump_reaches(&made);
	return true;
}

struct shown {
	uint32_t blocks;
	bool twice, elsewhere;
};

static void show_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	struct shown *shown = context;
	uint64_t number = number_of(record->size);

	(void)ref;
	if (record->size == FILLER_SIZE)
		return;
	if (number >= BLOCKS || address_of[number] != address) {
		shown->elsewhere = true;
		return;
	}
	shown->twice |= shown->blocks >> number & 1;
	shown->blocks |= 1u << number;
}

struct pending_context {
	struct table_view *view;
	struct shown *shown;
};

static void show_pending(const struct shared_slot *slot, void *context)
{
	struct pending_context *pending = context;

	if (slot->pending)
		show_block(slot->pending_address, slot->pending, table_record(pending->view, slot->pending),
			   pending->shown);
}

// Whether the threads' first calls, so many of each, are all that happened before some instant.
static bool is_cut(const unsigned *calls)
{
	for (unsigned thread = 0; thread < THREADS; thread++)
		for (unsigned i = 0; i < calls[thread]; i++)
			if (calls[!thread] < scenario->calls[thread][i].after)
				return false;
	return true;
}

static uint32_t live_at(const unsigned *calls)
{
	uint32_t live = live_before;

	for (unsigned thread = 0; thread < THREADS; thread++)
		for (unsigned i = 0; i < calls[thread]; i++)
			live ^= events[thread][i];
	return live;
}

static bool is_right(uint32_t blocks, const unsigned *first, const unsigned *last)
{
	unsigned calls[THREADS];

	for (calls[0] = first[0]; calls[0] <= last[0]; calls[0]++)
		for (calls[1] = first[1]; calls[1] <= last[1]; calls[1]++)
			if (is_cut(calls) && live_at(calls) == blocks)
				return true;
	return false;
}

static void print_schedule(void)
{
	fprintf(stderr, "  %s, dumps reach point %u;", scenario->name, point);
	for (unsigned i = 0; i < turn_count; i++)
		fprintf(stderr, " at %u thread %u: %u changes, %u instructions;", turns[i].point, turns[i].thread,
			turns[i].changes, turns[i].instructions);
	fprintf(stderr, " large blocks: %x", large_blocks);
	fputc('\n', stderr);
}

static uint64_t dumps_made, log_records, blocks_pending;

static void check_totals(struct table_view *view, const uint64_t *least)
{
	struct aggregate totals;
	double objects[SITES] = { 0 };
	bool wrong = false;

	CHECK(aggregate_make(view, &totals) == NULL);
	for (size_t i = 0; i < totals.stacks.count; i++) {
		const struct stack_node *node = table_node(view, totals.stacks.items[i].node);

		for (unsigned site = 0; site < SITES; site++)
			if (node->frame == site_pc[site])
				objects[site] += totals.stacks.items[i].alloc_objects;
	}
	aggregate_deinit(&totals);
	for (unsigned site = 0; site < SITES; site++) {
		if (objects[site] >= (double)least[site] && objects[site] <= (double)site_calls_begun[site])
			continue;
		fprintf(stderr, "site %u: %g allocations, not %" PRIu64 " to %" PRIu64 "\n", site, objects[site],
			least[site], site_calls_begun[site]);
		wrong = true;
	}
	CHECK(!wrong);
	CHECK_EQUAL(view->damaged, 0);
}

// Returns whether the dump has a copy, which is then looked at.
static bool dump(void)
{
	uint64_t least[SITES];
	unsigned first[THREADS];
	struct table_copy copy;
	struct running_report report;
	enum running_obstacle obstacle;
	struct table_view view;
	struct shown shown = { 0 };
	struct pending_context pending = { &view, &shown };

	memcpy(first, returned, sizeof(first));
	memcpy(least, site_calls_returned, sizeof(least));
	dump_runs = true;
	CHECK(running_copy_take(&cut, &copy, &report, &obstacle) == NULL);
	dump_runs = false;
	if (obstacle != OBSTACLE_none) {
		CHECK_EQUAL(obstacle, OBSTACLE_log_full);
		CHECK(!copy.bytes);
		return false;
	}
	table_view_init(&region_layout_own, copy.header, copy.bytes, copy.size, &view);
	view.grew = true;
	table_visit_blocks(&view, show_block, &shown);
	table_visit_slots(&view, show_pending, &pending);
	CHECK(!shown.twice && !shown.elsewhere);
	if (!is_right(shown.blocks, first, begun)) {
		fprintf(stderr, "blocks %x are none of what was live from calls %u, %u to %u, %u\n", shown.blocks,
			first[0], first[1], begun[0], begun[1]);
		check_failures++;
	}
	check_count++;
	check_totals(&view, least);
	table_copy_deinit(&copy);
	dumps_made++;
	log_records += report.log_records;
	blocks_pending += report.pending;
	return true;
}

static void set_blocks(void)
{
	live_before = 0;
	memset(events, 0, sizeof(events));
	for (unsigned i = 0; i < PLACES; i++) {
		const struct call call = { .to = i };

		if (!(scenario->places >> i & 1))
			continue;
		running_call = &call;
		(void)call_malloc(size_of(i, i), calloc_island, site_pc[0] - 0x1000);
		site_calls_begun[0]++;
		site_calls_returned[0]++;
		holds[i] = i + 1;
		address_of[i] = addresses[i];
		live_before |= 1u << i;
	}
}

static void *made_initial(size_t size)
{
	(void)size;
	return (void *)addresses[running_call->to];
}

static void clear_blocks(void)
{
	uint64_t place = 0;

	for (unsigned i = 0; i < PLACES; i++) {
		if (holds[i])
			hook_before_free(addresses[i], (uint64_t)&place, free_island);
		holds[i] = 0;
	}
}

static void end_calls(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		threads[i].runs_freely = true;
	for (unsigned thread = 0; !ended[0] || !ended[1]; thread = !thread)
		if (!ended[thread])
			stepped_go_on(&threads[thread], 0, 0);
	for (unsigned i = 0; i < THREADS; i++)
		threads[i].runs_freely = false;
}

// Three sites that no stack was made for yet, to be in one chain. There have been calls from the first one, and its
// totals are all in its node; the nodes of the other two will lie in a page that the thread has yet to take.
static void make_sites_fresh(void)
{
	static uint64_t pc = 0x100000;
	static const struct call call = { .to = PLACES - 1 };
	uint32_t root = stack_table_node(thread_slot_current(), 0,
					 (uint64_t)HS_FRAME_CUT << HS_FRAME_MODULE_SHIFT | CUT_foreign_stack);
	uint64_t place = 0;

	for (unsigned site = 0; site < 3; site++) {
		do
			pc++;
		while (site ? first_bucket(mix(root, pc)) != first_bucket(mix(root, site_pc[0]))
			    : made_buckets(&made)[first_bucket(mix(root, pc))] != 0);
		site_pc[site] = pc;
		site_calls_begun[site] = site_calls_returned[site] = 0;
	}
	running_call = &call;
	for (; site_calls_begun[0] < 3; site_calls_begun[0]++, site_calls_returned[0]++) {
		(void)call_malloc(SMALL_SIZE, calloc_island, site_pc[0] - 0x1000);
		hook_before_free(addresses[call.to], (uint64_t)&place, free_island);
	}
	for (uint32_t i = 0; i < payload_slot_count(&made); i++) {
		struct thread_slot *slot = used_slot(i);

		if (!slot)
			continue;
		slot->fresh_node = 0;
		for (unsigned k = 0; k < HS_TOTALS_ENTRIES; k++) {
			totals_flush(slot, k);
			slot->shared.totals[k] = (struct totals_entry){ 0 };
		}
	}
}

static void begin_run(const struct turn *schedule, unsigned count)
{
	if (scenario->places & FRESH_STACKS)
		make_sites_fresh();
	memset(begun, 0, sizeof(begun));
	memset(left, 0, sizeof(left));
	memset(returned, 0, sizeof(returned));
	memset(ended, 0, sizeof(ended));
	set_blocks();
	watch_region();
	turns = schedule;
	turn_count = count;
	next_turn = point = 0;
	last_place = NULL;
	take_turns();
}

static void end_run(int failures_before)
{
	if (check_failures != failures_before)
		print_schedule();
	end_calls();
	clear_blocks();
}

#endif
