// SPDX-License-Identifier: Apache-2.0
// The hooks' own C code around the libc's real functions, in threads that hand blocks to each other: what the table
// shows in the end is what they hold. Under the thread sanitizer it is also looked at how they share the region.

#include "hook_calls.h"
#include "payload_slots.h"

#include <errno.h>

enum { THREADS = 4, ROUNDS = 20000, BOXES = 64, SIZE_MAX_ASKED = 400, OPERATOR = 9 };

static struct made_region made;

// What threads hold: a block in each box, taken and put by whoever comes.
static struct box {
	pthread_mutex_t lock;
	void *block;
	uint64_t size;
} boxes[BOXES];

static struct {
	uint64_t allocations, frees, reallocations;
} done[THREADS];

static void allocate(struct box *box, unsigned number, unsigned dice)
{
	box->size = 1 + dice % SIZE_MAX_ASKED;
	switch (dice >> 12 & 3) {
	case 0:
		box->block = call_calloc(1, box->size, calloc_island, dice % 50);
		break;
	case 1:
		box->block = call_new(box->size, new_island, dice % 50);
		break;
	default:
		box->block = call_malloc(box->size, malloc_island, dice % 50);
	}
	done[number].allocations++;
}

static void exchange(unsigned number)
{
	unsigned dice = number * 7919 + 1;

	while (!thread_slot_claim(arch_thread_pointer()))
		continue;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct box *box;

		dice = dice * 1103515245 + 12345;
		box = &boxes[dice >> 8 & (BOXES - 1)];
		pthread_mutex_lock(&box->lock);
		if (!box->block) {
			allocate(box, number, dice >> 14);
		} else if (dice & 0x40) {
			box->size = 1 + (dice >> 14) % SIZE_MAX_ASKED;
			box->block = call_hook(hook_realloc, (uint64_t)box->block, box->size, realloc_island,
					       100 + dice % 50);
			done[number].reallocations++;
		} else {
			release(box->block);
			box->block = NULL;
			done[number].frees++;
		}
		pthread_mutex_unlock(&box->lock);
	}
}

static void count_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	uint64_t *count = context;

	(void)ref;
	for (unsigned i = 0; i < BOXES; i++) {
		if ((uint64_t)boxes[i].block == address) {
			CHECK_EQUAL(record->size, boxes[i].size);
			++*count;
			return;
		}
	}
	fprintf(stderr, "0x%" PRIx64 " is in the table and nobody holds it\n", address);
	check_failures++;
}

// An island of its own, for a function that the usual ones do not have.
static struct hook_island *make_own_island(void *function, uint32_t index)
{
	struct hook_island *island =
		mmap(NULL, HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (island == MAP_FAILED)
		exit(1);
	make_island(island, function, index);
	if (mprotect(island, HS_PAGE_SIZE, PROT_READ | PROT_EXEC) != 0)
		exit(1);
	return island;
}

static void *block_within;

// A recorded block is given back while the original of another call runs, as a signal handler does it: the recorder
// says that it runs, and that it has ended.
static void *releases_within(size_t size)
{
	struct thread_slot *slot = thread_slot_current();
	uint32_t free_count = slot->free_count;

	CHECK(slot->shared.guard != 0 && slot->shared.in_original == 1);
	release(block_within);
	CHECK(slot->shared.guard != 0 && slot->shared.in_original == 1);
	CHECK_EQUAL(slot->free_count, free_count + 1);
	return malloc(size);
}

static void test_release_within(void)
{
	struct hook_island *island = make_own_island((void *)releases_within, 5);
	uint64_t frees = sum_counter(&made, COUNTER_frees), given_back;
	struct thread_slot *slot;
	struct table_view view;
	void *block;

	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	block_within = call_malloc(1000, malloc_island, 7);
	given_back = (uint64_t)block_within;
	block = call_malloc(5000, island, 8);
	CHECK(slot->shared.guard == 0 && slot->shared.in_original == 0);
	CHECK_EQUAL(sum_counter(&made, COUNTER_frees), frees + 1);
	view = made_view(&made);
	CHECK_EQUAL(table_find_block(&view, given_back), 0);
	CHECK(table_find_block(&view, (uint64_t)block) != 0);
	release(block);
	CHECK_EQUAL(table_find_block(&view, (uint64_t)block), 0);
}

// Two releases of one block by the same function are two, also of a block that no record shows; one that another
// function passes on is one.
static void test_unknown_releases(void)
{
	struct thread_slot *slot = thread_slot_claim(arch_thread_pointer());
	uint64_t before = slot->shared.counters[COUNTER_unknown_frees], place[2] = { 0x123456, 0x123456 };

	made.header->always_exact = 1;
	hook_before_free(0x7000000000, (uint64_t)&place[0], free_island);
	CHECK_EQUAL(slot->shared.counters[COUNTER_unknown_frees], before + 1);
	hook_before_free(0x7000000000, (uint64_t)&place[0], free_island);
	CHECK_EQUAL(slot->shared.counters[COUNTER_unknown_frees], before + 2);
	hook_before_free(0x7000000000, (uint64_t)&place[0], realloc_island); // any other function
	CHECK_EQUAL(slot->shared.counters[COUNTER_unknown_frees], before + 2);
	CHECK_EQUAL(slot->shared.counters[COUNTER_unknown_frees_own], 0);
}

// Of those, such that the function's own library has made are told apart, but for a program that holds its allocator.
static void test_own_releases(void)
{
	struct hook_record *hooks = (struct hook_record *)(made.bytes + HS_OFFSET_HOOKS);
	struct module_record *module = (struct module_record *)(made.bytes + HS_OFFSET_MODULES) + 5;
	struct thread_slot *slot = thread_slot_claim(arch_thread_pointer());
	static const struct {
		uint64_t caller;
		uint32_t flags;
		uint64_t expected;
	} cases[] = {
		{ 0x1fff, 0, 0 }, { 0x2000, 0, 1 }, { 0x2fff, 0, 1 }, { 0x3000, 0, 0 }, { 0x2000, MODULE_MAIN, 0 }
	};

	hooks[free_island->hook_index].module = 5;
	module->text_low = 0x2000;
	module->text_high = 0x3000;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t before = slot->shared.counters[COUNTER_unknown_frees_own], place = cases[i].caller;

		module->flags = cases[i].flags;
		hook_before_free(0x7000001000 + i * 16, (uint64_t)&place, free_island);
		CHECK_EQUAL(slot->shared.counters[COUNTER_unknown_frees_own] - before, cases[i].expected);
	}
}

static uint32_t recorded(const void *block)
{
	struct table_view view = made_view(&made);

	return table_find_block(&view, (uint64_t)block);
}

static uint64_t size_recorded(const void *block)
{
	uint32_t ref = recorded(block);

	return ref ? ((const struct block_record *)made_ref(&made, ref))->size : 0;
}

static int call_posix_memalign(const struct hook_island *island, void **result, uint64_t alignment, uint64_t size)
{
	const struct entry_frame frame = { .return_address = 0x1234 };
	struct hook_result given = hook_posix_memalign((uint64_t)result, alignment, size, island, &frame);

	CHECK_EQUAL(given.outcome, HOOK_DONE);
	return (int)given.value;
}

static void *call_reallocarray(const struct hook_island *island, void *block, uint64_t count, uint64_t size)
{
	const struct entry_frame frame = { .return_address = 0x1234 };

	return result_of_hook(hook_reallocarray((uint64_t)block, count, size, island, &frame));
}

// posix_memalign leaves the result alone where it fails: what stands there then is no block, or an older one.
static void test_posix_memalign(void)
{
	static const struct {
		uint64_t alignment, size;
		int status;
	} cases[] = { { 64, 100, 0 }, { 3, 100, EINVAL }, { 64, UINT64_MAX / 2, ENOMEM }, { 0, 1, EINVAL } };
	struct hook_island *island = make_own_island((void *)posix_memalign, 6);
	struct thread_slot *slot = thread_slot_claim(arch_thread_pointer());
	void *older = call_malloc(55, malloc_island, 1);

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned has_older = 0; has_older <= 1; has_older++) {
			void *const before = has_older ? older : (void *)0x7000000100;
			uint64_t allocations = slot->shared.counters[COUNTER_allocations],
				 failed = slot->shared.counters[COUNTER_failed_allocations];
			void *block = before;

			CHECK_EQUAL(call_posix_memalign(island, &block, cases[i].alignment, cases[i].size),
				    cases[i].status);
			CHECK_EQUAL(slot->shared.counters[COUNTER_failed_allocations] - failed, cases[i].status != 0);
			CHECK_EQUAL(slot->shared.counters[COUNTER_allocations] - allocations, cases[i].status == 0);
			CHECK_EQUAL(size_recorded(older), 55);
			CHECK(!recorded((void *)0x7000000100));
			CHECK_EQUAL(slot->shared.guard, 0);
			if (cases[i].status == 0) {
				CHECK_EQUAL(size_recorded(block), cases[i].size);
				release(block);
			} else {
				CHECK(block == before);
			}
		}
	}
	release(older);
	munmap(island, HS_PAGE_SIZE);
}

// A block stays where its reallocation fails, and goes where its new size is 0.
static void test_failing_reallocations(void)
{
	struct hook_island *island = make_own_island((void *)reallocarray, 7);
	struct thread_slot *slot = thread_slot_claim(arch_thread_pointer());
	uint64_t failed = slot->shared.counters[COUNTER_failed_allocations],
		 reallocations = slot->shared.counters[COUNTER_reallocations];
	void *block = call_malloc(55, malloc_island, 1);

	CHECK(!call_hook(hook_realloc, (uint64_t)block, UINT64_MAX / 2, realloc_island, 2));
	CHECK_EQUAL(size_recorded(block), 55);
	CHECK(!call_reallocarray(island, block, UINT64_C(1) << 62, 8)); // their product, in 64 bits, is 0
	CHECK_EQUAL(size_recorded(block), 55);
	CHECK(!call_reallocarray(island, block, UINT64_MAX / 64, 8));
	CHECK_EQUAL(size_recorded(block), 55);
	CHECK_EQUAL(slot->shared.counters[COUNTER_failed_allocations], failed + 3);
	CHECK_EQUAL(slot->shared.counters[COUNTER_reallocations], reallocations);
	CHECK(slot->shared.pending == 0 && slot->shared.guard == 0);
	CHECK(!call_hook(hook_realloc, (uint64_t)block, 0, realloc_island, 2));
	CHECK(!recorded(block));
	block = call_malloc(56, malloc_island, 1);
	CHECK(!call_reallocarray(island, block, 0, 8));
	CHECK(!recorded(block));
	CHECK_EQUAL(slot->shared.counters[COUNTER_failed_allocations], failed + 3);
	CHECK(!call_calloc(UINT64_MAX / 4, 8, calloc_island, 3));
	CHECK(!call_malloc(UINT64_MAX / 2, malloc_island, 3));
	CHECK_EQUAL(slot->shared.counters[COUNTER_failed_allocations], failed + 5);
	munmap(island, HS_PAGE_SIZE);
}

// An operator's companion runs in its place where the operator cannot be watched, on a stack that nobody knows. That
// says nothing of the operator: it may call hooked functions, which would be counted as well if it ran without a frame.
static void test_companion_earns_no_trust(void)
{
	struct hook_island *island =
		mmap(NULL, HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct thread_slot *slot = thread_slot_claim(arch_thread_pointer());

	if (island == MAP_FAILED || !slot)
		exit(1);
	island->hook_index = OPERATOR;
	island->companion = (uint64_t)malloc;
	slot->shared.stack_low = slot->shared.stack_high = 0;
	made.header->sampling_mode = SAMPLING_stopped;
	slot->shared.interval = 0; // as the tool does
	for (unsigned i = 0; i < 2 * HS_TRUST_CALLS; i++)
		free(call_new(10, island, i));
	CHECK_EQUAL(payload_region_state.hook_trust[OPERATOR], 0);
	CHECK_EQUAL(slot->framed_calls, 2 * HS_TRUST_CALLS);
	munmap(island, HS_PAGE_SIZE);
}

// Of the sanitizers, where they are: an alignment that is none is an error to be returned here, too.
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

int main(void)
{
	uint64_t held = 0, shown = 0, allocations = 0, frees = 0, reallocations = 0;
	struct table_view view;

	payload_region_init(&made, 4000);
	make_islands();
	for (unsigned i = 0; i < BOXES; i++)
		pthread_mutex_init(&boxes[i].lock, NULL);
	run_together(THREADS, exchange);

	for (unsigned i = 0; i < BOXES; i++)
		held += boxes[i].block != NULL;
	for (unsigned i = 0; i < THREADS; i++) {
		allocations += done[i].allocations;
		frees += done[i].frees;
		reallocations += done[i].reallocations;
	}
	view = made_view(&made);
	table_visit_blocks(&view, count_block, &shown);
	CHECK(held > 0 && frees > 0 && reallocations > 0);
	CHECK_EQUAL(shown, held);
	CHECK_EQUAL(view.damaged, 0);
	CHECK_EQUAL(sum_counter(&made, COUNTER_frees), frees);
	CHECK_EQUAL(sum_counter(&made, COUNTER_reallocations), reallocations);
	CHECK_EQUAL(sum_counter(&made, COUNTER_allocations), allocations + reallocations); // each makes a record
	CHECK_EQUAL(sum_counter(&made, COUNTER_unknown_frees) + sum_counter(&made, COUNTER_replaced) +
			    sum_counter(&made, COUNTER_nested),
		    0);
	while (!thread_slot_claim(arch_thread_pointer()))
		continue;
	// By the hook: a narrow entry that stays would show its record again once a later block's wide one has come and
	// gone (abi/live_table.h).
	for (unsigned i = 0; i < BOXES; i++)
		if (boxes[i].block)
			release(boxes[i].block);
	shown = 0;
	view = made_view(&made);
	table_visit_blocks(&view, count_block, &shown);
	CHECK_EQUAL(shown, 0);
	test_release_within();
	test_unknown_releases();
	test_own_releases();
	test_posix_memalign();
	test_failing_reallocations();
	test_companion_earns_no_trust();
	return CHECK_RESULT();
}
