// SPDX-License-Identifier: Apache-2.0
// The live table as the payload writes it, read back by the payload and by the tool.
#include "check.h"
#include "payload_region.h"

#include "inject/table/live_table.h"

#include <sched.h>

static const uint64_t addresses[] = {
	0,
	8,
	0x10,
	0x18,
	0x3ff0,
	0x3ff8,
	0x4000,
	0x4008,
	0x1ffffff0,
	0x1ffffff8,
	0x20000000,
	0x555555556eb8,
	0x555555556ec0,
	0x7ffff7fc1230,
	0x7ffff7fc1238,
	0x7ffffffffff0,
	0x7ffffffffff8,
};
enum { ADDRESSES = sizeof(addresses) / sizeof(addresses[0]) };

static struct made_region made;

static void check_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	uint64_t *count = context;

	(void)ref;
	(*count)++;
	CHECK_EQUAL(record->size, address); // see below
}

static void test_addresses(void)
{
	struct table_view view;
	uint32_t spare = 0, refs[ADDRESSES];
	uint64_t count = 0;

	payload_region_init(&made, 600);
	for (size_t i = 0; i < ADDRESSES; i++) {
		uint32_t *place;

		CHECK(live_table_covers(addresses[i]));
		place = live_table_make_narrow(addresses[i], &spare);
		CHECK(place && *place == 0);
		CHECK(live_table_make_narrow(addresses[i], &spare) == place);
		CHECK(live_table_find_narrow(addresses[i]) == place);
		CHECK(place == made_narrow_entry(&made, addresses[i]));
		*place = refs[i] = made_record(&made, addresses[i], 0);
	}
	view = made_view(&made);
	table_visit_blocks(&view, check_block, &count);
	CHECK_EQUAL(count, ADDRESSES);
	for (size_t i = 0; i < ADDRESSES; i++) {
		CHECK_EQUAL(table_find_block(&view, addresses[i]), refs[i]);
		*live_table_find_narrow(addresses[i]) = 0;
		CHECK_EQUAL(table_find_block(&view, addresses[i]), 0);
	}
	CHECK_EQUAL(view.damaged, 0);
	CHECK(!live_table_find_narrow(0x600000000000)); // no table there
	CHECK(!live_table_covers(0x800000000000) && !live_table_covers(UINT64_MAX - 7) && !live_table_covers(0x1004));
	CHECK_EQUAL(spare, 0); // nobody else was there
	payload_region_deinit(&made);
}

// The wide part: one entry for 64 bytes, whichever of its four positions the address has.
static void test_wide_addresses(void)
{
	uint32_t spare = 0, *place;

	payload_region_init(&made, 900);
	for (size_t i = 0; i < ADDRESSES; i++) {
		CHECK(!live_table_find_wide(addresses[i]) || (addresses[i] & 15) == 0);
		if (addresses[i] & 15)
			continue;
		place = live_table_make_wide(addresses[i], &spare);
		CHECK(place && place == made_wide_entry(&made, addresses[i]));
		CHECK(live_table_make_wide(addresses[i] & ~UINT64_C(63), &spare) == place &&
		      live_table_find_wide(addresses[i]) == place);
		CHECK(live_table_find_wide(addresses[i] ^ 48) == place &&
		      live_table_find_wide(addresses[i] ^ 64) != place);
		for (uint64_t other = addresses[i] & ~UINT64_C(63), n = 0; n < 4; n++, other += 16) {
			*place = wide_entry(other, 77);
			CHECK_EQUAL(live_table_wide_ref(place, addresses[i]), other == addresses[i] ? 77 : 0);
			CHECK_EQUAL(wide_entry_address(addresses[i] & ~UINT64_C(63), *place), other);
			CHECK_EQUAL(wide_entry_ref(*place), 77);
			CHECK_EQUAL(live_table_take_wide(place, addresses[i]), other == addresses[i] ? 77 : 0);
			CHECK_EQUAL(*place, other == addresses[i] ? 0 : wide_entry(other, 77));
			*place = 0;
			CHECK_EQUAL(live_table_wide_ref(place, other), 0);
		}
	}
	// Root and middle index name a leaf's address, in both parts.
	for (size_t i = 0; i < ADDRESSES; i++) {
		uint64_t narrow = leaf_address(narrow_root_index(addresses[i]), narrow_middle_index(addresses[i]));
		uint64_t wide = leaf_address(wide_root_index(addresses[i]), wide_middle_index(addresses[i]));

		CHECK(!leaf_is_wide(narrow_root_index(addresses[i])) && leaf_is_wide(wide_root_index(addresses[i])));
		CHECK(wide_root_index(addresses[i]) < HS_ROOT_ENTRIES);
		CHECK_EQUAL(leaf_block(false, narrow, narrow_leaf_index(addresses[i]), 77).address, addresses[i]);
		CHECK_EQUAL(leaf_block(true, wide, wide_leaf_index(addresses[i]), wide_entry(addresses[i], 77)).address,
			    addresses[i] & ~UINT64_C(15));
	}
	CHECK_EQUAL(spare, 0);
	payload_region_deinit(&made);
}

static void test_full(void)
{
	uint32_t spare = 0;

	payload_region_init(&made, 1 + 32 + 1 + 31); // one page for the first node
	CHECK(live_table_make_narrow(0x10, &spare) != NULL);
	CHECK(!live_table_make_narrow(0x20000000, &spare)); // 31 pages are no middle table
	CHECK(live_table_make_narrow(0x4000, &spare) != NULL);
	for (uint64_t i = 2; i < 32; i++)
		CHECK(live_table_make_narrow(i << 14, &spare) != NULL);
	CHECK(!live_table_make_narrow(UINT64_C(32) << 14, &spare));
	CHECK(live_table_make_narrow(0x10, &spare) == live_table_find_narrow(0x10));
	CHECK_EQUAL(made.header->next_page, made.header->max_pages); // not one beyond, and no runaway counter
	payload_region_deinit(&made);
}

enum { THREADS = 4, BLOCKS = 200000 };

// Threads interleaved: neighbours in a leaf belong to different ones, and all want the same tables at the same time.
static uint64_t address_of(unsigned number, uint64_t i)
{
	uint64_t n = i * THREADS + number;

	return ((n & 7) << 40) + (n >> 3) * 8;
}

static unsigned wrong[THREADS];

static void insert_and_remove(unsigned number)
{
	uint32_t spare = 0;

	for (uint64_t i = 0; i < BLOCKS; i++) {
		uint64_t address = address_of(number, i);
		uint32_t *place = live_table_find_narrow(address);

		if (!place)
			place = live_table_make_narrow(address, &spare);
		if (!place || *place) {
			wrong[number]++;
			continue;
		}
		__atomic_store_n(place, (uint32_t)(i * THREADS + number + 1), __ATOMIC_RELEASE);
		if (i % 3 == 0)
			__atomic_store_n(place, 0, __ATOMIC_RELEASE);
	}
}

static void test_threads(void)
{
	uint64_t missing = 0, left = 0;

	payload_region_init(&made, 6000);
	run_together(THREADS, insert_and_remove);
	for (unsigned number = 0; number < THREADS; number++) {
		CHECK_EQUAL(wrong[number], 0);
		for (uint64_t i = 0; i < BLOCKS; i++) {
			const uint32_t *place = live_table_find_narrow(address_of(number, i));

			if (!place)
				missing++;
			else if (*place != (i % 3 ? (uint32_t)(i * THREADS + number + 1) : 0))
				left++;
		}
	}
	CHECK_EQUAL(missing, 0);
	CHECK_EQUAL(left, 0);
	payload_region_deinit(&made);
}

// Two threads that want the same new table at the same instant, again and again.
enum { RACERS = 2, LEAF_RACES = 8000, MIDDLE_RACES = 100 };

static uint32_t *raced[RACERS][LEAF_RACES];
static unsigned arrived;
static uint32_t races, race_shift; // how many, and the bytes that one table covers, as a power of two

static uint64_t race_address(unsigned number, uint32_t race) { return ((uint64_t)race << race_shift) + 16 * number; }

static void race(unsigned number)
{
	uint32_t spare = 0;

	for (uint32_t i = 0; i < races; i++) {
		__atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
		for (unsigned spins = 1; __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < RACERS * (i + 1); spins++)
			if (spins % 65536 == 0) // the other one does not run
				sched_yield();
		raced[number][i] = live_table_make_narrow(race_address(number, i), &spare);
	}
}

static void run_races(uint32_t count, uint32_t shift)
{
	uint64_t apart = 0;

	races = count;
	race_shift = shift;
	arrived = 0;
	run_together(RACERS, race);
	for (uint32_t i = 0; i < races; i++)
		for (unsigned number = 0; number < RACERS; number++)
			apart += !raced[number][i] ||
				 raced[number][i] != live_table_find_narrow(race_address(number, i));
	CHECK_EQUAL(apart, 0);
}

static void test_races(void)
{
	uint32_t spare = 0;

	payload_region_init(&made, 1 + 32 + 1 + RACERS * LEAF_RACES);
	CHECK(live_table_make_narrow(1 << 28, &spare) != NULL); // the middle table is there
	run_races(LEAF_RACES, HS_NARROW_SHIFT + HS_LEAF_BITS);
	// A leaf that was made and not needed is used the next time.
	CHECK(made.header->next_page - made.header->first_page <= 1 + 32 + 1 + LEAF_RACES + RACERS);
	payload_region_deinit(&made);

	payload_region_init(&made, 1 + MIDDLE_RACES * (RACERS * 32 + 1) + RACERS);
	run_races(MIDDLE_RACES, HS_NARROW_SHIFT + HS_LEAF_BITS + HS_MIDDLE_BITS);
	payload_region_deinit(&made);
}

int main(void)
{
	test_addresses();
	test_wide_addresses();
	test_full();
	test_threads();
	test_races();
	return CHECK_RESULT();
}
