// SPDX-License-Identifier: Apache-2.0
// Where a block's record is: in an entry of the live table, of either part, or, for most samples, in one of the sample
// table. Context: as there.
#ifndef HEAPSNAP_INJECT_TABLE_BLOCK_PLACE_H
#define HEAPSNAP_INJECT_TABLE_BLOCK_PLACE_H

#include "inject/table/bloom_filter.h"
#include "inject/table/live_table.h"
#include "inject/table/sample_table.h"

enum place_kind {
	PLACE_none = 0, // the block is not recorded
	PLACE_narrow,
	PLACE_wide,
	PLACE_sample,
};

struct block_place {
	enum place_kind kind;
	void *entry; // u32 of the live table, u64 of the sample table
};

static inline struct block_place place_at(enum place_kind kind, void *entry)
{
	return (struct block_place){ entry ? kind : PLACE_none, entry };
}

// pre: live_table_covers(address)
static inline struct block_place block_place_find(uint64_t address)
{
	uint32_t *entry = live_table_find_wide(address);

	if (live_table_wide_ref(entry, address))
		return place_at(PLACE_wide, entry);
	entry = live_table_find_narrow(address);
	if (HS_LIKELY(entry && __atomic_load_n(entry, __ATOMIC_RELAXED)))
		return place_at(PLACE_narrow, entry);
	return place_at(PLACE_sample, HS_UNLIKELY(sample_table_is_used()) ? sample_table_find(address) : NULL);
}

// Where the record of any address is.
static inline struct block_place recorded(uint64_t address)
{
	if (HS_UNLIKELY(!live_table_covers(address)) || (bloom_in_use() && bloom_excludes(address)))
		return place_at(PLACE_none, NULL);
	return block_place_find(address);
}

static inline bool is_recorded(struct block_place place) { return place.kind != PLACE_none; }

// The record that is there now; 0 when downsampling has come first. pre: is_recorded(place)
static inline uint32_t block_place_ref(struct block_place place, uint64_t address)
{
	if (place.kind == PLACE_wide)
		return live_table_wide_ref(place.entry, address);
	return HS_LIKELY(place.kind == PLACE_narrow) ? __atomic_load_n((uint32_t *)place.entry, __ATOMIC_RELAXED)
						     : sample_table_ref(place.entry, address);
}

// Takes the record out; returns its ref, 0 when downsampling has come first. pre: is_recorded(place), and the caller
// owns the block
static inline uint32_t block_place_take(struct block_place place, uint64_t address)
{
	if (place.kind == PLACE_wide)
		return live_table_take_wide(place.entry, address);
	return HS_LIKELY(place.kind == PLACE_narrow) ? live_table_take_narrow(place.entry)
						     : sample_table_take(place.entry, address);
}

// Puts `ref` (0 = nothing) in the place of `expected`, if that is still there. pre: is_recorded(place), expected != 0
static inline bool block_place_exchange(struct block_place place, uint64_t address, uint32_t expected, uint32_t ref)
{
	if (place.kind == PLACE_wide)
		return live_table_exchange_wide(place.entry, address, expected, ref);
	if (place.kind == PLACE_sample)
		return sample_table_exchange(place.entry, address, expected, ref);
	return __atomic_compare_exchange_n((uint32_t *)place.entry, &expected, ref, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

#endif
