// SPDX-License-Identifier: Apache-2.0
// When the region gets full, no records are lost: the interval doubles, and the records that are there are downsampled
// to what they would be had it been so from the beginning. Each estimate stays what it is on average, and gets less
// certain. With a budget the same is done when a thread's releases search too many records (budget.h).
//
// Context: in a hook, outermost, with the thread's own lists at hand. One step looks at a part of the live table that
// is bounded, and all threads that record take their share of the steps. There is no downsampling while every
// allocation is asked for (SAMPLING_exact): there the region runs full.
//
// Threads that release blocks meanwhile are not waited for. A step takes a record's place in the table by
// compare-and-swap, and where there is downsampling (`removals_exchange`) a release takes it by exchange, so each
// record is given back once.
//
// The sample table comes first, in DOWNSAMPLING_SAMPLE_PARTS parts, then the leaves of the live table, in the order of
// its root.
#ifndef HEAPSNAP_INJECT_SAMPLING_DOWNSAMPLING_H
#define HEAPSNAP_INJECT_SAMPLING_DOWNSAMPLING_H

#include "inject/payload.h"

enum {
	DOWNSAMPLING_PART_ENTRIES = HS_LEAF_ENTRIES, // entries of one part
	DOWNSAMPLING_SAMPLE_PARTS = HS_SAMPLE_ENTRIES / DOWNSAMPLING_PART_ENTRIES,
};

// The least interval that is in force for everybody; 1 = none.
static inline uint32_t downsampling_floor(void)
{
	uint32_t floor = __atomic_load_n(&region()->interval_floor, __ATOMIC_RELAXED);

	return floor > 1 ? floor : 1;
}

// The interval that records were downsampled to for the budget's sake; 0 = none.
static inline uint32_t downsampling_budget_floor(void)
{
	return (uint32_t)__atomic_load_n(&region()->budget_floor, __ATOMIC_RELAXED);
}

// Something is sampled at this interval, or downsampled to it.
static inline void downsampling_note_interval(uint32_t interval)
{
	uint32_t *place = &region()->interval_most, most = __atomic_load_n(place, __ATOMIC_RELAXED);

	while (HS_UNLIKELY(interval > most) &&
	       !__atomic_compare_exchange_n(place, &most, interval, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
}

static inline bool downsampling_is_under_way(void)
{
	return __atomic_load_n(&region()->downsampling_position, __ATOMIC_RELAXED) != 0;
}

// Doubles the interval and begins to downsample, if nobody has begun.
void downsampling_ask(void) HS_HIDDEN;
// Begins to downsample to an interval because what there is costs more than the budget, if nothing is under way. What
// is allocated later is sampled at that interval or a larger one, or recorded like all others where that is affordable.
void downsampling_ask_for_budget(uint32_t interval) HS_HIDDEN;
// That interval is halved where so few records are left that more are affordable, not more often than every two
// seconds.
void downsampling_ease_budget(uint64_t now) HS_HIDDEN;

// Where a table may grow, between these two: downsampling_look(before) does something if a page was taken since
// `before`. It is time when a quarter is left, then when an eighth is, and so on: pages are never given back, only
// records are. (A table that is full says so by failing; nothing is begun then.)
static inline uint64_t downsampling_next_page(void) { return __atomic_load_n(&region()->next_page, __ATOMIC_RELAXED); }

static inline void downsampling_look(uint64_t before)
{
	const struct region_header *header = region();
	uint32_t rounds = __atomic_load_n(&header->downsampling_rounds, __ATOMIC_RELAXED);

	if (before < header->max_pages && downsampling_next_page() != before &&
	    HS_UNLIKELY(header->max_pages - before <= (header->max_pages - header->first_page) >> (2 + rounds % 32)))
		downsampling_ask();
}

// The calling thread's share of the work. pre: downsampling_is_under_way()
void downsampling_work(struct thread_slot *slot) HS_HIDDEN;

#endif
