// SPDX-License-Identifier: Apache-2.0
// The sample table as the payload writes it, and what becomes of blocks that find their bucket full, read back by the
// payload and by the tool.

#include "check.h"
#include "payload_region.h"

#include "inject/hook/block_events.h"
#include "inject/sampling/sampling_math.h"

enum { INTERVAL = 4096, SIZE = 100 };

static struct made_region made;
static const struct hook_island island;
static const struct entry_frame frame = { .return_address = 0x1000 };
static const struct choice sampled = { INTERVAL, 0 }, exact = { 1, 0 };

static void test_mixing(void)
{
	static const uint64_t edges[] = { 0, 8, 16, 0x555555556eb8, 0x7ffff7fc1230, 0x7ffffffffff0, 0x7ffffffffff8 };
	static uint8_t buckets[HS_SAMPLE_BUCKETS];
	uint64_t random = 1, fullest = 0;

	for (uint32_t i = 0; i < 2000000; i++) {
		uint64_t address = i < sizeof(edges) / sizeof(edges[0]) ? edges[i]
									: sampling_random(&random) >> 17 & ~UINT64_C(7),
			 key = sample_key(address);

		CHECK(key <= HS_SAMPLE_KEY_MASK && sample_bucket(key) < HS_SAMPLE_BUCKETS);
		CHECK_EQUAL(sample_address(sample_bucket(key), sample_entry(sample_tag(key), 7)), address);
	}
	// And back: whatever stands in an entry is an address that a block can have.
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t bucket = i % HS_SAMPLE_BUCKETS;
		uint64_t tag = sampling_random(&random) >> (64 - HS_SAMPLE_TAG_BITS),
			 address = sample_address(bucket, sample_entry(tag, 1)), key = sample_key(address);

		CHECK(live_table_covers(address));
		CHECK(sample_bucket(key) == bucket && sample_tag(key) == tag);
	}
	// Blocks at equal steps, as one loop allocates them, fill the buckets evenly, four in each on average, so that
	// all find room.
	for (unsigned shift = 4; shift <= 24; shift++) {
		memset(buckets, 0, sizeof(buckets));
		for (uint64_t i = 0; i < 4 * HS_SAMPLE_BUCKETS; i++) {
			uint8_t *count = &buckets[sample_bucket(sample_key(UINT64_C(0x7f0012345670) - (i << shift)))];

			fullest = ++*count > fullest ? *count : fullest;
		}
	}
	CHECK(fullest <= HS_SAMPLE_BUCKET_ENTRIES);
}

static struct thread_slot *begin(uint64_t pages)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	struct thread_slot *slot;

	payload_region_init(&made, pages);
	memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
	sampling_settings_begin(made.header, &settings, 1, 2000);
	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	slot->shared.interval = INTERVAL;
	slot->countdown = INT64_MAX;
	return slot;
}

// The `number`th address of a bucket.
static uint64_t address_in(uint32_t bucket, uint32_t number)
{
	return sample_address(bucket, sample_entry(0x9000 * number, 1));
}

static void allocate(struct thread_slot *slot, uint64_t address, struct choice choice)
{
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)&frame, &island), OUTERMOST);
	record_allocation(slot, address, SIZE, choice, &frame);
	reentry_leave(slot);
}

static void give_back(uint64_t address) { block_goes(address, SIZE, &island, (uint64_t)&frame); }

struct shown {
	uint64_t blocks, samples, sum;
};

static void count_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	struct shown *shown = context;

	(void)ref;
	CHECK_EQUAL(record->size, SIZE);
	shown->blocks++;
	shown->sum += address;
}

static void count_entries(const uint64_t *entries, uint32_t bucket, void *context)
{
	struct shown *shown = context;

	(void)bucket;
	for (unsigned i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		shown->samples += entries[i] != 0;
}

static struct shown look(void)
{
	struct table_view view = made_view(&made);
	struct shown shown = { 0 };

	table_visit_blocks(&view, count_block, &shown);
	table_visit_sample_buckets(&view, count_entries, &shown);
	CHECK_EQUAL(view.damaged, 0);
	return shown;
}

static bool is_in_live_table(uint64_t address)
{
	return is_recorded(recorded(address)) && recorded(address).kind != PLACE_sample;
}

static uint64_t filtered(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < HS_BLOOM_SIZE; i++)
		sum += payload_region_state.bloom[i];
	return sum;
}

// Thirty samples of one bucket: sixteen in it, the others in leaves, each found and given back.
static void test_full_bucket(void)
{
	enum { BLOCKS = 30, BUCKET = HS_SAMPLE_BUCKETS - 1 };
	struct thread_slot *slot = begin(BLOCKS * (HS_MIDDLE_PAGES + 1) + 8);
	struct table_view view;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < BLOCKS; i++) {
		allocate(slot, address_in(BUCKET, i), sampled);
		sum += address_in(BUCKET, i);
	}
	CHECK(look().blocks == BLOCKS && look().samples == HS_SAMPLE_BUCKET_ENTRIES && look().sum == sum);
	CHECK_EQUAL(filtered(), BLOCKS);
	view = made_view(&made);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct block_place place = recorded(address_in(BUCKET, i));

		CHECK(is_recorded(place) && (place.kind == PLACE_sample) == (i < HS_SAMPLE_BUCKET_ENTRIES));
		CHECK_EQUAL(table_find_block(&view, address_in(BUCKET, i)),
			    block_place_ref(place, address_in(BUCKET, i)));
	}
	// An entry that becomes empty is taken by the next one; the others stay where they are.
	give_back(address_in(BUCKET, 3));
	allocate(slot, address_in(BUCKET, BLOCKS), sampled);
	CHECK(recorded(address_in(BUCKET, BLOCKS)).kind == PLACE_sample &&
	      !is_recorded(recorded(address_in(BUCKET, 3))));
	CHECK(is_in_live_table(address_in(BUCKET, HS_SAMPLE_BUCKET_ENTRIES)));
	for (uint32_t i = 0; i <= BLOCKS; i++)
		if (i != 3)
			give_back(address_in(BUCKET, i));
	CHECK(look().blocks == 0 && filtered() == 0);
	CHECK_EQUAL(slot->shared.counters[COUNTER_frees], BLOCKS + 1);
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full], 0);
	payload_region_deinit(&made);
}

// An address whose release was not seen has its new record only, in whichever table either is.
static void test_replaced(void)
{
	enum { BUCKET = 77 };
	static const struct choice *const choices[] = { &sampled, &exact };
	struct thread_slot *slot = begin(2000);
	uint64_t address = address_in(BUCKET, 0), replaced = 0;

	for (unsigned before = 0; before < 2; before++)
		for (unsigned after = 0; after < 2; after++) {
			allocate(slot, address, *choices[before]);
			allocate(slot, address, *choices[after]);
			CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], ++replaced);
			CHECK(look().blocks == 1 && look().samples == (after == 0) && filtered() == 1);
			give_back(address);
			CHECK(look().blocks == 0 && filtered() == 0);
		}
	// From a leaf into the bucket that was full when the address was last in use.
	for (uint32_t i = 1; i <= HS_SAMPLE_BUCKET_ENTRIES; i++)
		allocate(slot, address_in(BUCKET, i), sampled);
	allocate(slot, address, sampled);
	give_back(address_in(BUCKET, 1));
	CHECK(is_in_live_table(address));
	allocate(slot, address, sampled);
	CHECK(recorded(address).kind == PLACE_sample && look().blocks == HS_SAMPLE_BUCKET_ENTRIES);
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], ++replaced);
	payload_region_deinit(&made);
}

static void begin_reallocation(struct thread_slot *slot, uint64_t address, struct reallocation *ret)
{
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)&frame, &island), OUTERMOST);
	reallocation_begin(slot, address, &island, ret);
}

static void cancel(struct thread_slot *slot, const struct reallocation *reallocation)
{
	reallocation_cancel(slot, reallocation);
	reentry_leave(slot);
	CHECK_EQUAL(slot->shared.pending, 0);
}

// A failed reallocation's block is shown again, whoever has its entry now.
static void test_cancel(void)
{
	enum { BUCKET = 5 };
	struct thread_slot *slot = begin(2 + HS_MIDDLE_PAGES + 1 + HS_MIDDLE_PAGES);
	uint64_t address = address_in(BUCKET, 0), pages;
	struct reallocation reallocation;

	for (uint32_t i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		allocate(slot, address_in(BUCKET, i), sampled);
	begin_reallocation(slot, address, &reallocation);
	CHECK(slot->shared.pending == reallocation.old && look().blocks == HS_SAMPLE_BUCKET_ENTRIES - 1);
	cancel(slot, &reallocation);
	CHECK(recorded(address).kind == PLACE_sample && look().blocks == HS_SAMPLE_BUCKET_ENTRIES);

	// Another block has the entry: the record goes into a leaf, and stays there the next time.
	for (unsigned round = 0; round < 2; round++) {
		begin_reallocation(slot, address, &reallocation);
		if (round == 0)
			CHECK(sample_table_put(address_in(BUCKET, 100), record_take(slot)));
		cancel(slot, &reallocation);
		CHECK(is_in_live_table(address) && block_place_ref(recorded(address), address) == reallocation.old);
		CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full], 0);
	}

	// There is no room for a leaf either: the block is lost, its record is not.
	begin_reallocation(slot, address_in(BUCKET, 1), &reallocation);
	CHECK(sample_table_put(address_in(BUCKET, 101), record_take(slot)));
	pages = made.header->next_page;
	made.header->next_page = made.header->max_pages;
	cancel(slot, &reallocation);
	made.header->next_page = pages;
	CHECK(!is_recorded(recorded(address_in(BUCKET, 1))));
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full], 1);
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full_bytes], SIZE);
	CHECK_EQUAL(slot->free_records[slot->free_count - 1], reallocation.old);
	CHECK_EQUAL(filtered(), HS_SAMPLE_BUCKET_ENTRIES - 1);
	payload_region_deinit(&made);
}

// A reallocation that moves a block: from either table into either.
static void test_finish(void)
{
	static const struct choice *const choices[] = { &sampled, &exact };
	struct thread_slot *slot = begin(2000);
	struct reallocation reallocation;
	uint64_t from = address_in(9, 0), to = address_in(9, 1);

	for (unsigned old = 0; old < 2; old++)
		for (unsigned new = 0; new < 2; new ++)
			for (unsigned moves = 0; moves < 2; moves++) {
				uint64_t end = moves ? to : from;

				allocate(slot, from, *choices[old]);
				begin_reallocation(slot, from, &reallocation);
				reallocation_finish(slot, &reallocation, end, SIZE, *choices[new], &frame);
				reentry_leave(slot);
				CHECK(look().blocks == 1 && look().sum == end && look().samples == (new == 0) &&
				      filtered() == 1);
				give_back(end);
				CHECK(look().blocks == 0 && filtered() == 0);
			}
	CHECK_EQUAL(slot->shared.counters[COUNTER_reallocations], 8);
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], 0);
	payload_region_deinit(&made);
}

// Another thread's step comes between diagnostic an entry and taking it.
static void test_stale_entry(void)
{
	enum { BUCKET = 12 };
	struct thread_slot *slot = begin(100);
	uint64_t address = address_in(BUCKET, 0), other = address_in(BUCKET, 1), *entry;
	uint32_t ref, fresh = record_take(slot);

	allocate(slot, address, sampled);
	entry = recorded(address).entry;
	ref = sample_table_ref(entry, address);
	CHECK(sample_table_exchange(entry, address, ref, fresh)); // downsampling has put another record there
	CHECK(!sample_table_exchange(entry, address, ref, 0));
	CHECK_EQUAL(sample_table_take(entry, address), fresh);
	CHECK_EQUAL(sample_table_take(entry, address), 0);
	// The same record for another address: not the caller's.
	CHECK(sample_table_put(other, ref));
	CHECK(*entry && sample_table_find(other) == entry);
	CHECK_EQUAL(sample_table_ref(entry, address), 0);
	CHECK_EQUAL(sample_table_take(entry, address), 0);
	CHECK(!sample_table_exchange(entry, address, ref, 0));
	CHECK_EQUAL(sample_table_ref(entry, other), ref);
	payload_region_deinit(&made);
}

// Where every block is recorded nobody looks into the table: each page that was looked at would be in memory from then
// on.
static void test_exact(void)
{
	struct thread_slot *slot = begin(2000);
	struct reallocation reallocation;

	if (mprotect(made.bytes + HS_OFFSET_SAMPLES, HS_SAMPLE_TABLE_SIZE, PROT_NONE) != 0)
		exit(1);
	memset(payload_region_state.bloom, HS_BLOOM_SATURATED, HS_BLOOM_SIZE);
	allocate(slot, 0x10000, exact);
	allocate(slot, 0x10000, exact);
	begin_reallocation(slot, 0x10000, &reallocation);
	reallocation_finish(slot, &reallocation, 0x20000, SIZE, exact, &frame);
	reentry_leave(slot);
	give_back(0x20000);
	give_back(0x30000);
	__atomic_store_n(&made.header->downsampling_position, 1, __ATOMIC_RELAXED);
	downsampling_work(slot);
	CHECK(made.header->downsampling_position > DOWNSAMPLING_SAMPLE_PARTS);
	CHECK_EQUAL(made.header->samples_used, 0);
	CHECK_EQUAL(slot->shared.counters[COUNTER_frees], 1);
	if (mprotect(made.bytes + HS_OFFSET_SAMPLES, HS_SAMPLE_TABLE_SIZE, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	allocate(slot, 0x10000, sampled);
	CHECK_EQUAL(made.header->samples_used, 1);
	payload_region_deinit(&made);
}

// Threads that all want the same few entries. Each goes on until it has had one often enough: how long others hold them
// is the scheduler's affair.
enum { THREADS = 4, ROUNDS = 25000, ADDRESSES = 6 };

static uint64_t wrong[THREADS];

static void put_and_take(unsigned number)
{
	uint64_t random = number + 1;

	for (uint32_t round = 0; round < ROUNDS;) {
		uint64_t address = address_in(3, number * ADDRESSES + (uint32_t)(sampling_random(&random) % ADDRESSES)),
			 *entry;
		uint32_t ref = round * THREADS + number + 1;

		if (!sample_table_put(address, ref))
			continue;
		entry = sample_table_find(address);
		wrong[number] += !entry || sample_table_ref(entry, address) != ref;
		if (round % 2 && entry) // as downsampling does
			wrong[number] += !sample_table_exchange(entry, address, ref, ref + 1) ||
					 sample_table_exchange(entry, address, ref, 0);
		if (entry)
			wrong[number] += sample_table_take(entry, address) != ref + round % 2 ||
					 sample_table_find(address) != NULL;
		round++;
	}
}

static void test_threads(void)
{
	(void)begin(10);
	// So few are left that they are often all taken.
	for (uint32_t i = 0; i < HS_SAMPLE_BUCKET_ENTRIES - 2; i++)
		CHECK(sample_table_put(address_in(3, 1000 + i), 1));
	run_together(THREADS, put_and_take);
	for (unsigned number = 0; number < THREADS; number++)
		CHECK_EQUAL(wrong[number], 0);
	for (uint32_t i = 0; i < HS_SAMPLE_BUCKET_ENTRIES - 2; i++)
		CHECK_EQUAL(sample_table_take(sample_table_find(address_in(3, 1000 + i)), address_in(3, 1000 + i)), 1);
	for (size_t i = 0; i < HS_SAMPLE_TABLE_SIZE; i++)
		if (made.bytes[HS_OFFSET_SAMPLES + i])
			CHECK_EQUAL(i, 0);
	payload_region_deinit(&made);
}

// A counter of the Bloom filter stands for as many records as it says, up to the last value: that may stand for more,
// and stays.
static void test_bloom_counters(void)
{
	const uint64_t address = 0x7f0000001230;
	const uint8_t *counter = &payload_region_state.bloom[bloom_index(address)];

	begin(8);
	CHECK(bloom_excludes(address));
	for (unsigned i = 1; i < HS_BLOOM_SATURATED; i++) {
		bloom_add(address);
		CHECK_EQUAL(*counter, i);
		CHECK(!bloom_excludes(address));
	}
	for (unsigned i = HS_BLOOM_SATURATED - 1; i-- > 0;) {
		bloom_remove(address);
		CHECK_EQUAL(*counter, i);
	}
	CHECK(bloom_excludes(address));
	bloom_remove(address); // one too many
	CHECK_EQUAL(*counter, 0);
	for (unsigned i = 0; i < 2 * HS_BLOOM_SATURATED; i++)
		bloom_add(address);
	CHECK_EQUAL(*counter, HS_BLOOM_SATURATED);
	for (unsigned i = 0; i < 2 * HS_BLOOM_SATURATED; i++)
		bloom_remove(address);
	CHECK_EQUAL(*counter, HS_BLOOM_SATURATED);
	payload_region_deinit(&made);
}

// A function that gives a block back may call another one, of which the second finds no record any more. But a block
// that came to the same address in between, and was lost, is another one.
static void test_freed_again(void)
{
	static const struct hook_island other = { .hook_index = 1 };
	struct thread_slot *slot = begin(8);
	const uint64_t address = address_in(7, 1);

	made.header->sampling_mode = SAMPLING_exact;
	made.header->always_exact = 1;
	for (unsigned is_lost = 0; is_lost <= 1; is_lost++) {
		uint64_t before = slot->shared.counters[COUNTER_unknown_frees];

		give_back(address);
		CHECK_EQUAL(slot->shared.counters[COUNTER_unknown_frees], before + 1);
		made.header->next_page = made.header->max_pages;
		if (is_lost)
			allocate(slot, address, exact);
		CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full], is_lost);
		block_goes(address, SIZE, &other, (uint64_t)&frame);
		CHECK_EQUAL(slot->shared.counters[COUNTER_unknown_frees], before + 1 + is_lost);
		slot->last_freed = 0;
	}
	payload_region_deinit(&made);
}

int main(void)
{
	test_mixing();
	test_full_bucket();
	test_replaced();
	test_cancel();
	test_finish();
	test_stale_entry();
	test_exact();
	test_threads();
	test_bloom_counters();
	test_freed_again();
	return CHECK_RESULT();
}
