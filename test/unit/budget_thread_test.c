// SPDX-License-Identifier: Apache-2.0
// A thread under a budget: what it records is downsampled when it costs too much, by itself and for others, and stands
// for the same; and its interval goes up with the load and down without. Which clock it goes by does not matter here:
// it is made to run so slowly or so fast that nothing else decides.
#include "check.h"
#include "payload_region.h"

#include "inject/hook/block_events.h"
#include "inject/sampling/sampling_gap.h"
#include "snapshot/profile/estimate.h"

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
	memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
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

// Thins all there is, and compares what it stands for with the truth, within five of its own standard errors. Returns
// the number of records.
static uint64_t downsample_steady(struct thread_slot *slot, uint32_t interval, uint64_t bytes)
{
	struct steady_sum sum = { .least = UINT32_MAX };
	struct table_view view = made_view(&made);
	double distance;

	downsampling_ask_for_budget(interval);
	CHECK_EQUAL(downsampling_budget_floor(), interval);
	CHECK_EQUAL(made.header->downsampling_position, 1 | HS_DOWNSAMPLING_BY_BUDGET);
	while (downsampling_is_under_way())
		downsampling_work(slot);
	table_visit_blocks(&view, add_block, &sum);
	CHECK_EQUAL(view.damaged, 0);
	CHECK_EQUAL(bloom_records(), sum.estimate.records);
	CHECK_EQUAL(made.header->budget_records, sum.estimate.records);
	CHECK(sum.least == 1 || sum.least == interval); // 1: blocks as large as the interval
	distance = sum.estimate.bytes - (double)bytes;
	CHECK(distance * distance <= 25 * sum.estimate.bytes_variance);
	distance = sum.estimate.objects - STEADY;
	CHECK(distance * distance <= 25 * sum.estimate.objects_variance);
	printf("%u bytes: %" PRIu64 " records stand for %.0f blocks\n", interval, sum.estimate.records,
	       sum.estimate.objects);
	return sum.estimate.records;
}

// Under a budget: all are recorded; then what there is is downsampled, twice; a thread that goes over its budget
// samples no finer than that; and when it has little to do it records all again.
static void test_budget(void)
{
	const struct timespec while_ = { .tv_nsec = 100000 };
	struct thread_slot *slot = begin(HS_BUDGET_MAX);
	uint64_t bytes = 0, records;

	for (uint64_t i = 0; i < STEADY; i++, bytes += steady_size(i - 1))
		record_steady(slot, i);
	CHECK_EQUAL(slot->shared.counters[COUNTER_allocations], STEADY);
	CHECK_EQUAL(bloom_records(), STEADY);
	CHECK_EQUAL(made.header->always_exact, 1);
	records = downsample_steady(slot, 4096, bytes);
	CHECK(records > STEADY / 6 && records < STEADY / 3); // p of these sizes is 0.21 on average
	CHECK_EQUAL(made.header->always_exact, 0);
	CHECK_EQUAL(slot->shared.interval, 1); // nothing is said of what is to come
	records = downsample_steady(slot, 65536, bytes);
	CHECK(records > STEADY / 100 && records < STEADY / 40); // 0.016
	CHECK_EQUAL(slot->shared.counters[COUNTER_downsampled], STEADY - records);

	// A budget for nothing at all.
	made.header->budget = 1;
	made.header->ticks_per_us = FAST;
	budget_begin(slot);
	for (uint64_t i = 0; i < 64 && slot->shared.interval == 1; i++)
		record_steady(slot, STEADY + i);
	CHECK_EQUAL(slot->shared.interval, 65536); // by what the window had, some 16 KiB, it would be less
	downsampling_ease_budget(made.header->budget_floor_ticks + 999999); // not for a second
	CHECK_EQUAL(downsampling_budget_floor(), 65536);
	downsampling_ease_budget(made.header->budget_floor_ticks + 1000000);
	CHECK_EQUAL(downsampling_budget_floor(), 32768);

	made.header->budget = HS_BUDGET_MAX;
	for (uint64_t i = 0; i < 100000 && slot->shared.interval != 1; i++) {
		record_steady(slot, 2 * STEADY + i % 1024);
		release_steady(2 * STEADY + i % 1024);
		nanosleep(&while_, NULL);
	}
	CHECK_EQUAL(slot->shared.interval, 1);
	CHECK_EQUAL(downsampling_budget_floor(), 32768);
	payload_region_deinit(&made);
}

// A load has had records downsampled, and is gone; what is left of it is too much for all to be recorded, and little.
// Then samples get finer again, a step each second, as far as the thread's own budget goes.
static void test_after_a_spike(void)
{
	enum { FLOOR = 65536, RECORDS = 1000, CALLS = 100000, WINDOW = 30000 * FAST, SOON = 1100000 * FAST };
	struct thread_slot *slot = begin(30000);
	uint64_t now;

	for (uint64_t i = 0; i < RECORDS; i++)
		record_steady(slot, i);
	made.header->budget_floor = FLOOR;
	made.header->ticks_per_us = FAST;
	slot->shared.cost = 0;
	for (unsigned step = 0; step < 3; step++) {
		now = arch_ticks();
		made.header->budget_floor_ticks = step == 1 ? now + SOON : now - SOON; // not before a second
		slot->shared.interval = downsampling_budget_floor();
		slot->window_floor = made.header->budget_floor;
		slot->searched_ticks = 1000000 * FAST; // a second without a false positive
		slot->credit = 0;
		slot->record_ticks = slot->release_ticks = 1;
		slot->estimated_calls = 256 * CALLS;
		slot->estimated_bytes = 64 * CALLS;
		slot->shared.window_began = now - WINDOW;
		budget_look(slot);
		CHECK_EQUAL(downsampling_budget_floor(), step == 2 ? FLOOR / 4 : FLOOR / 2);
	}
	payload_region_deinit(&made);
}

// The first records of a process that was started are not the budget's: all are recorded until what is given for them
// is spent, and then as few as a budget for nothing allows.
static void test_first(void)
{
	struct thread_slot *slot = begin(1);
	uint64_t paid = 0, unpaid = 0;

	made.header->first_ticks = UINT64_MAX / 2;
	for (uint64_t i = 0; i < STEADY / 2; i++) {
		record_steady(slot, i);
		paid += slot->shared.interval == 1;
	}
	CHECK_EQUAL(paid, STEADY / 2);
	CHECK_EQUAL(slot->shared.counters[COUNTER_allocations], STEADY / 2);
	CHECK(made.header->first_ticks < UINT64_MAX / 2);
	CHECK_EQUAL(made.header->always_exact, 1);
	made.header->first_ticks = 1; // the next review takes it
	for (uint64_t i = STEADY / 2; i < STEADY && slot->shared.interval == 1; i++, unpaid++)
		record_steady(slot, i);
	CHECK(unpaid < STEADY / 2);
	CHECK(slot->shared.interval > 1);
	CHECK_EQUAL(made.header->first_ticks, 0);
	CHECK_EQUAL(made.header->always_exact, 0);
	payload_region_deinit(&made);
}

// Releases that are looked for among too many records have these downsampled: also by a thread that only releases.
static void test_release_false_positives(void)
{
	struct thread_slot *slot = begin(HS_BUDGET_MAX);
	uint64_t i;

	for (i = 0; i < STEADY / 2; i++)
		record_steady(slot, i);
	CHECK_EQUAL(bloom_records(), STEADY / 2);
	made.header->budget = 1000;
	made.header->ticks_per_us = FAST;
	for (i = 0; i < 100000 && !downsampling_budget_floor(); i++)
		release_steady(STEADY + i);
	CHECK(downsampling_budget_floor() >= 512);
	while (downsampling_is_under_way())
		release_steady(STEADY + ++i);
	CHECK(bloom_records() < STEADY / 4);
	CHECK_EQUAL(slot->shared.counters[COUNTER_downsampled], STEADY / 2 - bloom_records());
	payload_region_deinit(&made);
}

// Before the Bloom filter can be saturated, records are downsampled, whatever they cost.
static void test_full_bloom(void)
{
	struct thread_slot *slot = begin(HS_BUDGET_MAX);
	uint64_t i = 0;

	memset(payload_region_state.bloom, 128, HS_BLOOM_SIZE);
	made.header->ticks_per_us = FAST;
	for (; i < 1000; i++) {
		release_steady(i);
		record_steady(slot, i);
	}
	CHECK(bloom_records() < BUDGET_BLOOM_MOST + 1000);
	CHECK(downsampling_budget_floor() > 1);
	CHECK(slot->shared.counters[COUNTER_downsampled] > 0);
	payload_region_deinit(&made);
}

#define LONG (UINT64_C(1) << 37) // ticks, a minute or so: how long the test itself takes does not matter beside that

// A window without a sample is not taken for one without a load: what has passed says how many calls there were. The
// thread looks at its budget only when the test says so, however long it has to wait for a processor.
static void test_no_samples(void)
{
	enum { SIZE = 64, CALLS = 400000 };
	struct entry_frame frame = { .return_address = 0x1000 };
	struct thread_slot *slot = begin(1000);
	const uint64_t affordable = LONG / 1000 / (750 + 15); // with half as much again for entering

	CHECK(affordable < CALLS / 2);
	record_steady(slot, 0);
	slot->record_ticks = 500;
	slot->release_ticks = 10;
	for (unsigned calls = CALLS;; calls = 0) {
		made.header->ticks_per_us = UINT32_C(1) << 30; // no window ends
		slot->shared.interval = HS_BUDGET_INTERVAL_MAX;
		gap_begin(slot);
		budget_begin(slot);
		for (unsigned i = 0; i < calls; i++) {
			(void)reentry_begin(&frame, &island);
			(void)sampling_choose(slot, SIZE);
			reentry_leave(slot);
		}
		made.header->ticks_per_us = FAST;
		slot->shared.window_began = arch_ticks() - LONG;
		budget_look(slot);
		if (calls == 0)
			break;
		CHECK(slot->shared.interval != 1);
	}
	CHECK_EQUAL(slot->shared.interval, 1);
	payload_region_deinit(&made);
}

// A window that has lasted for LONG, with so many recordings and releases, each of so many ticks as they are timed.
// Returns the interval that follows.
static uint64_t interval_after(struct thread_slot *slot, uint64_t records, uint64_t found, uint32_t record_ticks,
			       uint32_t release_ticks)
{
	slot->shared.interval = 1;
	slot->record_ticks = record_ticks;
	slot->release_ticks = release_ticks;
	slot->shared.window_began = arch_ticks() - LONG;
	slot->window_records = slot->shared.counters[COUNTER_allocations] - records;
	slot->window_bytes = slot->shared.counters[COUNTER_allocated_bytes] - 64 * records;
	slot->window_frees = slot->shared.counters[COUNTER_frees] - found;
	budget_look(slot);
	return slot->shared.interval;
}

// What is timed is not all that a call costs: half as much again is added, for recordings and for releases.
static void test_entering_is_charged(void)
{
	struct thread_slot *slot = begin(30000);
	const uint64_t affordable = LONG * 3 / 100 / 150000;

	record_steady(slot, 0);
	made.header->ticks_per_us = FAST;
	slot->shared.counters[COUNTER_allocations] = slot->shared.counters[COUNTER_frees] = 1 << 20;
	CHECK_EQUAL(interval_after(slot, affordable * 9 / 10, 0, 100000, 1), 1);
	CHECK(interval_after(slot, affordable * 12 / 10, 0, 100000, 1) > 1);
	CHECK_EQUAL(interval_after(slot, affordable * 9 / 10, affordable * 9 / 10, 1, 100000), 1);
	CHECK(interval_after(slot, affordable * 12 / 10, affordable * 12 / 10, 1, 100000) > 1);
	payload_region_deinit(&made);
}

// The mean size of what a thread allocates: of more than it needs to know it, calls that are longer ago count less, and
// their bytes as well.
static void test_mean_size(void)
{
	struct thread_slot *slot = begin(30000);

	record_steady(slot, 0);
	made.header->ticks_per_us = FAST;
	slot->estimated_calls = UINT64_C(4096) << 8;
	slot->estimated_bytes = 4096 * 64;
	for (unsigned i = 0; i < 20; i++) {
		slot->shared.interval = 1024;
		slot->shared.window_began = arch_ticks() - LONG;
		budget_look(slot);
		CHECK(slot->estimated_bytes * 256 / slot->estimated_calls >= 63 &&
		      slot->estimated_bytes * 256 / slot->estimated_calls <= 64);
	}
	CHECK(slot->estimated_calls >> 8 < 1024);
	payload_region_deinit(&made);
}

// A thread begins with one window's budget, each of its first recordings is timed, and when these have spent it samples
// are drawn, long before the window's end. New settings do not give it the same once more.
static void test_first_credit(void)
{
	// of a window of some second; time earns nothing here
	enum { BUDGET = 10, TICKS_PER_US = 100000, CREDIT = TICKS_PER_US / 50 * BUDGET };
	struct thread_slot *slot = begin(HS_BUDGET_MAX);
	unsigned i;

	for (i = 0; i < 64; i++)
		record_steady(slot, i); // warm caches and tables
	for (i = 0; i < 64; i++)
		release_steady(i);
	made.header->budget = BUDGET;
	made.header->ticks_per_us = TICKS_PER_US;
	slot->shared.window_began = slot->timed_records = slot->record_ticks = slot->ticks_left = 0;
	budget_begin_anew(slot);
	CHECK_EQUAL(slot->credit, CREDIT);
	for (i = 0; i < 256 && slot->shared.interval == 1; i++)
		record_steady(slot, i);
	CHECK_EQUAL(slot->timed_records, i);
	CHECK(slot->shared.interval > 1);
	CHECK(slot->credit <= 0);
	slot->shared.interval = 0; // as the tool does
	made.header->sampling_generation++;
	record_steady(slot, i);
	CHECK(slot->credit < CREDIT / 2);
	payload_region_deinit(&made);
}

int main(void)
{
	test_entering_is_charged();
	test_mean_size();
	test_first_credit();
	test_budget();
	test_after_a_spike();
	test_first();
	test_release_false_positives();
	test_full_bloom();
	test_no_samples();
	return CHECK_RESULT();
}
