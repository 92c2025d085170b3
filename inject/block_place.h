// SPDX-License-Identifier: Apache-2.0
// Where a block's record is shown: in a slot of the live table, or, a sample mostly, in an entry of the sample table. Context: as there.
#ifndef HEAPSNAP_INJECT_BLOCK_PLACE_H
#define HEAPSNAP_INJECT_BLOCK_PLACE_H

#include "filter.h"
#include "live_table.h"
#include "sample_table.h"

// One of them, or neither: the block is not recorded.
struct block_place {
	uint32_t *slot;
	uint64_t *entry;
};

// pre: live_table_covers(address)
static inline struct block_place block_place_find(uint64_t address)
{
	uint32_t *slot = live_table_find(address);

	if (HS_LIKELY(slot && __atomic_load_n(slot, __ATOMIC_RELAXED)))
		return (struct block_place){ slot, NULL };
	return (struct block_place){ NULL, HS_UNLIKELY(sample_table_is_used()) ? sample_table_find(address) : NULL };
}

// Of any address.
static inline struct block_place recorded(uint64_t address)
{
	if (HS_UNLIKELY(!live_table_covers(address)) || (filter_in_use() && filter_excludes(address)))
		return (struct block_place){ NULL, NULL };
	return block_place_find(address);
}

static inline bool is_recorded(struct block_place place) { return place.slot || place.entry; }

// The record that is there now; 0 when thinning has come first. pre: is_recorded(place)
static inline uint32_t block_place_ref(struct block_place place, uint64_t address)
{
	return HS_LIKELY(place.slot) ? __atomic_load_n(place.slot, __ATOMIC_RELAXED) : sample_table_ref(place.entry, address);
}

// Takes the record out; returns its ref, 0 when thinning has come first. pre: is_recorded(place), and the caller owns the block
static inline uint32_t block_place_take(struct block_place place, uint64_t address)
{
	return HS_LIKELY(place.slot) ? live_table_take(place.slot) : sample_table_take(place.entry, address);
}

// Puts `ref` (0 = nothing) in the place of `expected`, if that is still there. pre: is_recorded(place), expected != 0
static inline bool block_place_exchange(struct block_place place, uint64_t address, uint32_t expected, uint32_t ref)
{
	return place.slot ? __atomic_compare_exchange_n(place.slot, &expected, ref, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) :
			    sample_table_exchange(place.entry, address, expected, ref);
}

#endif
