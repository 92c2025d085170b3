// SPDX-License-Identifier: Apache-2.0
// Which blocks have wide entries of the live table, and what becomes of them there: as the recorder's code writes it,
// read back by it and by the tool.
#define PAYLOAD_BEYOND (UINT64_C(33) << 30) // a record whose ref has 31 bits
#include "check.h"
#include "payload_region.h"

#include "inject/hook/block_events.h"

#define HEAP    UINT64_C(0x7f0000000000)
#define BIG_REF (1u << HS_WIDE_REF_BITS)

static struct made_region made;
static struct thread_slot *slot;
static const struct hook_island island;
static const struct entry_frame frame = { .return_address = 0x1000 };
static const struct choice exact = { 1, 0 }, sampled = { 4096, 0 };

static void begin(uint64_t pages)
{
	payload_region_init(&made, pages);
	memset(payload_region_state.bloom, HS_BLOOM_SATURATED, HS_BLOOM_SIZE);
	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	slot->shared.interval = 1;
}

static void allocate(uint64_t address, uint64_t size, struct choice choice)
{
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)&frame, &island), OUTERMOST);
	record_allocation(slot, address, size, choice, &frame);
	reentry_leave(slot);
}

static void give_back(uint64_t address) { block_goes(address, 0, &island, (uint64_t)&frame); }

static void begin_reallocation(uint64_t address, struct reallocation *ret)
{
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)&frame, &island), OUTERMOST);
	reallocation_begin(slot, address, &island, ret);
	CHECK(slot->shared.pending == ret->old && ret->old);
}

static void finish(const struct reallocation *reallocation, uint64_t address, uint64_t size)
{
	reallocation_finish(slot, reallocation, address, size, exact, &frame);
	reentry_leave(slot);
	CHECK_EQUAL(slot->shared.pending, 0);
}

static void cancel(const struct reallocation *reallocation)
{
	reallocation_cancel(slot, reallocation);
	reentry_leave(slot);
	CHECK_EQUAL(slot->shared.pending, 0);
}

static enum place_kind kind_of(uint64_t address) { return recorded(address).kind; }

static void count_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	(void)address;
	(void)ref;
	*(uint64_t *)context += 1000000 + record->size;
}

// What the tool sees: a million for each block, and all their bytes.
static uint64_t shown(void)
{
	struct table_view view = made_view(&made);
	uint64_t sum = 0;

	table_visit_blocks(&view, count_block, &sum);
	CHECK_EQUAL(view.damaged, 0);
	return sum;
}

// The size of the block that both find at an address; 0 = none.
static uint64_t size_at(uint64_t address)
{
	struct table_view view = made_view(&made);
	uint32_t ref = table_find_block(&view, address);

	CHECK_EQUAL(ref, is_recorded(recorded(address)) ? block_place_ref(recorded(address), address) : 0);
	return ref ? ((const struct block_record *)made_ref(&made, ref))->size : 0;
}

static void test_choice(void)
{
	begin(400);
	for (uint64_t size = 0; size < 200; size++)
		for (uint64_t address = HEAP; address < HEAP + 128; address += 8) {
			allocate(address, size, exact);
			CHECK_EQUAL(kind_of(address), size > 48 && address % 16 == 0 ? PLACE_wide : PLACE_narrow);
			CHECK_EQUAL(size_at(address), size);
			CHECK_EQUAL(shown(), 1000000 + size);
			give_back(address);
			CHECK_EQUAL(shown(), 0);
		}
	// The ends of its levels.
	static const uint64_t ends[] = { 0x10, 0xffb0, 0xfff0, 0x10000, 0x7ffffff0, 0x80000000, 0x7ffffffffff0 };
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		allocate(ends[i], 49 + i, exact);
		CHECK_EQUAL(size_at(ends[i]), 49 + i);
		CHECK_EQUAL(*made_wide_entry(&made, ends[i]) >> 30, ends[i] >> 4 & 3);
	}
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], 0);
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full], 0);
	payload_region_deinit(&made);
}

// A narrow block, then a wide one, in the same piece.
static void test_neighbours(void)
{
	begin(400);
	allocate(HEAP, 48, exact);
	allocate(HEAP + 48, 100, exact);
	CHECK(kind_of(HEAP) == PLACE_narrow && kind_of(HEAP + 48) == PLACE_wide);
	CHECK_EQUAL(shown(), 2000148);
	give_back(HEAP);
	CHECK(size_at(HEAP) == 0 && size_at(HEAP + 48) == 100);
	allocate(HEAP, 20, exact);
	give_back(HEAP + 48);
	CHECK(size_at(HEAP) == 20 && shown() == 1000020);
	give_back(HEAP + 16); // nothing is there
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], 0);
	CHECK_EQUAL(slot->shared.counters[COUNTER_frees], 2);
	payload_region_deinit(&made);
}

// A pool cuts blocks out of a large one: they overlap that, and may begin in its piece. Whichever is recorded first has
// the entry.
static void test_overlapping(void)
{
	struct reallocation reallocation;

	begin(400);
	allocate(HEAP, 10000, exact);
	allocate(HEAP + 16, 100, exact);
	allocate(HEAP + 128, 200, exact);
	CHECK(kind_of(HEAP) == PLACE_wide && kind_of(HEAP + 16) == PLACE_narrow && kind_of(HEAP + 128) == PLACE_wide);
	CHECK_EQUAL(shown(), 3010300);
	give_back(HEAP + 16);
	CHECK(size_at(HEAP) == 10000 && size_at(HEAP + 16) == 0);
	allocate(HEAP + 16, 100, exact);

	// The large one is being reallocated in its place when the other one comes, and finds its entry taken.
	give_back(HEAP + 16);
	begin_reallocation(HEAP, &reallocation);
	allocate(HEAP + 16, 100, exact);
	CHECK_EQUAL(kind_of(HEAP + 16), PLACE_wide);
	cancel(&reallocation);
	CHECK(kind_of(HEAP) == PLACE_narrow && size_at(HEAP) == 10000 && shown() == 3010300);
	begin_reallocation(HEAP, &reallocation);
	give_back(HEAP + 16);
	finish(&reallocation, HEAP, 20000);
	CHECK(kind_of(HEAP) == PLACE_wide && shown() == 2020200);
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], 0);
	CHECK_EQUAL(slot->shared.counters[COUNTER_unknown_frees], 0);
	payload_region_deinit(&made);
}

// Blocks whose release was not seen.
static void test_replaced(void)
{
	uint64_t replaced = 0;

	begin(400);
	// At the same address: the new one alone is shown, and its release leaves nothing but what it has hidden.
	for (uint64_t before = 20; before <= 100; before += 80)
		for (uint64_t after = 21; after <= 101; after += 80) {
			bool hides = before <= 48 && after > 48;

			allocate(HEAP, before, exact);
			allocate(HEAP, after, exact);
			CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], replaced += !hides);
			CHECK(size_at(HEAP) == after && shown() == 1000000 + after);
			give_back(HEAP);
			CHECK_EQUAL(shown(), hides ? 1000000 + before : 0);
			give_back(HEAP);
			CHECK_EQUAL(shown(), 0);
		}
	CHECK_EQUAL(slot->shared.counters[COUNTER_frees], 5);
	// At another address of the piece: it is there until its address comes again.
	allocate(HEAP, 100, exact);
	allocate(HEAP + 48, 200, exact);
	CHECK(size_at(HEAP) == 100 && size_at(HEAP + 48) == 200 && kind_of(HEAP + 48) == PLACE_narrow);
	allocate(HEAP, 16, exact);
	CHECK(size_at(HEAP) == 16 && size_at(HEAP + 48) == 200 && shown() == 2000216);
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], ++replaced);
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced_bytes], 20 + 2 * 100 + 100);
	payload_region_deinit(&made);
}

// From either part into either, in place and moved, and back where it fails.
static void test_reallocation(void)
{
	struct reallocation reallocation;

	begin(400);
	for (uint64_t old = 20; old <= 100; old += 80)
		for (uint64_t new = 21; new <= 101; new += 80)
			for (uint64_t end = HEAP; end <= HEAP + 64; end += 64) {
				allocate(HEAP, old, exact);
				begin_reallocation(HEAP, &reallocation);
				CHECK_EQUAL(shown(), 0);
				cancel(&reallocation);
				CHECK(size_at(HEAP) == old && shown() == 1000000 + old &&
				      kind_of(HEAP) == (old > 48 ? PLACE_wide : PLACE_narrow));
				begin_reallocation(HEAP, &reallocation);
				finish(&reallocation, end, new);
				CHECK(size_at(end) == new &&shown() == 1000000 + new &&kind_of(end) ==
				      (new > 48 ? PLACE_wide : PLACE_narrow));
				give_back(end);
				CHECK_EQUAL(shown(), 0);
			}
	CHECK_EQUAL(slot->shared.counters[COUNTER_reallocations], 8);
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], 0);
	payload_region_deinit(&made);
}

// A sample has no other entry, in either part.
static void test_samples(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = 4096 };
	uint64_t replaced = 0;

	begin(400);
	memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
	sampling_settings_begin(made.header, &settings, 1, 2000);
	for (uint64_t size = 20; size <= 100; size += 80) {
		allocate(HEAP, size, exact);
		allocate(HEAP, size, sampled);
		CHECK(kind_of(HEAP) == PLACE_sample && shown() == 1000000 + size);
		CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], ++replaced);
		allocate(HEAP, size, exact);
		CHECK(kind_of(HEAP) == (size > 48 ? PLACE_wide : PLACE_narrow) && shown() == 1000000 + size);
		CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], ++replaced);
		give_back(HEAP);
		CHECK(!is_recorded(recorded(HEAP)) && shown() == 0);
	}
	// One that is hidden, too.
	allocate(HEAP, 20, exact);
	allocate(HEAP, 100, exact);
	allocate(HEAP, 30, sampled);
	CHECK(kind_of(HEAP) == PLACE_sample && shown() == 1000030);
	CHECK_EQUAL(slot->shared.counters[COUNTER_replaced], replaced += 2);
	give_back(HEAP);
	CHECK_EQUAL(shown(), 0);
	for (unsigned i = 0; i < HS_BLOOM_SIZE; i++)
		CHECK_EQUAL(payload_region_state.bloom[i], 0);
	payload_region_deinit(&made);
}

// Another thread's step comes between diagnostic an entry and taking it, where records are downsampled.
static void test_exchange(void)
{
	struct block_place place;
	uint32_t ref, fresh, *entry;

	begin(400);
	made.header->removals_exchange = 1;
	allocate(HEAP + 32, 100, exact);
	place = recorded(HEAP + 32);
	entry = place.entry;
	ref = block_place_ref(place, HEAP + 32);
	fresh = record_take(slot);
	CHECK_EQUAL(*entry, 2u << 30 | ref);
	CHECK(!block_place_exchange(place, HEAP + 48, ref, 0) && !block_place_exchange(place, HEAP + 32, fresh, 0));
	CHECK(!block_place_exchange(place, HEAP + 32, ref, BIG_REF) && *entry == (2u << 30 | ref));
	CHECK(block_place_exchange(place, HEAP + 32, ref, fresh) && *entry == (2u << 30 | fresh));
	CHECK_EQUAL(block_place_take(place, HEAP + 32), fresh);
	CHECK_EQUAL(block_place_take(place, HEAP + 32), 0);
	*entry = 1u << 30 | ref; // another block's by now
	CHECK(block_place_ref(place, HEAP + 32) == 0 && block_place_take(place, HEAP + 32) == 0 &&
	      *entry == (1u << 30 | ref));
	made.header->removals_exchange = 0;
	CHECK(block_place_take(place, HEAP + 32) == 0 && *entry == (1u << 30 | ref));
	payload_region_deinit(&made);
}

// A ref that does not fit beside the position, and a region that has no page left.
static void test_no_room(void)
{
	const uint64_t offset = (uint64_t)BIG_REF << HS_REF_SHIFT;
	struct reallocation reallocation;

	begin(33 + 33 + 8);
	allocate(HEAP, 20, exact);
	allocate(HEAP + 64, 100, exact);
	if (mprotect(made.bytes + offset, HS_PAGE_SIZE, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	slot->free_records[slot->free_count++] = BIG_REF + 3;
	allocate(HEAP + 128, 100, exact);
	CHECK(kind_of(HEAP + 128) == PLACE_narrow && block_place_ref(recorded(HEAP + 128), HEAP + 128) == BIG_REF + 3);
	CHECK_EQUAL(*made_wide_entry(&made, HEAP + 128), 0);
	begin_reallocation(HEAP + 128, &reallocation);
	cancel(&reallocation);
	CHECK_EQUAL(kind_of(HEAP + 128), PLACE_narrow);
	give_back(HEAP + 128);
	CHECK(!is_recorded(recorded(HEAP + 128)) && slot->free_records[--slot->free_count] == BIG_REF + 3);

	// No leaf of the wide part can be had, but there is one of the narrow part; then neither.
	allocate(HEAP + 0x10000, 20, exact);
	made.header->next_page = made.header->max_pages;
	allocate(HEAP + 0x10040, 100, exact);
	CHECK_EQUAL(kind_of(HEAP + 0x10040), PLACE_narrow);
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full], 0);
	allocate(HEAP + 0x20000, 100, exact);
	CHECK_EQUAL(kind_of(HEAP + 0x20000), PLACE_none);
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full], 1);
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_region_full_bytes], 100);
	payload_region_deinit(&made);
}

int main(void)
{
	test_choice();
	test_neighbours();
	test_overlapping();
	test_replaced();
	test_reallocation();
	test_samples();
	test_exchange();
	test_no_room();
	return CHECK_RESULT();
}
