// SPDX-License-Identifier: Apache-2.0
// Downsampling while threads allocate, reallocate and release: no record is lost, given back twice or left behind, and
// what stays in the table is what they hold.

#include "check.h"
#include "payload_region.h"
#include "payload_slots.h"

#include "inject/hook/block_events.h"
#include "inject/sampling/sampling_math.h"

#include <math.h>

enum { THREADS = 4, BOXES = 1024, SIZE_MAX_ASKED = 100, FIRST_INTERVAL = 64, HIGHEST_FLOOR = 256 };

enum { ROUNDS = CHECK_TIMES(3000000, 300000) };

// The boxes' blocks are so many to a bucket of the sample table that some find it full.
enum { BUCKETS = 4 };
#define FIRST_ADDRESS UINT64_C(0x7f0000000000)                                                  // of these blocks
#define FIRST_NARROW  (1 + DOWNSAMPLING_SAMPLE_PARTS + (FIRST_ADDRESS >> 29 << HS_MIDDLE_BITS)) // positions
#define LAST_NARROW   (FIRST_NARROW + (boxes[BOXES - 1].address - FIRST_ADDRESS) / (16 << HS_LEAF_BITS) + 1)
#define FIRST_WIDE    (1 + DOWNSAMPLING_SAMPLE_PARTS + ((HS_WIDE_ROOT + (FIRST_ADDRESS >> 31)) << HS_MIDDLE_BITS))
#define LAST_WIDE     (FIRST_WIDE + (boxes[BOXES - 1].address - FIRST_ADDRESS) / (64 << HS_LEAF_BITS) + 1)

static struct made_region made;
static const struct hook_island island;
static struct box {
	pthread_mutex_t lock;
	uint64_t address; // that nothing is at; ascending
	uint64_t block;   // 0 or that address
	uint64_t size;
} boxes[BOXES];

// What a hook does around its original, which here gives each box an address of its own.
static void allocate(struct box *box, uint64_t size, const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, &island);

	box->size = size;
	box->block = box->address;
	record_allocation(slot, box->block, size, sampling_choose(slot, size), frame);
	reentry_leave(slot);
}

static void reallocate(struct box *box, uint64_t size, bool fails, const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, &island);
	struct reallocation reallocation;

	reallocation_begin(slot, box->block, &island, &reallocation);
	if (fails) {
		reallocation_cancel(slot, &reallocation);
	} else {
		box->size = size;
		reallocation_finish(slot, &reallocation, box->block, size, sampling_choose(slot, size), frame);
	}
	reentry_leave(slot);
}

// Downsampling is begun again and again, from the same interval, and where there are blocks; in turn because the region
// ran short and for a budget. All by one thread, which goes on for as long as the others: where it has stopped they
// would fill the tables with records at the first interval.
static void downsample_again(unsigned round)
{
	uint64_t *position = &made.header->downsampling_position,
		 kind = __atomic_load_n(position, __ATOMIC_RELAXED) & HS_DOWNSAMPLING_BY_BUDGET;
	uint64_t next = __atomic_load_n(position, __ATOMIC_RELAXED) ^ kind;

	if (next > LAST_WIDE)
		__atomic_store_n(position, 0, __ATOMIC_RELAXED);
	else if (next > LAST_NARROW && next < FIRST_WIDE)
		__atomic_store_n(position, FIRST_WIDE | kind, __ATOMIC_RELAXED);
	else if (next == DOWNSAMPLING_SAMPLE_PARTS + 1)
		__atomic_store_n(position, FIRST_NARROW | kind, __ATOMIC_RELAXED);
	if (round % 512 != 0 || downsampling_is_under_way())
		return;
	if (round % 1024 == 0) {
		downsampling_ask_for_budget(HIGHEST_FLOOR / 2);
		CHECK_EQUAL(downsampling_budget_floor(), HIGHEST_FLOOR / 2);
	} else if (downsampling_floor() >= HIGHEST_FLOOR) {
		__atomic_store_n(&made.header->interval_floor, 0, __ATOMIC_RELAXED);
		__atomic_fetch_add(&made.header->sampling_generation, 1, __ATOMIC_RELAXED);
		return;
	} else {
		downsampling_ask();
	}
}

static void use_a_box(uint64_t dice)
{
	struct entry_frame frame = { .return_address = 0x1000 };
	uint64_t size = 1 + (dice >> 32) % SIZE_MAX_ASKED;
	struct box *box = &boxes[dice % BOXES];

	pthread_mutex_lock(&box->lock);
	if (!box->block) {
		allocate(box, size, &frame);
	} else if (dice >> 16 & 1) {
		reallocate(box, size, dice >> 17 & 1, &frame);
	} else {
		block_goes(box->block, box->size, &island, (uint64_t)&frame.return_address);
		box->block = 0;
	}
	pthread_mutex_unlock(&box->lock);
}

static unsigned ended; // of the threads that begin no downsampling

static void work(unsigned number)
{
	uint64_t random = number + 1;
	unsigned round = 0;
	uint32_t begun;

	while (!thread_slot_claim(arch_thread_pointer()))
		continue;
	if (number != 1) {
		for (; round < ROUNDS; round++)
			use_a_box(sampling_random(&random));
		__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
		return;
	}
	for (; round < ROUNDS || __atomic_load_n(&ended, __ATOMIC_RELAXED) < THREADS - 1; round++) {
		downsample_again(round);
		use_a_box(sampling_random(&random));
	}
	// and until one more downsampling, begun since then, is through: its records are in the tables at the end
	begun = __atomic_load_n(&made.header->downsampling_rounds, __ATOMIC_RELAXED);
	for (; __atomic_load_n(&made.header->downsampling_rounds, __ATOMIC_RELAXED) == begun ||
	       downsampling_is_under_way();
	     round++) {
		downsample_again(round);
		use_a_box(sampling_random(&random));
	}
}

static uint8_t *seen; // by ref - first ref

static void see(uint32_t ref)
{
	uint64_t index = ref - (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT);

	CHECK_EQUAL(seen[index], 0);
	seen[index] = 1;
}

static void check_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	const struct box *box = boxes;

	++*(uint64_t *)context;
	while (box < boxes + BOXES - 1 && box->address != address)
		box++;
	CHECK_EQUAL(box->block, address);
	CHECK_EQUAL(record->size, box->size);
	CHECK(record->interval >= FIRST_INTERVAL);
	CHECK_EQUAL(record->in_bloom, 1);
	see(ref);
}

static void count_entries(const uint64_t *entries, uint32_t bucket, void *context)
{
	(void)bucket;
	for (unsigned i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		*(uint64_t *)context += entries[i] != 0;
}

static void count_downsampled_wide(const struct table_leaf *leaf, void *context)
{
	for (unsigned i = 0; leaf->is_wide && i < HS_LEAF_ENTRIES; i++)
		*(uint64_t *)context +=
			leaf->entries[i] &&
			((const struct block_record *)made_ref(&made, wide_entry_ref(leaf->entries[i])))->interval >
				FIRST_INTERVAL;
}

// The records that nobody uses: threads' own, and batches.
static uint64_t see_free(void)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < payload_slot_count(&made); i++) {
		const struct thread_slot *slot = payload_slot(&made, i);

		for (uint32_t k = 0; slot && k < slot->free_count; k++, count++)
			see(slot->free_records[k]);
		for (uint32_t ref = slot ? slot->fresh_record : 0; ref % 128; ref++, count++)
			see(ref);
	}
	for (uint32_t batch = (uint32_t)made.header->free_batches; batch;
	     batch = ((struct free_record *)made_ref(&made, batch))->next_batch)
		for (uint32_t ref = batch; ref; ref = ((struct free_record *)made_ref(&made, ref))->next, count++)
			see(ref);
	return count;
}

static void test_threads(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = FIRST_INTERVAL };
	struct table_view view;
	uint64_t shown = 0, samples = 0, filtered = 0, downsampled_wide = 0, unused;

	payload_region_init(&made, 2000);
	memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
	sampling_settings_begin(made.header, &settings, 1, 2000);
	payload_slot_take_place(&made);
	seen = calloc(2000, HS_PAGE_SIZE >> HS_REF_SHIFT);
	for (unsigned i = 0; i < BOXES; i++) {
		// each in a piece of its own, at any of its positions
		boxes[i].address = i ? boxes[i - 1].address | 48 : FIRST_ADDRESS;
		do {
			boxes[i].address += 16;
		} while (sample_bucket(sample_key(boxes[i].address)) >= BUCKETS);
		pthread_mutex_init(&boxes[i].lock, NULL);
	}
	run_together(THREADS, work);
	view = made_view(&made);
	table_visit_blocks(&view, check_block, &shown);
	table_visit_sample_buckets(&view, count_entries, &samples);
	CHECK(samples > 0 && samples < shown); // in both tables
	table_visit_leaves(&view, count_downsampled_wide, &downsampled_wide);
	printf("%" PRIu64 " downsampled records in wide entries\n", downsampled_wide);
	CHECK(downsampled_wide > 0);
	CHECK_EQUAL(view.damaged, 0);
	CHECK(made.header->downsampling_rounds >= 10);
	CHECK(sum_counter(&made, COUNTER_downsampled) > 100);
	unused = see_free();
	printf("%" PRIu64 " records in the tables, %" PRIu64 " of them in the sample table, %" PRIu64
	       " unused; %" PRIu64 " samples given up, in %u rounds; %" PRIu64 " lost\n",
	       shown, samples, unused, sum_counter(&made, COUNTER_downsampled), made.header->downsampling_rounds,
	       sum_counter(&made, COUNTER_lost_downsampling));
	for (unsigned i = 0; i < HS_BLOOM_SIZE; i++)
		filtered += payload_region_state.bloom[i];
	CHECK_EQUAL(filtered, shown);

	struct entry_frame frame = { .return_address = 0x1000 };

	while (!thread_slot_claim(arch_thread_pointer()))
		continue;
	for (unsigned i = 0; i < BOXES; i++)
		if (boxes[i].block)
			block_goes(boxes[i].block, boxes[i].size, &island, (uint64_t)&frame.return_address);
	memset(seen, 0, 2000 * (HS_PAGE_SIZE >> HS_REF_SHIFT));
	CHECK_EQUAL(see_free(), unused + shown);
	// None was lost on the way: a page of records has all of its records.
	for (uint64_t page = 0; page < 2000; page++) {
		unsigned count = 0;

		for (unsigned i = 0; i < HS_PAGE_SIZE >> HS_REF_SHIFT; i++)
			count += seen[page * (HS_PAGE_SIZE >> HS_REF_SHIFT) + i];
		CHECK(count == 0 || count == HS_PAGE_SIZE >> HS_REF_SHIFT);
	}
	for (unsigned i = 0; i < HS_BLOOM_SIZE; i++)
		CHECK_EQUAL(payload_region_state.bloom[i], 0);
	free(seen);
	payload_region_deinit(&made);
}

// A block stays with p(new) / p(old): over many draws within five standard deviations of it.
static void test_probability(void)
{
	static const struct {
		uint64_t size, old_interval, new_interval;
		double expected;
	} cases[] = {
		{ 1, 1, 2, 0.393469 },          { 100, 1, 256, 0.323366 },    { 100, 256, 512, 0.548673 },
		{ 300, 256, 512, 0.443416 },    { 600, 256, 512, 1 },         { 0, 256, 512, 0.500488 },
		{ 1000, 4096, 8192, 0.530480 }, { 1, 1 << 20, 1 << 21, 0.5 }, { 1000000, 1 << 20, 1 << 21, 0.617001 },
	};
	const unsigned draws = 200000;
	uint64_t random = 1;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned kept = 0;
		double expected = cases[i].expected, distance;

		for (unsigned k = 0; k < draws; k++)
			kept += sampling_keeps(sampling_random(&random), cases[i].size, cases[i].old_interval,
					       cases[i].new_interval);
		distance = (double)kept - expected * draws;
		CHECK(distance * distance <= 25 * draws * expected * (1 - expected) + 1);
	}
}

// A record from a time when samples were counted was drawn by another rule, and stays what it is.
static void test_counted_samples(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = FIRST_INTERVAL };
	const struct block_record counted = { .size = 8, .interval = FIRST_INTERVAL, .samples = 3, .epoch = 1 };
	struct thread_slot *slot;
	uint32_t ref;

	payload_region_init(&made, 100);
	memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
	sampling_settings_begin(made.header, &settings, 1, 2000);
	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	slot->random = 1;
	for (uint64_t i = 0; i < 64; i++) {
		ref = record_take(slot);
		*(struct block_record *)made_ref(&made, ref) = counted;
		*live_table_make_narrow(FIRST_ADDRESS + 16 * i, &slot->spare_page) = ref;
	}
	downsampling_ask();
	__atomic_store_n(&made.header->downsampling_position, FIRST_NARROW, __ATOMIC_RELAXED);
	downsampling_work(slot);
	CHECK_EQUAL(slot->shared.counters[COUNTER_downsampled], 0);
	for (uint64_t i = 0; i < 64; i++) {
		const struct block_record *record = made_ref(&made, *live_table_find_narrow(FIRST_ADDRESS + 16 * i));

		CHECK(record->interval == FIRST_INTERVAL && record->samples == 3);
	}
	payload_region_deinit(&made);
}

enum { NARROW = 64 };

// So many records in narrow entries, one beside the other, and the thread's next step looks at them.
static struct thread_slot *begin_narrow(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = FIRST_INTERVAL };
	struct thread_slot *slot;

	payload_region_init(&made, 100);
	sampling_settings_begin(made.header, &settings, 1, 2000);
	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	slot->random = 1;
	for (uint64_t i = 0; i < NARROW; i++) {
		uint32_t ref = record_take(slot);

		*(struct block_record *)made_ref(&made, ref) =
			(struct block_record){ .size = 8, .interval = FIRST_INTERVAL, .epoch = 1 };
		*live_table_make_narrow(FIRST_ADDRESS + 16 * i, &slot->spare_page) = ref;
	}
	downsampling_ask();
	made.header->downsampling_position = FIRST_NARROW;
	return slot;
}

// Of those, how many are as they were.
static unsigned count_unchanged(void)
{
	unsigned count = 0;

	for (uint64_t i = 0; i < NARROW; i++) {
		uint32_t ref = *live_table_find_narrow(FIRST_ADDRESS + 16 * i);

		count += ref && ((const struct block_record *)made_ref(&made, ref))->interval == FIRST_INTERVAL;
	}
	return count;
}

// A dump takes what it sees in two places for a removal: while it copies nothing is downsampled, and afterwards the
// rest is.
static void test_during_dump(void)
{
	struct thread_slot *slot = begin_narrow();

	made.header->removal_flags |= REMOVAL_LOGS;
	downsampling_work(slot);
	CHECK_EQUAL(made.header->downsampling_position, FIRST_NARROW);
	CHECK_EQUAL(count_unchanged(), NARROW);
	CHECK_EQUAL(slot->shared.counters[COUNTER_downsampled], 0);
	made.header->removal_flags &= ~(uint32_t)REMOVAL_LOGS;
	downsampling_work(slot);
	CHECK(made.header->downsampling_position > FIRST_NARROW);
	CHECK_EQUAL(count_unchanged(), 0);
	CHECK(slot->shared.counters[COUNTER_downsampled] > 0);
	payload_region_deinit(&made);
}

// A thread that only reallocates does its part, too; not before its new record is one like all others.
static void test_reallocations(void)
{
	struct entry_frame frame = { .return_address = 0x1000 };
	struct thread_slot *slot = begin_narrow();
	struct box box = { .address = FIRST_ADDRESS, .block = FIRST_ADDRESS };

	bloom_add(FIRST_ADDRESS);                            // else it is not looked for
	reallocate(&box, 8 * FIRST_INTERVAL, false, &frame); // recorded at any interval here
	CHECK_EQUAL(slot->shared.counters[COUNTER_reallocations], 1);
	CHECK(made.header->downsampling_position != FIRST_NARROW);
	CHECK_EQUAL(count_unchanged(), 0);
	CHECK(slot->shared.counters[COUNTER_downsampled] > 0);
	payload_region_deinit(&made);
}

// Records of both parts, all of the same kind: a part of each is given up, and those that are left stand for the
// others.
static void test_both_parts(void)
{
	enum { BLOCKS = 2000, INTERVAL = 256 }; // of each part
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	const struct entry_frame frame = { .return_address = 0x1000 };
	uint64_t left[2] = { 0, 0 }, addresses[2 * BLOCKS];
	struct thread_slot *slot;

	payload_region_init(&made, 400);
	sampling_settings_begin(made.header, &settings, 1, 2000);
	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	slot->random = 1;
	slot->shared.interval = INTERVAL;
	memset(made.bytes + HS_OFFSET_SAMPLES, 0xff, HS_SAMPLE_TABLE_SIZE); // full, so that none goes there
	for (uint64_t i = 0; i < 2 * BLOCKS; i++) {
		addresses[i] = FIRST_ADDRESS + 64 * i + i / 2 % 4 * 16;
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)&frame, &island), OUTERMOST);
		record_allocation(slot, addresses[i], i % 2 ? 49 : 48, (struct choice){ INTERVAL, 0 }, &frame);
		reentry_leave(slot);
	}
	memset(made.bytes + HS_OFFSET_SAMPLES, 0, HS_SAMPLE_TABLE_SIZE);
	downsampling_ask(); // to twice the interval
	for (uint64_t *position = &made.header->downsampling_position; *position; downsampling_work(slot)) {
		if (*position < FIRST_NARROW)
			*position = FIRST_NARROW;
		else if (*position > FIRST_NARROW + 64 && *position < FIRST_WIDE)
			*position = FIRST_WIDE;
		else if (*position > FIRST_WIDE + 64)
			break;
	}
	for (uint64_t i = 0; i < 2 * BLOCKS; i++) {
		struct block_place place = block_place_find(addresses[i]);
		const struct block_record *record =
			is_recorded(place) ? made_ref(&made, block_place_ref(place, addresses[i])) : NULL;

		left[i % 2] += record != NULL;
		CHECK(!record || (place.kind == (i % 2 ? PLACE_wide : PLACE_narrow) &&
				  record->interval == 2 * INTERVAL && record->size == 48 + i % 2));
	}
	// p(new) / p(old) is nearly a half; twenty standard deviations would not reach either end.
	CHECK(left[0] > BLOCKS / 4 && left[0] < 3 * BLOCKS / 4);
	CHECK(left[1] > BLOCKS / 4 && left[1] < 3 * BLOCKS / 4);
	CHECK_EQUAL(slot->shared.counters[COUNTER_downsampled], 2 * BLOCKS - left[0] - left[1]);
	payload_region_deinit(&made);
}

// A small region takes as many samples as one likes, and the estimate stays right: records are given back as others
// come. Leaves never are.
static void test_small_region(void)
{
	enum { PAGES = 64, BLOCKS = 200000, SIZE = 64 }; // room for 8,000 records
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = 256 };
	const struct entry_frame frame = { .return_address = 0x1000 };
	double estimate = 0, variance = 0;
	struct thread_slot *slot;

	payload_region_init(&made, PAGES);
	memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
	sampling_settings_begin(made.header, &settings, 1, 2000);
	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)&frame, &island), OUTERMOST);
		record_allocation(slot, FIRST_ADDRESS + i * 16384, SIZE, sampling_choose(slot, SIZE), &frame);
		reentry_leave(slot);
	}
	printf("%" PRIu64 " recorded, %" PRIu64 " given up, interval %u\n", slot->shared.counters[COUNTER_allocations],
	       slot->shared.counters[COUNTER_downsampled], made.header->interval_floor);
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full], 0);
	for (uint32_t i = 0; i < HS_SAMPLE_ENTRIES; i++) {
		uint64_t entry = ((const uint64_t *)(made.bytes + HS_OFFSET_SAMPLES))[i];
		const struct block_record *record = entry ? made_ref(&made, sample_entry_ref(entry)) : NULL;
		double probability;

		if (!record)
			continue;
		probability = -expm1(-(double)SIZE / record->interval);
		estimate += 1 / probability;
		variance += (1 - probability) / (probability * probability);
	}
	CHECK((estimate - BLOCKS) * (estimate - BLOCKS) <= 25 * variance);
	payload_region_deinit(&made);
}

int main(void)
{
	test_small_region();
	test_counted_samples();
	test_during_dump();
	test_reallocations();
	test_both_parts();
	test_probability();
	test_threads();
	return CHECK_RESULT();
}
