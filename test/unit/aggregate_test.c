// SPDX-License-Identifier: Apache-2.0
// Adding up: blocks in the table, blocks in the hands of a realloc, totals in nodes and in threads.
#include "check.h"
#include "made_region.h"

#include "inject/sampling/sampling_math.h"
#include "snapshot/profile/aggregate.h"
#include "snapshot/profile/live_total.h"

#include <math.h>

static const struct stack_totals nothing;

static struct aggregate make(const struct made_region *region, uint64_t *damaged_ret)
{
	struct table_view view = made_view(region);
	struct aggregate aggregate;
	struct hs_error *error = aggregate_make(&view, &aggregate);

	CHECK(error == NULL);
	if (error)
		fprintf(stderr, "%s\n", error->message);
	hs_error_destroy(error);
	*damaged_ret = view.damaged;
	return aggregate;
}

static const struct stack_totals *totals_of(const struct aggregate *aggregate, uint32_t node)
{
	const struct stack_totals *found = &nothing;
	int times = 0;

	for (size_t i = 0; i < aggregate->stacks.count; i++) {
		if (aggregate->stacks.items[i].node != node)
			continue;
		found = &aggregate->stacks.items[i];
		times++;
	}
	CHECK(times <= 1);
	return found;
}

static struct stack_node *node_at(const struct made_region *region, uint32_t ref) { return made_ref(region, ref); }

static void test_sums(void)
{
	struct made_region region;
	struct aggregate aggregate;
	const struct stack_totals *totals;
	uint32_t full = (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT), outer, a, b, temporary;
	uint64_t damaged;

	made_region_init(&region, 300);
	outer = made_node(&region, 1, 1, 0);
	a = made_node(&region, 2, 2, outer);
	b = made_node(&region, 2, 3, outer);
	for (uint64_t i = 0; i < 3000; i++) // odd multiples of 8 among them, so both halves of the root
		made_block(&region, 0x7f0000001000 + 8 * i, i % 3 ? 10 : 100, i % 3 ? a : b);
	made_block(&region, 0x1000, 7, full);
	node_at(&region, a)->alloc_objects = 2500 * HS_OBJECTS_ONE;
	node_at(&region, a)->alloc_bytes = 25000 * HS_BYTES_ONE;
	node_at(&region, full)->alloc_objects = 5 * HS_OBJECTS_ONE;
	node_at(&region, full)->alloc_bytes = 70 * HS_BYTES_ONE;
	made_slot(&region, 4)->totals[0] = (struct totals_entry){ b, 1000, 100000 };
	made_slot(&region, 4)->totals[HS_TOTALS_ENTRIES - 1] = (struct totals_entry){ a, 3, 30 };
	made_slot(&region, 9)->totals[7] = (struct totals_entry){ b, 1, 1 };
	made_slot(&region, 9)->totals[8] = (struct totals_entry){ 0, 99, 99 }; // emptied
	// of what is temporary: a node of its own, and what threads still hold; never more than was given back
	temporary = made_node(&region, 3, (uint64_t)HS_FRAME_TEMPORARY << HS_FRAME_MODULE_SHIFT, a);
	node_at(&region, temporary)->alloc_objects = 400 * HS_OBJECTS_ONE + HS_OBJECTS_ONE / 2;
	made_slot(&region, 4)->temporaries[HS_TOTALS_ENTRIES - 1] = 3;
	made_slot(&region, 4)->temporaries[0] = 900;
	made_slot(&region, 9)->temporaries[8] = 99; // emptied
	made_slot(&region, 4)->counters[COUNTER_frees] = 5;
	made_slot(&region, 9)->counters[COUNTER_frees] = 6;
	made_slot(&region, 9)->cut_counters[CUT_depth_limit] = 2;
	region.header->counters[COUNTER_frees] = 100;
	region.header->cut_counters[CUT_depth_limit] = 3;

	aggregate = make(&region, &damaged);
	CHECK_EQUAL(damaged, 0);
	CHECK_EQUAL(aggregate.stacks.count, 3); // nothing was allocated from `outer` itself
	totals = totals_of(&aggregate, a);
	CHECK_EQUAL(totals->live.objects, 2000);
	CHECK_EQUAL(totals->live.bytes, 20000);
	CHECK_EQUAL(totals->alloc_objects, 2503);
	CHECK_EQUAL(totals->alloc_bytes, 25030);
	CHECK_EQUAL(totals->temporary_objects, 403.5);
	totals = totals_of(&aggregate, b);
	CHECK_EQUAL(totals->live.objects, 1000);
	CHECK_EQUAL(totals->live.bytes, 100000);
	CHECK_EQUAL(totals->alloc_objects, 1001);
	CHECK_EQUAL(totals->alloc_bytes, 100001);
	CHECK_EQUAL(totals->temporary_objects, 1);
	totals = totals_of(&aggregate, full);
	CHECK_EQUAL(totals->live.bytes, 7);
	CHECK_EQUAL(totals->alloc_bytes, 70);
	CHECK_EQUAL(aggregate.live.objects, 3001);
	CHECK_EQUAL(aggregate.live.bytes, 120007);
	CHECK_EQUAL(aggregate.threads, 2);
	CHECK_EQUAL(aggregate.pending, 0);
	CHECK_EQUAL(aggregate.counters[COUNTER_frees], 111);
	CHECK_EQUAL(aggregate.cut_counters[CUT_depth_limit], 5);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

// A thread stopped between emptying an entry of its totals and adding it to the node, or before its totals are counted
// at all.
static void test_never_less_than_live(void)
{
	struct made_region region;
	struct aggregate aggregate;
	uint32_t a;
	uint64_t damaged;

	made_region_init(&region, 100);
	a = made_node(&region, 1, 1, 0);
	made_block(&region, 0x1000, 10, a);
	made_block(&region, 0x1010, 20, a);
	node_at(&region, a)->alloc_objects = 1 * HS_OBJECTS_ONE;
	node_at(&region, a)->alloc_bytes = 10 * HS_BYTES_ONE;
	aggregate = make(&region, &damaged);
	CHECK_EQUAL(totals_of(&aggregate, a)->alloc_objects, 2);
	CHECK_EQUAL(totals_of(&aggregate, a)->alloc_bytes, 30);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

// Every instant of a reallocation, in the order of inject/hook/hooks.c: one block is live, the old one or the new one.
static void test_reallocations(void)
{
	enum { OLD = 1000, NEW = 3000 }; // bytes
	static const struct {
		const char *instant;
		bool old_in_table, new_in_table, pending, pending_new, in_place;
		uint64_t live, pending_blocks;
	} cases[] = {
		{ "before", true, false, false, false, false, OLD, 0 },
		{ "pending set", true, false, true, false, false, OLD, 0 },
		{ "taken out", false, false, true, false, false, OLD, 1 },
		{ "successor named", false, false, true, true, false, OLD, 1 },
		{ "successor in", false, true, true, true, false, NEW, 0 },
		{ "pending cleared", false, true, false, true, false, NEW, 0 },
		{ "after", false, true, false, false, false, NEW, 0 },
		{ "in place, successor named", false, false, true, true, true, OLD, 1 },
		{ "in place, successor in", false, true, true, true, true, NEW, 0 },
		{ "in place, pending cleared", false, true, false, true, true, NEW, 0 },
		{ "failed, put back", true, false, true, false, false, OLD, 0 },
		{ "no record for the successor", false, false, true, false, false, OLD, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t old_address = 0x555555556eb8,
			       new_address = cases[i].in_place ? old_address : 0x7ffff7fc1230;
		int failures = check_failures;
		struct made_region region;
		struct aggregate aggregate;
		struct shared_slot *slot;
		uint32_t stack, old, new;
		struct table_view view;
		struct estimate total;
		uint64_t damaged;

		made_region_init(&region, 100);
		stack = made_node(&region, 1, 1, 0);
		old = made_record(&region, OLD, stack);
		new = made_record(&region, NEW, stack);
		if (cases[i].old_in_table)
			*made_narrow_entry(&region, old_address) = old;
		if (cases[i].new_in_table)
			*made_narrow_entry(&region, new_address) = new;
		slot = made_slot(&region, 3);
		slot->pending = cases[i].pending ? old : 0;
		slot->pending_address = old_address;
		slot->pending_new = cases[i].pending_new ? new : 0;
		slot->pending_new_address = cases[i].pending_new ? new_address : 0x123450; // left from an earlier one
		aggregate = make(&region, &damaged);
		CHECK_EQUAL(aggregate.live.objects, 1);
		CHECK_EQUAL(aggregate.live.bytes, cases[i].live);
		CHECK_EQUAL(totals_of(&aggregate, stack)->live.bytes, cases[i].live);
		CHECK_EQUAL(aggregate.pending, cases[i].pending_blocks);
		CHECK_EQUAL(damaged, 0);
		view = made_view(&region);
		total = live_total(&view);
		CHECK_EQUAL(total.bytes, cases[i].live);
		CHECK_EQUAL(total.records, 1);
		if (check_failures > failures)
			fprintf(stderr, "at: %s\n", cases[i].instant);
		aggregate_deinit(&aggregate);
		made_region_deinit(&region);
	}
}

static void test_hostile(void)
{
	struct made_region region;
	struct aggregate aggregate;
	struct shared_slot *slot;
	const uint32_t first = (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT);
	uint64_t damaged;

	made_region_init(&region, 100);
	made_block(&region, 0x1000, 10, 0);
	made_block(&region, 0x1010, 10, 5);
	made_block(&region, 0x1020, 10, UINT32_MAX);
	slot = made_slot(&region, 0);
	slot->totals[0] = (struct totals_entry){ UINT32_MAX, 1, 1 };
	slot->totals[1] = (struct totals_entry){ 1, 1, 1 };
	slot->pending = UINT32_MAX;
	slot->pending_address = UINT64_MAX;
	slot->pending_new = 4;
	slot->pending_new_address = 0x800000000000;
	aggregate = make(&region, &damaged);
	CHECK_EQUAL(aggregate.live.objects, 3); // in the totals, whatever their stacks
	CHECK_EQUAL(aggregate.stacks.count, 0);
	CHECK_EQUAL(aggregate.pending, 0);
	CHECK_EQUAL(damaged, 3 + 2 + 1);
	aggregate_deinit(&aggregate);

	// Stacks at both ends of the pages; the counter of pages past their end, and below their begin.
	slot->pending = 0;
	memset(slot->totals, 0, sizeof(slot->totals));
	for (uint32_t i = 0; i < 3; i++)
		((struct block_record *)made_ref(&region, *made_narrow_entry(&region, 0x1000 + 16 * i)))->stack =
			i == 0   ? first
			: i == 1 ? first + 100 * 128 - 1
				 : first + 100 * 128;
	region.header->next_page = UINT64_MAX;
	aggregate = make(&region, &damaged);
	CHECK_EQUAL(aggregate.stacks.count, 2);
	CHECK_EQUAL(damaged, 1);
	aggregate_deinit(&aggregate);
	region.header->next_page = 0;
	aggregate = make(&region, &damaged);
	CHECK_EQUAL(aggregate.stacks.count, 0);
	CHECK_EQUAL(aggregate.live.objects, 0);
	CHECK(damaged > 0);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

static bool near(double actual, double expected) { return fabs(actual - expected) <= 1e-12 * fabs(expected); }

// Blocks drawn by sampling count for 1 / p each; those of the interval and more, and those of an exact time, for
// themselves.
static void test_estimates(void)
{
	struct made_region region;
	struct aggregate aggregate;
	const struct stack_totals *totals;
	uint32_t a;
	uint64_t damaged;

	made_region_init(&region, 100);
	a = made_node(&region, 1, 1, 0);
	made_block(&region, 0x1000, 100, a); // exact
	// a = 1: w = 1 / (1 - 1/e) = 1.5819767068693265, w - 1 = 0.5819767068693265
	made_block(&region, 0x1010, 1000, a);
	made_record_at(&region, 0x1010)->interval = 1000;
	made_record_at(&region, 0x1010)->samples = 1;
	made_block(&region, 0x1020, 1000, a); // the same, but recorded in any case
	made_record_at(&region, 0x1020)->interval = 1000;
	made_block(&region, 0x1030, 500, a); // a = 0.5: w = 2.541494082536798
	made_record_at(&region, 0x1030)->interval = 1000;
	made_block(&region, 0x1040, 0, a); // is drawn as one byte; a = 1e-6: w = 1000000.5000000833
	made_record_at(&region, 0x1040)->interval = 1000000;
	region.header->sampling_mode = SAMPLING_interval;
	node_at(&region, a)->alloc_objects = 7 * HS_OBJECTS_ONE + HS_OBJECTS_ONE / 2;
	node_at(&region, a)->alloc_bytes = 9000 * HS_BYTES_ONE + HS_BYTES_ONE / 4;
	made_slot(&region, 0)->totals[0] = (struct totals_entry){ a, 2, 30 };
	aggregate = make(&region, &damaged);
	CHECK_EQUAL(damaged, 0);
	CHECK_EQUAL(aggregate.stacks.count, 1);
	CHECK_EQUAL(aggregate.counted.count, 1);
	totals = totals_of(&aggregate, a);
	CHECK_EQUAL(totals->live.records, 4);
	CHECK(near(totals->live.objects, 1 + 1 + 2.541494082536798 + 1000000.5000000833));
	CHECK(near(totals->live.bytes, 100 + 1000 + 500 * 2.541494082536798));
	CHECK(near(totals->live.objects_variance,
		   2.541494082536798 * 1.541494082536798 + 1000000.5000000833 * 999999.5000000833));
	CHECK(near(totals->live.bytes_variance, 500.0 * 500 * 2.541494082536798 * 1.541494082536798));
	CHECK(near(totals->alloc_objects, totals->live.objects)); // raised: what is live was allocated
	// What the block with a counted sample stands for was allocated too, and is told apart from the rest.
	CHECK(near(totals->alloc_bytes, 9030.25 - 1581.9767068693265));
	totals = &aggregate.counted.items[0];
	CHECK_EQUAL(totals->node, a);
	CHECK_EQUAL(totals->samples_per_block, 1);
	CHECK_EQUAL(totals->live.records, 1);
	CHECK(near(totals->live.objects, 1.5819767068693265));
	CHECK(near(totals->live.bytes, 1581.9767068693265));
	CHECK(near(totals->live.bytes_variance, 1e6 * 1.5819767068693265 * 0.5819767068693265));
	CHECK(near(totals->alloc_objects, totals->live.objects) && near(totals->alloc_bytes, totals->live.bytes));
	CHECK_EQUAL(aggregate.live.records, 5);
	CHECK_EQUAL(aggregate.sampled, 4);
	CHECK_EQUAL(aggregate.interval_low, 1000);
	CHECK_EQUAL(aggregate.interval_high, 1000000);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

// A node's weights are rounded, those of its live blocks are not: where nothing was freed, both estimates are the same
// number all the same.
static void test_rounded_weights(void)
{
	struct made_region region;
	struct aggregate aggregate;
	const struct stack_totals *totals;
	uint32_t a;
	uint64_t damaged;

	made_region_init(&region, 100);
	a = made_node(&region, 1, 1, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		struct sampling_weight weight = sampling_weight(7 + i, 4096);

		made_block(&region, 0x10000 + 16 * i, 7 + i, a);
		made_record_at(&region, 0x10000 + 16 * i)->interval = 4096;
		node_at(&region, a)->alloc_objects += weight.objects;
		node_at(&region, a)->alloc_bytes += weight.bytes;
	}
	CHECK(node_at(&region, a)->alloc_bytes % HS_BYTES_ONE != 0);
	aggregate = make(&region, &damaged);
	totals = totals_of(&aggregate, a);
	CHECK(totals->alloc_objects >= totals->live.objects && totals->alloc_bytes >= totals->live.bytes);
	CHECK_EQUAL(estimate_round(totals->alloc_objects), estimate_round(totals->live.objects));
	CHECK(totals->alloc_bytes - totals->live.bytes < 1);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

// Blocks with a counted number of samples: a set of totals for each number, and nothing twice.
static void test_counted(void)
{
	struct made_region region;
	struct aggregate aggregate;
	uint64_t damaged, blocks[HS_SAMPLES_MAX + 1] = { 0 };
	uint32_t stacks[3];
	double live = 0, allocated = 0;

	made_region_init(&region, 2000);
	for (uint32_t i = 0; i < 3; i++) {
		stacks[i] = made_node(&region, i, 1 + i, 0);
		node_at(&region, stacks[i])->alloc_objects = HS_OBJECTS_ONE << 30;
		node_at(&region, stacks[i])->alloc_bytes = HS_BYTES_ONE << 40;
	}
	for (uint32_t i = 0; i < 30000; i++) {
		struct block_record *record;

		made_block(&region, 0x10000 + 16 * (uint64_t)i, 4096, stacks[i % 3]);
		record = made_record_at(&region, 0x10000 + 16 * (uint64_t)i);
		record->interval = 4096;
		record->samples = (i % 7 ? i % 700 + 1 : HS_SAMPLES_MAX) & HS_SAMPLES_MAX;
	}
	made_block(&region, 0x9000000, 1, 0); // no stack
	made_record_at(&region, 0x9000000)->interval = 2;
	made_record_at(&region, 0x9000000)->samples = 3;
	aggregate = make(&region, &damaged);
	CHECK_EQUAL(damaged, 1);
	CHECK_EQUAL(aggregate.live.records, 30001);
	CHECK_EQUAL(aggregate.stacks.count, 3);
	CHECK_EQUAL(aggregate.counted.count, 3 * (600 + 1));
	for (size_t i = 0; i < aggregate.counted.count; i++) {
		const struct stack_totals *totals = &aggregate.counted.items[i];

		CHECK(totals->node == stacks[0] || totals->node == stacks[1] || totals->node == stacks[2]);
		CHECK(totals->samples_per_block > 0);
		CHECK(totals->alloc_bytes == totals->live.bytes && totals->alloc_objects == totals->live.objects);
		blocks[totals->samples_per_block] += totals->live.records;
		live += totals->live.bytes;
		allocated += totals->alloc_bytes;
	}
	for (size_t i = 0; i < 3; i++)
		allocated += totals_of(&aggregate, stacks[i])->alloc_bytes;
	CHECK_EQUAL(blocks[HS_SAMPLES_MAX], (30000 + 6) / 7);
	CHECK_EQUAL(blocks[2], 30000 / 700 + 1);
	CHECK(near(live, 30000 * 4096 * 1.5819767068693265));
	CHECK(near(allocated, 3 * 1099511627776.0));
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

// Records of any content give numbers: finite, none below 0, alloc not below live.
static void test_hostile_records(void)
{
	static const uint64_t sizes[] = { 0, 1, 2, 4095, 4096, UINT32_MAX, UINT64_C(1) << 53, INT64_MAX, UINT64_MAX };
	static const uint32_t intervals[] = { 0, 1, 2, 3, 4096, HS_INTERVAL_MAX, UINT32_MAX };
	static const uint32_t samples[] = { 0, 1, HS_SAMPLES_MAX };
	struct estimate sum = { 0 };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
			for (size_t n = 0; n < sizeof(samples) / sizeof(samples[0]); n++) {
				const struct block_record record = { .size_and_hook = sizes[s],
								     .interval = intervals[i],
								     .samples = samples[n] & HS_SAMPLES_MAX };
				struct estimate one = { 0 };
				double interval = intervals[i];

				estimate_add(&one, &record);
				estimate_add(&sum, &record);
				CHECK(one.objects >= 1 && one.objects <= interval + 2);
				CHECK(one.bytes >= (double)record.size && one.bytes < 0x1p66);
				CHECK(one.objects_variance >= 0 && one.objects_variance <= interval * interval);
				CHECK(one.bytes_variance >= 0 && one.bytes_variance <= interval * interval * 1.000001);
			}
		}
	}
	CHECK(isfinite(sum.objects) && isfinite(sum.bytes) && isfinite(sum.objects_variance) &&
	      isfinite(sum.bytes_variance));
	CHECK_EQUAL(sum.records, 9 * 7 * 3);
	CHECK_EQUAL(estimate_round(0.49), 0);
	CHECK_EQUAL(estimate_round(0.5), 1);
	CHECK_EQUAL(estimate_round(0x1p53 + 2), (INT64_C(1) << 53) + 2);
	CHECK(estimate_round(0x1p63) == UINT64_C(1) << 63);
	CHECK(estimate_round(0x1p64) == UINT64_MAX && estimate_round(0x1p99) == UINT64_MAX);
}

int main(void)
{
	test_estimates();
	test_rounded_weights();
	test_counted();
	test_hostile_records();
	test_sums();
	test_never_less_than_live();
	test_reallocations();
	test_hostile();
	return CHECK_RESULT();
}
