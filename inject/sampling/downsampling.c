// SPDX-License-Identifier: Apache-2.0
#include "inject/sampling/downsampling.h"

#include "inject/abi/sanitizer_marks.h"
#include "inject/arch/processor.h"
#include "inject/sampling/sampling_credit.h"
#include "inject/sampling/sampling_math.h"
#include "inject/table/block_place.h"
#include "inject/table/record.h"

enum {
	FIRST_FLOOR = 256,     // bytes, where all were recorded before
	ENTRIES_A_STEP = 1024, // of root and middle tables that one step looks at, at most
	STEPS = 4,             // at one time; one part each, some microseconds in all
	EASE_AFTER_US = 1000000,
};

static bool may_downsample(const struct region_header *header)
{
	return header->removals_exchange &&
	       (header->sampling_mode == SAMPLING_budget || header->sampling_mode == SAMPLING_interval) &&
	       !downsampling_is_under_way();
}

void downsampling_ask(void)
{
	struct region_header *header = region();
	uint32_t floor = __atomic_load_n(&header->interval_floor, __ATOMIC_RELAXED), least = FIRST_FLOOR, next;

	if (!may_downsample(header))
		return;
	if (header->sampling_mode == SAMPLING_interval)
		least = 2 * header->sampling_interval;
	if (floor >= HS_INTERVAL_MAX / 2 || least > HS_INTERVAL_MAX)
		return;
	next = floor ? 2 * floor : least;
	if (next < least)
		next = least;
	if (!__atomic_compare_exchange_n(&header->interval_floor, &floor, next, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	downsampling_note_interval(next);
	__atomic_fetch_add(&header->downsampling_rounds, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&header->sampling_generation, 1, __ATOMIC_RELEASE); // every thread draws anew
	if (header->always_exact)
		__atomic_store_n(&header->always_exact, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&header->downsampling_position, 1, __ATOMIC_RELEASE);
}

// One of those who do so at the same time succeeds.
static bool change_budget_floor(uint64_t before, uint64_t interval)
{
	uint64_t after = (((before >> 32) + 1) << 32) | interval;

	return __atomic_compare_exchange_n(&region()->budget_floor, &before, after, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

void downsampling_ask_for_budget(uint32_t interval)
{
	struct region_header *header = region();
	uint64_t before = __atomic_load_n(&header->budget_floor, __ATOMIC_RELAXED);

	if (!may_downsample(header) || !change_budget_floor(before, interval))
		return;
	downsampling_note_interval(interval);
	__atomic_store_n(&header->budget_floor_ticks, arch_ticks(), __ATOMIC_RELAXED);
	__atomic_store_n(&header->budget_records, 0, __ATOMIC_RELAXED);
	if (header->always_exact)
		__atomic_store_n(&header->always_exact, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&header->downsampling_position, 1 | HS_DOWNSAMPLING_BY_BUDGET, __ATOMIC_RELEASE);
}

void downsampling_ease_budget(uint64_t now)
{
	struct region_header *header = region();
	uint64_t before = __atomic_load_n(&header->budget_floor, __ATOMIC_RELAXED);
	uint64_t since = __atomic_load_n(&header->budget_floor_ticks, __ATOMIC_RELAXED);
	uint32_t half = (uint32_t)before / 2;

	if (!half || (int64_t)(now - since) < (int64_t)((uint64_t)header->ticks_per_us * EASE_AFTER_US) ||
	    downsampling_is_under_way())
		return;
	if (change_budget_floor(before, half < HS_BUDGET_INTERVAL_MIN ? 0 : half))
		__atomic_store_n(&header->budget_floor_ticks, now, __ATOMIC_RELAXED);
}

// The block may be released meanwhile, and the record written anew for another: what is read then is thrown away,
// because its place in the table has changed.
HS_RACES __attribute__((noinline)) static struct block_record read_record(uint32_t ref)
{
	return *(const volatile struct block_record *)region_ref(ref);
}

static bool same(const struct block_record *a, const struct block_record *b)
{
	return a->size_and_hook == b->size_and_hook && a->birth == b->birth && a->stack == b->stack &&
	       a->thread == b->thread && a->interval == b->interval && a->epoch == b->epoch;
}

// Between reading the record and taking its place, the block may have been released, and another one put there with the
// same record: then what was decided was decided for the block before.
static void drop(struct thread_slot *slot, struct block_place place, uint32_t ref, uint64_t address,
		 const struct block_record *seen)
{
	const struct block_record *record = region_ref(ref);

	if (!block_place_exchange(place, address, ref, 0))
		return;
	count_up(slot->shared.counters, same(record, seen) ? COUNTER_downsampled : COUNTER_lost_downsampling, 1);
	if (bloom_in_use() && record->in_bloom)
		bloom_remove(address);
	record_give(slot, ref);
}

// A record never changes while the table shows it, so a new one takes its place.
static void replace(struct thread_slot *slot, struct block_place place, uint32_t ref, uint64_t address, uint32_t fresh,
		    uint32_t floor, const struct block_record *seen)
{
	struct block_record *record = region_ref(fresh);

	*record = *seen;
	record->interval = floor; // the epoch stays that of the block: for a dump nothing comes or goes
	if (!block_place_exchange(place, address, ref, fresh)) {
		record_give(slot, fresh);
		return;
	}
	if (same(region_ref(ref), seen)) {
		record_give(slot, ref);
		return;
	}
	// The block's own record again, if the block is still there.
	record_give(slot, block_place_exchange(place, address, fresh, ref) ? fresh : ref);
}

// Returns whether there is a record now.
static bool downsample_entry(struct thread_slot *slot, struct block_place place, uint64_t address, uint32_t floor)
{
	uint32_t ref = block_place_ref(place, address), fresh;
	struct block_record seen;

	if (!ref)
		return false;
	seen = read_record(ref);
	if (seen.interval >= floor || seen.size >= floor)
		return true; // it is what it would be, or stands for itself at either interval
	if (seen.samples)
		return true; // drawn by another rule, before the settings changed: it stands for what it stood for
	fresh = record_take(slot);
	if (!fresh)
		return true; // before the draw: what stays as it is must not depend on that
	if (sampling_keeps(sampling_random(&slot->random), seen.size, seen.interval ? seen.interval : 1, floor)) {
		replace(slot, place, ref, address, fresh, floor, &seen);
		return true;
	}
	drop(slot, place, ref, address, &seen);
	record_give(slot, fresh);
	return false;
}

// Returns how many records are left. A dump that begins meanwhile finds at most one record in each thread that is about
// to change; the rest of the part stays as it is until the next time that the region runs short.
static uint32_t downsample_samples(struct thread_slot *slot, uint64_t part, uint32_t floor)
{
	uint64_t *entries = (uint64_t *)region_at(HS_OFFSET_SAMPLES) + part * DOWNSAMPLING_PART_ENTRIES;
	uint32_t left = 0;

	for (uint32_t i = 0; i < DOWNSAMPLING_PART_ENTRIES && !removal_is_logged(); i++) {
		uint64_t entry = __atomic_load_n(&entries[i], __ATOMIC_ACQUIRE);
		uint32_t bucket = (uint32_t)(part * DOWNSAMPLING_PART_ENTRIES + i) / HS_SAMPLE_BUCKET_ENTRIES;

		if (entry)
			left += downsample_entry(slot, place_at(PLACE_sample, &entries[i]),
						 sample_address(bucket, entry), floor);
	}
	return left;
}

// `unit`: root index, then middle index.
static uint32_t downsample_leaf(struct thread_slot *slot, uint32_t page, uint64_t unit, uint32_t floor)
{
	uint32_t *entries = region_page(page), root = (uint32_t)(unit >> HS_MIDDLE_BITS), left = 0;
	uint64_t leaf = leaf_address(root, (uint32_t)unit & (HS_MIDDLE_ENTRIES - 1));

	for (uint32_t i = 0; i < HS_LEAF_ENTRIES && !removal_is_logged(); i++) {
		uint32_t entry = __atomic_load_n(&entries[i], __ATOMIC_RELAXED);
		struct block_place place = place_at(leaf_is_wide(root) ? PLACE_wide : PLACE_narrow, &entries[i]);

		if (entry)
			left += downsample_entry(slot, place, leaf_block(leaf_is_wide(root), leaf, i, entry).address,
						 floor);
	}
	return left;
}

// The next leaf from `unit` (root index, then middle index) on, at most ENTRIES_A_STEP entries further; 0 = none there.
// *unit_ret: where the next step begins.
static uint32_t find_leaf(uint64_t unit, uint64_t *unit_ret)
{
	const uint32_t *root = region_at(HS_OFFSET_ROOT);
	uint32_t page = 0;

	for (unsigned i = 0; i < ENTRIES_A_STEP && unit >> HS_MIDDLE_BITS < HS_ROOT_ENTRIES && !page; i++) {
		uint32_t middle = __atomic_load_n(&root[unit >> HS_MIDDLE_BITS], __ATOMIC_ACQUIRE);

		if (!middle) {
			unit = ((unit >> HS_MIDDLE_BITS) + 1) << HS_MIDDLE_BITS;
			continue;
		}
		page = __atomic_load_n((uint32_t *)region_page(middle) + (unit & (HS_MIDDLE_ENTRIES - 1)),
				       __ATOMIC_ACQUIRE);
		unit++;
	}
	*unit_ret = unit;
	return page;
}

static void step(struct thread_slot *slot)
{
	struct region_header *header = region();
	uint64_t position = __atomic_load_n(&header->downsampling_position, __ATOMIC_ACQUIRE),
		 kind = position & HS_DOWNSAMPLING_BY_BUDGET;
	uint64_t part, unit = 0, next;
	uint32_t page = 0, floor = downsampling_floor(), left = 0;

	// A dump that copies meanwhile takes what it sees in two places for a removal.
	if (!position || removal_is_logged())
		return;
	if (kind && floor < downsampling_budget_floor())
		floor = downsampling_budget_floor();
	part = (position ^ kind) - 1;
	if (part < DOWNSAMPLING_SAMPLE_PARTS) {
		next = ((sample_table_is_used() ? part + 1 : DOWNSAMPLING_SAMPLE_PARTS) + 1) | kind;
	} else {
		page = find_leaf(part - DOWNSAMPLING_SAMPLE_PARTS, &unit);
		next = unit >> HS_MIDDLE_BITS < HS_ROOT_ENTRIES ? (DOWNSAMPLING_SAMPLE_PARTS + unit + 1) | kind : 0;
	}
	if (!__atomic_compare_exchange_n(&header->downsampling_position, &position, next, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	if (page)
		left = downsample_leaf(slot, page, unit - 1, floor);
	else if (part < DOWNSAMPLING_SAMPLE_PARTS && sample_table_is_used())
		left = downsample_samples(slot, part, floor);
	if (kind && left)
		__atomic_fetch_add(&header->budget_records, left, __ATOMIC_RELAXED);
}

void downsampling_work(struct thread_slot *slot)
{
	for (unsigned i = 0; i < STEPS && downsampling_is_under_way(); i++)
		step(slot);
	if (slot->shared.interval < downsampling_floor())
		credit_ask_anew(slot);
}
