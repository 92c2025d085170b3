// SPDX-License-Identifier: Apache-2.0
// Adding up: blocks in the table, blocks in the hands of a realloc, totals in nodes and in threads.
#include "check.h"
#include "made_region.h"

#include "snapshot/aggregate.h"

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

	for (size_t i = 0; i < aggregate->count; i++) {
		if (aggregate->stacks[i].node != node)
			continue;
		found = &aggregate->stacks[i];
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
	uint32_t full = (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT), outer, a, b;
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
	made_slot(&region, 4)->counters[COUNTER_frees] = 5;
	made_slot(&region, 9)->counters[COUNTER_frees] = 6;
	made_slot(&region, 9)->cut_counters[CUT_depth_limit] = 2;
	region.header->counters[COUNTER_frees] = 100;
	region.header->cut_counters[CUT_depth_limit] = 3;

	aggregate = make(&region, &damaged);
	CHECK_EQUAL(damaged, 0);
	CHECK_EQUAL(aggregate.count, 3); // nothing was allocated from `outer` itself
	totals = totals_of(&aggregate, a);
	CHECK_EQUAL(totals->live_objects, 2000);
	CHECK_EQUAL(totals->live_bytes, 20000);
	CHECK_EQUAL(totals->alloc_objects, 2503);
	CHECK_EQUAL(totals->alloc_bytes, 25030);
	totals = totals_of(&aggregate, b);
	CHECK_EQUAL(totals->live_objects, 1000);
	CHECK_EQUAL(totals->live_bytes, 100000);
	CHECK_EQUAL(totals->alloc_objects, 1001);
	CHECK_EQUAL(totals->alloc_bytes, 100001);
	totals = totals_of(&aggregate, full);
	CHECK_EQUAL(totals->live_bytes, 7);
	CHECK_EQUAL(totals->alloc_bytes, 70);
	CHECK_EQUAL(aggregate.live_objects, 3001);
	CHECK_EQUAL(aggregate.live_bytes, 120007);
	CHECK_EQUAL(aggregate.threads, 2);
	CHECK_EQUAL(aggregate.pending, 0);
	CHECK_EQUAL(aggregate.counters[COUNTER_frees], 111);
	CHECK_EQUAL(aggregate.cut_counters[CUT_depth_limit], 5);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

// A thread stopped between emptying an entry of its totals and adding it to the node, or before its totals are counted at all.
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

// Every instant of a reallocation, in the order of inject/hooks.c: one block is live, the old one or the new one.
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
		const uint64_t old_address = 0x555555556eb8, new_address = cases[i].in_place ? old_address : 0x7ffff7fc1230;
		int failures = check_failures;
		struct made_region region;
		struct aggregate aggregate;
		struct thread_slot *slot;
		uint32_t stack, old, new;
		uint64_t damaged;

		made_region_init(&region, 100);
		stack = made_node(&region, 1, 1, 0);
		old = made_record(&region, OLD, stack);
		new = made_record(&region, NEW, stack);
		if (cases[i].old_in_table)
			*made_entry(&region, old_address) = old;
		if (cases[i].new_in_table)
			*made_entry(&region, new_address) = new;
		slot = made_slot(&region, 3);
		slot->pending = cases[i].pending ? old : 0;
		slot->pending_address = old_address;
		slot->pending_new = cases[i].pending_new ? new : 0;
		slot->pending_new_address = cases[i].pending_new ? new_address : 0x123450; // left from an earlier one
		aggregate = make(&region, &damaged);
		CHECK_EQUAL(aggregate.live_objects, 1);
		CHECK_EQUAL(aggregate.live_bytes, cases[i].live);
		CHECK_EQUAL(totals_of(&aggregate, stack)->live_bytes, cases[i].live);
		CHECK_EQUAL(aggregate.pending, cases[i].pending_blocks);
		CHECK_EQUAL(damaged, 0);
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
	struct thread_slot *slot;
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
	CHECK_EQUAL(aggregate.live_objects, 3); // in the totals, whatever their stacks
	CHECK_EQUAL(aggregate.count, 0);
	CHECK_EQUAL(aggregate.pending, 0);
	CHECK_EQUAL(damaged, 3 + 2 + 1);
	aggregate_deinit(&aggregate);

	// Stacks at both ends of the pages; the counter of pages past their end, and below their begin.
	slot->pending = 0;
	memset(slot->totals, 0, sizeof(slot->totals));
	for (uint32_t i = 0; i < 3; i++)
		((struct block_record *)made_ref(&region, *made_entry(&region, 0x1000 + 16 * i)))->stack =
			i == 0 ? first : i == 1 ? first + 100 * 128 - 1 : first + 100 * 128;
	region.header->next_page = UINT64_MAX;
	aggregate = make(&region, &damaged);
	CHECK_EQUAL(aggregate.count, 2);
	CHECK_EQUAL(damaged, 1);
	aggregate_deinit(&aggregate);
	region.header->next_page = 0;
	aggregate = make(&region, &damaged);
	CHECK_EQUAL(aggregate.count, 0);
	CHECK_EQUAL(aggregate.live_objects, 0);
	CHECK(damaged > 0);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

int main(void)
{
	test_sums();
	test_never_less_than_live();
	test_reallocations();
	test_hostile();
	return CHECK_RESULT();
}
