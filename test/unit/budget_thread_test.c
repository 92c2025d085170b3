// SPDX-License-Identifier: Apache-2.0
// A thread under a budget: what it records is thinned when it costs too much, by itself and for others, and stands for the same; and its interval
// goes up with the load and down without. Which clock it goes by does not matter here: it is made to run so slowly or so fast that nothing else decides.
#include "check.h"
#include "payload_region.h"

#include "inject/block_events.h"
#include "snapshot/estimate.h"

#include <time.h>

#define FIRST_ADDRESS UINT64_C(0x7f0000000000)

// Ticks of the counter that are taken for a microsecond, so that no window ends; and so that each ends soon.
enum { SLOW = 1 << 20, FAST = 1 };

static struct made_region made;
static const struct hook_island island;

static struct thread_slot *begin(uint32_t budget)
{
	const struct sampling_settings settings = { .mode = SAMPLING_budget, .budget = budget };
	struct thread_slot *slot;

	payload_region_init(&made, 15000);
	memset(payload_region_state.filter, 0, HS_FILTER_SIZE);
	sampling_settings_begin(made.header, &settings, 1, SLOW);
	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	return slot;
}

enum { STEADY = 20000 }; // blocks of 16 bytes to 2 KiB

static uint64_t steady_size(uint64_t i) { return 16 + i * 7919 % 2033; }

static void record_steady(struct thread_slot *slot, uint64_t i)
{
	struct entry_frame frame = { .return_address = 0x1000 };
	uint64_t size = steady_size(i);

	(void)reentry_begin(&frame, &island);
	record_allocation(slot, FIRST_ADDRESS + i * 4096, size, sampling_choose(slot, size), &frame);
	reentry_leave(slot);
}

static void release_steady(uint64_t i)
{
	struct entry_frame frame = { .return_address = 0x1000 };

	block_goes(FIRST_ADDRESS + i * 4096, 0, &island, (uint64_t)&frame.return_address);
}

struct steady_sum {
	struct estimate estimate;
	uint32_t least; // interval
};

static void add_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	struct steady_sum *sum = context;

	CHECK(ref != 0);
	CHECK_EQUAL(record->size, steady_size((address - FIRST_ADDRESS) / 4096));
	sum->least = record->interval < sum->least ? record->interval : sum->least;
	estimate_add(&sum->estimate, record);
}

// Thins all there is, and compares what it stands for with the truth, within five of its own standard errors. Returns the number of records.
static uint64_t thin_steady(struct thread_slot *slot, uint32_t interval, uint64_t bytes)
{
	struct steady_sum sum = { .least = UINT32_MAX };
	struct table_view view = made_view(&made);
	double distance;

	thinning_ask_for_budget(interval);
	CHECK_EQUAL(thinning_budget_floor(), interval);
	CHECK_EQUAL(made.header->thinning_position, 1 | HS_THINNING_BY_BUDGET);
	while (thinning_is_under_way())
		thinning_work(slot);
	table_visit_blocks(&view, add_block, &sum);
	CHECK_EQUAL(view.damaged, 0);
	CHECK_EQUAL(filter_records(), sum.estimate.records);
	CHECK_EQUAL(made.header->budget_records, sum.estimate.records);
	CHECK(sum.least == 1 || sum.least == interval); // 1: blocks as large as the interval
	distance = sum.estimate.bytes - (double)bytes;
	CHECK(distance * distance <= 25 * sum.estimate.bytes_variance);
	distance = sum.estimate.objects - STEADY;
	CHECK(distance * distance <= 25 * sum.estimate.objects_variance);
	printf("%u bytes: %" PRIu64 " records stand for %.0f blocks\n", interval, sum.estimate.records, sum.estimate.objects);
	return sum.estimate.records;
}

// Under a budget: all are recorded; then what there is is thinned, twice; a thread that goes over its budget samples no finer than that; and
// when it has little to do it records all again.
static void test_budget(void)
{
	const struct timespec while_ = { .tv_nsec = 100000 };
	struct thread_slot *slot = begin(HS_BUDGET_MAX);
	uint64_t bytes = 0, records;

	for (uint64_t i = 0; i < STEADY; i++, bytes += steady_size(i - 1))
		record_steady(slot, i);
	CHECK_EQUAL(slot->counters[COUNTER_allocations], STEADY);
	CHECK_EQUAL(filter_records(), STEADY);
	CHECK_EQUAL(made.header->always_exact, 1);
	records = thin_steady(slot, 4096, bytes);
	CHECK(records > STEADY / 6 && records < STEADY / 3); // p of these sizes is 0.21 on average
	CHECK_EQUAL(made.header->always_exact, 0);
	CHECK_EQUAL(slot->interval, 1); // nothing is said of what is to come
	records = thin_steady(slot, 65536, bytes);
	CHECK(records > STEADY / 100 && records < STEADY / 40); // 0.016
	CHECK_EQUAL(slot->counters[COUNTER_thinned], STEADY - records);

	// A budget for nothing at all.
	made.header->budget = 1;
	made.header->ticks_per_us = FAST;
	budget_begin(slot);
	for (uint64_t i = 0; i < 64 && slot->interval == 1; i++)
		record_steady(slot, STEADY + i);
	CHECK_EQUAL(slot->interval, 65536); // by what the window had, some 16 KiB, it would be less
	thinning_ease_budget(made.header->budget_floor_ticks + 1999999); // not for two seconds
	CHECK_EQUAL(thinning_budget_floor(), 65536);
	thinning_ease_budget(made.header->budget_floor_ticks + 2000000);
	CHECK_EQUAL(thinning_budget_floor(), 32768);

	made.header->budget = HS_BUDGET_MAX;
	for (uint64_t i = 0; i < 100000 && slot->interval != 1; i++) {
		record_steady(slot, 2 * STEADY + i % 1024);
		release_steady(2 * STEADY + i % 1024);
		nanosleep(&while_, NULL);
	}
	CHECK_EQUAL(slot->interval, 1);
	CHECK_EQUAL(thinning_budget_floor(), 32768);
	payload_region_deinit(&made);
}

// Releases that are looked for among too many records have these thinned: also by a thread that only releases.
static void test_releases_in_vain(void)
{
	struct thread_slot *slot = begin(HS_BUDGET_MAX);
	uint64_t i;

	for (i = 0; i < STEADY / 2; i++)
		record_steady(slot, i);
	CHECK_EQUAL(filter_records(), STEADY / 2);
	made.header->budget = 1000;
	made.header->ticks_per_us = FAST;
	for (i = 0; i < 100000 && !thinning_budget_floor(); i++)
		release_steady(STEADY + i);
	CHECK(thinning_budget_floor() >= 512);
	while (thinning_is_under_way())
		release_steady(STEADY + ++i);
	CHECK(filter_records() < STEADY / 4);
	CHECK_EQUAL(slot->counters[COUNTER_thinned], STEADY / 2 - filter_records());
	payload_region_deinit(&made);
}

// Before the filter can be saturated, records are thinned, whatever they cost.
static void test_full_filter(void)
{
	struct thread_slot *slot = begin(HS_BUDGET_MAX);
	uint64_t i = 0;

	memset(payload_region_state.filter, 128, HS_FILTER_SIZE);
	made.header->ticks_per_us = FAST;
	for (; i < 1000; i++) {
		release_steady(i);
		record_steady(slot, i);
	}
	CHECK(filter_records() < BUDGET_FILTER_MOST + 1000);
	CHECK(thinning_budget_floor() > 1);
	CHECK(slot->counters[COUNTER_thinned] > 0);
	payload_region_deinit(&made);
}

// A thread that allocates all the time never takes a window without a sample for one without a load. Here it looks at its budget because it
// releases.
static void test_no_samples(void)
{
	enum { SIZE = 64, CALLS = 3000000 };
	struct entry_frame frame = { .return_address = 0x1000 };
	struct thread_slot *slot = begin(30000);
	uint64_t first;

	record_steady(slot, 0);
	made.header->ticks_per_us = 1000; // windows of some milliseconds, so that it does not matter when the thread has to wait for as long
	slot->record_ticks = 500;
	slot->release_ticks = 10;
	slot->interval = HS_BUDGET_INTERVAL_MAX;
	sampling_begin_gap(slot);
	first = slot->window_began;
	for (unsigned i = 0; i < CALLS && slot->interval != 1; i++) {
		(void)reentry_begin(&frame, &island);
		(void)sampling_choose(slot, SIZE);
		reentry_leave(slot);
		release_steady(STEADY);
	}
	CHECK(slot->window_began != first);
	CHECK(slot->interval != 1);
	payload_region_deinit(&made);
}

int main(void)
{
	test_budget();
	test_releases_in_vain();
	test_full_filter();
	test_no_samples();
	return CHECK_RESULT();
}
