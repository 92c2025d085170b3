// SPDX-License-Identifier: Apache-2.0
// Sums by what is said of blocks beside their stacks, and of a part of them.
#include "check.h"
#include "made_region.h"
#include "snapshot/profile/aggregate.h"
#include "snapshot/size_age.h"

enum { PER_US = 1000, SECOND = 1000000000, NOW = 100 }; // one tick a nanosecond; NOW: seconds
enum { THREADS = 3 };

static const struct {
	uint64_t size;
	unsigned second; // of the thread's last reading of the time
	unsigned thread, samples;
	uint8_t age; // class; 0 = cannot be told
} blocks[] = {
	{ 100, 10, 0, 0, 4 },                          // read again at 30, and so before 40: a minute old at least
	{ 100, 30, 0, 0, 0 },                          // born before 95, when it read again
	{ 100, 95, 0, 0, 0 },                          // perhaps at 99
	{ 0, 20, 1, 0, 0 },                            // and perhaps much later
	{ 5000, 20, 1, 3, 0 },                         // counted samples stay apart
	{ 5000, 100, 2, 0, 1 }, { 100, 100, 2, 0, 1 }, // of one reading
	{ 9000, 100, 2, 2, 1 },
};
enum { BLOCKS = sizeof(blocks) / sizeof(blocks[0]) };

static void make(struct made_region *region)
{
	uint32_t node;

	made_region_init(region, 300);
	region->header->ticks_per_us = PER_US;
	region->header->thread_count = THREADS;
	node = made_node(region, 1, 1, 0);
	((struct stack_node *)made_ref(region, node))->alloc_objects = 20 * HS_OBJECTS_ONE;
	((struct stack_node *)made_ref(region, node))->alloc_bytes = 90000 * HS_BYTES_ONE;
	for (size_t i = 0; i < BLOCKS; i++) {
		struct block_record *record;

		made_block(region, 0x10000 + 16 * i, blocks[i].size, node);
		record = made_ref(region, region->records - 1);
		record->birth = (uint64_t)blocks[i].second * SECOND;
		record->thread = blocks[i].thread & (HS_THREAD_HISTORY_MAX - 1);
		record->samples = blocks[i].samples & HS_SAMPLES_MAX;
	}
}

static struct aggregate sum(const struct made_region *region, const struct block_selection *selection)
{
	struct table_view view = made_view(region);
	const struct aggregate_options options = { selection, &(struct thread_names){ 0 }, (uint64_t)NOW * SECOND };
	struct aggregate aggregate = { 0 };
	struct hs_error *error = aggregate_make_of(&view, &options, &aggregate);

	CHECK(!error);
	hs_error_destroy(error);
	return aggregate;
}

// Blocks that have the labels of an entry.
static double count_like(const struct profile_labels *labels, unsigned samples)
{
	double count = 0;

	for (size_t i = 0; i < BLOCKS; i++)
		count += blocks[i].thread + 1 == labels->thread && blocks[i].samples == samples &&
			 size_class_index(blocks[i].size ? blocks[i].size : 1) == labels->size &&
			 blocks[i].age == labels->age;
	return count;
}

static void test_labels(void)
{
	const struct block_selection all = { .labels = LABEL_THREAD | LABEL_SIZE | LABEL_AGE };
	struct made_region region;
	struct aggregate aggregate;
	double live = 0, allocated = 0;

	make(&region);
	aggregate = sum(&region, &all);
	CHECK_EQUAL(aggregate.counted.count, 7);
	for (size_t i = 0; i < aggregate.counted.count; i++) {
		const struct stack_totals *totals = &aggregate.counted.items[i];

		CHECK_EQUAL(totals->live.records, count_like(&totals->labels, totals->samples_per_block));
		live += totals->live.bytes;
		allocated += totals->alloc_bytes;
	}
	CHECK(live == aggregate.live.bytes);
	CHECK_EQUAL(aggregate.stacks.count, 1); // what was freed
	CHECK_EQUAL(aggregate.stacks.items[0].live.records, 0);
	CHECK(allocated + aggregate.stacks.items[0].alloc_bytes == 90000);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

static void test_part(void)
{
	const struct block_selection large = { .size_least = 5000 }, largest = { .size_least = 9000 },
				     old = { .older_ns = UINT64_C(60) * SECOND };
	struct made_region region;
	struct aggregate aggregate;

	make(&region);
	aggregate = sum(&region, &large);
	CHECK_EQUAL(aggregate.live.records, BLOCKS); // the whole is known as well
	CHECK_EQUAL(aggregate.undecided.records, 0);
	CHECK_EQUAL(aggregate.stacks.count, 1);
	CHECK_EQUAL(aggregate.stacks.items[0].live.records, 1);
	CHECK_EQUAL(aggregate.stacks.items[0].alloc_bytes, 5000); // of what was freed nothing is known
	CHECK_EQUAL(aggregate.counted.count, 2);
	aggregate_deinit(&aggregate);

	aggregate = sum(&region, &largest);
	CHECK_EQUAL(aggregate.stacks.count, 0); // no rest, which would say that nothing else was freed
	CHECK_EQUAL(aggregate.counted.count, 1);
	aggregate_deinit(&aggregate);

	aggregate = sum(&region, &old);
	CHECK_EQUAL(aggregate.stacks.count, 1);
	CHECK_EQUAL(aggregate.stacks.items[0].live.records, 1);
	CHECK_EQUAL(aggregate.undecided.records, 3); // of the readings at 30, and of 20 in the other thread
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

// By the functions that made them: kinds and allocators of hooks are those of hook_labels_test.
static void test_hooks(void)
{
	static const struct {
		unsigned labels;
		size_t stacks; // that are told apart, with those of counted samples
	} cases[] = {
		{ 0, 2 },
		{ LABEL_KIND, 4 },
		{ LABEL_ALLOCATOR, 4 },
		{ LABEL_KIND | LABEL_ALLOCATOR, 5 },
		{ LABEL_KIND | LABEL_THREAD, 7 },
	};
	static const uint16_t hooks[BLOCKS] = { 1, 2, 3, 0, 1, 1, 9, 2 }; // there are three
	static const char *const names[] = { "malloc", "calloc", "malloc" };
	struct made_region region;

	make(&region);
	region.header->stable.hook_count = 3;
	for (size_t i = 0; i < 3; i++) {
		struct hook_record *hook = (struct hook_record *)(region.bytes + HS_OFFSET_HOOKS) + i;

		strcpy(hook->name, names[i]);
		hook->module = i == 2;
	}
	for (size_t i = 0; i < BLOCKS; i++)
		((struct block_record *)made_ref(&region, region.records - BLOCKS + (uint32_t)i))->hook = hooks[i];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct block_selection all = { .labels = cases[i].labels };
		struct aggregate aggregate = sum(&region, &all);
		double live = 0;

		CHECK_EQUAL(aggregate.counted.count, cases[i].stacks);
		for (size_t j = 0; j < aggregate.counted.count; j++)
			live += aggregate.counted.items[j].live.bytes;
		for (size_t j = 0; j < aggregate.stacks.count; j++)
			live += aggregate.stacks.items[j].live.bytes;
		CHECK(live == aggregate.live.bytes);
		aggregate_deinit(&aggregate);
	}
	made_region_deinit(&region);
}

// Blocks of before a dump and after it.
static void test_dumps(void)
{
	const struct block_selection all = { .labels = LABEL_DUMP };
	struct made_region region;
	struct aggregate aggregate;
	uint64_t records[3] = { 0 };

	make(&region);
	for (unsigned i = 0; i < 3; i++)
		((struct block_record *)made_ref(&region, region.records - 1 - i))->epoch = 2;
	aggregate = sum(&region, &all);
	CHECK_EQUAL(aggregate.counted.count, 4); // with counted samples or without
	for (size_t i = 0; i < aggregate.counted.count; i++)
		records[aggregate.counted.items[i].labels.epoch % 3] += aggregate.counted.items[i].live.records;
	CHECK_EQUAL(records[1], BLOCKS - 3);
	CHECK_EQUAL(records[2], 3);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

// Blocks of before the first of some dumps, between two, and after the last one: beside what is told of them else.
static void test_cohorts(void)
{
	static const uint32_t epochs[] = { 3, 0, 8 }; // the second one has stopped the process
	static const struct {
		uint32_t epoch, cohort;
	} born[BLOCKS] = { { 1, 0 }, { 2, 0 }, { 3, 1 }, { 4, 1 }, { 7, 1 }, { 8, 3 }, { 9, 3 }, { UINT32_MAX, 3 } };
	const struct block_selection told = { .cohort_epochs = epochs, .cohort_epoch_count = 3 };
	struct made_region region;
	struct aggregate aggregate;
	double bytes[4] = { 0 }, expected[4] = { 0 };
	uint64_t records = 0;

	make(&region);
	for (unsigned i = 0; i < BLOCKS; i++) {
		((struct block_record *)made_ref(&region, region.records - BLOCKS + i))->epoch = born[i].epoch;
		expected[born[i].cohort] += (double)blocks[i].size;
	}
	aggregate = sum(&region, &told);
	CHECK(aggregate.has_cohorts);
	CHECK_EQUAL(aggregate.cohorts.count, 3);
	for (size_t i = 0; i < aggregate.cohorts.count; i++) {
		const struct cohort_totals *cohort = &aggregate.cohorts.items[i];

		CHECK(cohort->stack < aggregate.stacks.count);
		CHECK_EQUAL(aggregate.stacks.items[cohort->stack].node, cohort->node);
		bytes[cohort->number & 3] += cohort->live.bytes;
		records += cohort->live.records;
	}
	CHECK_EQUAL(records, BLOCKS);
	for (size_t i = 0; i < 4; i++)
		CHECK(bytes[i] == expected[i]);
	CHECK_EQUAL(aggregate.counted.count, 2); // of counted samples alone, as without
	aggregate_deinit(&aggregate);
	aggregate = sum(&region, &(struct block_selection){ 0 });
	CHECK(!aggregate.has_cohorts && aggregate.cohorts.count == 0);
	aggregate_deinit(&aggregate);
	made_region_deinit(&region);
}

int main(void)
{
	test_cohorts();
	test_dumps();
	test_hooks();
	test_labels();
	test_part();
	return CHECK_RESULT();
}
