// SPDX-License-Identifier: Apache-2.0
// Threads allocate, free and reallocate at full speed through the hooks' own code, and hand the blocks to each other;
// meanwhile the region is copied again and again. No copy shows what was never there: docs/consistency.md. Once with
// blocks of the libc in both parts of the live table, some of which go from one part to the other; once with samples at
// addresses of a few buckets of the sample table, so that entries go from one to the next, and many a block finds its
// bucket full. usage: running_stress_test [COPIES]

#include "hook_calls.h"
#include "payload_slots.h"

#include "snapshot/copy/racing_memory.h"
#include "snapshot/copy/running_copy.h"
#include "snapshot/profile/aggregate.h"

#include <sys/wait.h>

enum { THREADS = 4, BOXES = 64, SIZES = 256 };

#define TOO_MUCH ((uint64_t)PTRDIFF_MAX)

// What a box's owner does, one step each, whoever it is.
enum kind {
	KIND_realloc, // one block becomes another
	KIND_move,    // a second block, then the first one goes
	KIND_gap,     // the block goes, then another one comes
	KIND_pair,    // A, then B; B goes, then A
	KIND_fail,    // a reallocation fails
	KIND_COUNT
};

static struct box {
	pthread_mutex_t lock;
	void *blocks[2];
	unsigned step;
} boxes[BOXES];

static struct made_region made;
static int ends;

// An allocator that hands out addresses at which nothing is, all in a few buckets of the sample table.
enum { BUCKETS = 3, ADDRESSES = 2 * BOXES + 16 };

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t pool[ADDRESSES];
static unsigned pool_count;

static void pool_fill(void)
{
	for (uint64_t address = 0x10000; pool_count < ADDRESSES; address += 8)
		if (sample_bucket(sample_key(address)) < BUCKETS) {
			pool[pool_count++] = address;
			address += SIZES; // no two overlap
		}
}

static void *pool_malloc(size_t size)
{
	uint64_t address;

	(void)size;
	pthread_mutex_lock(&pool_lock);
	address = pool[--pool_count];
	pthread_mutex_unlock(&pool_lock);
	return (void *)address;
}

static void pool_free(void *block)
{
	pthread_mutex_lock(&pool_lock);
	pool[pool_count++] = (uint64_t)block;
	pthread_mutex_unlock(&pool_lock);
}

// The old address is another's before the call returns.
static void *pool_realloc(void *block, size_t size)
{
	void *moved;

	if (size == TOO_MUCH)
		return NULL;
	moved = pool_malloc(size);
	pool_free(block);
	return moved;
}

static void *libc_realloc(void *block, size_t size) { return size == TOO_MUCH ? NULL : realloc(block, size); }

// Each box has two sizes that no other has. Those of some boxes are small, and of some the first one.
enum { SMALL_FIRST = 2, LARGE_FIRST = 64 };

static uint64_t size_of(unsigned box, unsigned which)
{
	if (box % 4 == 0)
		return SMALL_FIRST + box / 2 + which; // 2 to 33
	if (box % 4 == 1 && which == 0)
		return SMALL_FIRST + BOXES / 2 + box / 4; // 34 to 49
	return LARGE_FIRST + 2 * box + which;
}

static void *allocate(unsigned box, unsigned which)
{
	return call_malloc(size_of(box, which), malloc_island, box % 50);
}

static void *reallocate(void *block, unsigned box, unsigned which)
{
	return call_hook(hook_realloc, (uint64_t)block, size_of(box, which), realloc_island, 100 + box % 50);
}

static void step_realloc(struct box *box, unsigned number)
{
	box->blocks[0] = reallocate(box->blocks[0], number, box->step % 2);
}

static void step_move(struct box *box, unsigned number)
{
	unsigned which = box->step / 2 % 2;

	if (box->step % 2 == 0) {
		box->blocks[!which] = allocate(number, !which);
	} else {
		release(box->blocks[which]);
		box->blocks[which] = NULL;
	}
}

static void step_gap(struct box *box, unsigned number)
{
	if (box->step % 2 == 0) {
		release(box->blocks[0]);
		box->blocks[0] = NULL;
	} else {
		box->blocks[0] = allocate(number, box->step / 2 % 2);
	}
}

static void step_pair(struct box *box, unsigned number)
{
	unsigned which = box->step % 4 == 1 || box->step % 4 == 2;

	if (box->step % 4 < 2) {
		box->blocks[which] = allocate(number, which);
	} else {
		release(box->blocks[which]);
		box->blocks[which] = NULL;
	}
}

static void step_fail(struct box *box, unsigned number)
{
	(void)number;
	// Each is logged while a copy is made, and there is an end to the log.
	if (box->step % 64 == 0 && call_hook(hook_realloc, (uint64_t)box->blocks[0], TOO_MUCH, realloc_island, 200))
		exit(1);
}

static void step(struct box *box, unsigned number)
{
	static void (*const steps[KIND_COUNT])(struct box *, unsigned) = { step_realloc, step_move, step_gap, step_pair,
									   step_fail };

	pthread_mutex_lock(&box->lock);
	steps[number % KIND_COUNT](box, number);
	box->step++;
	pthread_mutex_unlock(&box->lock);
}

static void work(unsigned number)
{
	unsigned dice = number * 7919 + 1;

	while (!thread_slot_claim(arch_thread_pointer()))
		continue;
	while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
		unsigned box;

		dice = dice * 1103515245 + 12345;
		box = dice >> 8 & (BOXES - 1);
		step(&boxes[box], box);
	}
}

// How many blocks of each size a copy shows.
static unsigned shown[BOXES][2];

static void count_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	static unsigned number_by_size[SIZES]; // of a box's block, and 1

	(void)address;
	(void)ref;
	(void)context;
	for (unsigned number = 0; number_by_size[size_of(BOXES - 1, 1)] == 0; number++)
		number_by_size[size_of(number / 2, number % 2)] = number + 1;
	if (record->size < SIZES && number_by_size[record->size])
		shown[(number_by_size[record->size] - 1) / 2][(number_by_size[record->size] - 1) % 2]++;
	else
		CHECK_EQUAL(record->size, 0);
}

// One that is being reallocated, whose place has another block.
static void count_pending(const struct shared_slot *slot, void *context)
{
	struct table_view *view = context;

	if (slot->pending)
		count_block(slot->pending_address, slot->pending, table_record(view, slot->pending), NULL);
}

static void check_boxes(void)
{
	for (unsigned i = 0; i < BOXES; i++) {
		unsigned first = shown[i][0], second = shown[i][1];
		bool right = false;

		switch ((enum kind)(i % KIND_COUNT)) {
		case KIND_realloc:
			right = first + second == 1;
			break;
		case KIND_move:
			right = first <= 1 && second <= 1 && first + second >= 1;
			break;
		case KIND_gap:
			right = first + second <= 1;
			break;
		case KIND_pair:
			right = first <= 1 && second <= first;
			break;
		case KIND_fail:
			right = first == 1 && second == 0;
			break;
		case KIND_COUNT:
			break;
		}
		if (!right) {
			fprintf(stderr, "box %u of kind %u: %u of the first, %u of the second\n", i, i % KIND_COUNT,
				first, second);
			check_failures++;
		}
	}
}

// The address sanitizer keeps what is freed from being used again, so that every block would have a new address, and
// the region be full of tables.
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"; }

// Returns all allocations so far.
static uint64_t check_copy(const struct table_copy *copy)
{
	struct table_view view;
	struct aggregate totals;
	uint64_t allocations = 0;

	table_view_init(&region_layout_own, copy->header, copy->bytes, copy->size, &view);
	view.grew = true;
	memset(shown, 0, sizeof(shown));
	table_visit_blocks(&view, count_block, NULL);
	table_visit_slots(&view, count_pending, &view);
	check_boxes();
	CHECK(aggregate_make(&view, &totals) == NULL);
	CHECK_EQUAL(view.damaged, 0);
	for (size_t i = 0; i < totals.stacks.count; i++)
		allocations += (uint64_t)totals.stacks.items[i].alloc_objects;
	CHECK(totals.pending <= THREADS);
	aggregate_deinit(&totals);
	return allocations;
}

static uint64_t counted_allocations(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < payload_slot_count(&made); i++) {
		struct thread_slot *slot = payload_slot(&made, i);

		sum += slot ? racing_u64(&slot->shared.counters[COUNTER_allocations]) : 0;
	}
	return sum;
}

static unsigned copies = CHECK_TIMES(150, 40);

static void copy_again_and_again(void)
{
	struct region_access access = { .layout = &region_layout_own, .size = made.size, .fd = -1, .memory.fd = -1 };
	uint64_t before = 0, records = 0;
	struct running_cut cut;
	enum running_obstacle obstacle;

	access.fd = payload_region_fd;
	CHECK(running_cut_open(&access, &cut, &obstacle) == NULL);
	CHECK_EQUAL(obstacle, OBSTACLE_none);
	for (unsigned i = 0; i < copies && check_failures == 0; i++) {
		struct running_report report;
		struct table_copy copy;
		uint64_t least = counted_allocations(), allocations;

		CHECK(running_copy_take(&cut, &copy, &report, &obstacle) == NULL);
		CHECK_EQUAL(obstacle, OBSTACLE_none);
		if (obstacle != OBSTACLE_none)
			break;
		allocations = check_copy(&copy);
		CHECK(allocations >= before);
		// each counts a moment later or earlier
		CHECK(allocations + THREADS >= least && allocations <= counted_allocations() + THREADS);
		before = allocations;
		records += report.log_records;
		table_copy_deinit(&copy);
	}
	running_cut_close(&cut);
	CHECK(records > 0);
	CHECK_EQUAL(made.header->samples_used, made.header->sampling_mode != SAMPLING_exact);
	printf("%u copies, %" PRIu64 " log records, %" PRIu64 " allocations\n", copies, records, before);
}

static void work_or_copy(unsigned number)
{
	if (number > 0) {
		work(number);
		return;
	}
	copy_again_and_again();
	__atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
}

static void set_up(unsigned number)
{
	(void)number;
	while (!thread_slot_claim(arch_thread_pointer()))
		continue;
	for (unsigned i = 0; i < BOXES; i++)
		if (i % KIND_COUNT != KIND_pair)
			boxes[i].blocks[0] = allocate(i, 0);
}

static int stress(enum sampling_mode mode)
{
	// Blocks of that size and more are recorded always.
	const struct sampling_settings settings = { .mode = mode, .interval = SMALL_FIRST };

	payload_region_share();
	payload_region_init(&made, 16000); // a large log
	hooked.realloc = libc_realloc;
	if (mode != SAMPLING_exact) {
		pool_fill();
		hooked = (struct hooked_functions){ pool_malloc, NULL, pool_realloc, pool_free };
		memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
		sampling_settings_begin(made.header, &settings, 1, 2000);
	}
	make_islands();
	for (unsigned i = 0; i < BOXES; i++)
		pthread_mutex_init(&boxes[i].lock, NULL);
	run_together(1, set_up);
	run_together(THREADS + 1, work_or_copy);
	for (unsigned i = 0; i < BOXES; i++) {
		if (boxes[i].blocks[0])
			hooked.free(boxes[i].blocks[0]);
		if (boxes[i].blocks[1])
			hooked.free(boxes[i].blocks[1]);
	}
	return CHECK_RESULT();
}

static bool ends_well(enum sampling_mode mode)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0)
		exit(stress(mode));
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		copies = (unsigned)atoi(argv[1]);
	CHECK(ends_well(SAMPLING_exact));    // blocks in the live table
	CHECK(ends_well(SAMPLING_interval)); // in the sample table
	return CHECK_RESULT();
}
