// SPDX-License-Identifier: Apache-2.0
// The live table: address -> record, indexed by the address itself (abi/region.h has the drawing).
//
// Context: in a hook, on any thread, at any time. A slot belongs to whoever owns the block at its address, and the
// allocator never gives one block to two owners, so a slot is read and written with plain (atomic, unlocked) accesses.
// Tables are only ever added; two threads that add the same one agree by compare-and-swap.
#ifndef HEAPSNAP_INJECT_LIVE_TABLE_H
#define HEAPSNAP_INJECT_LIVE_TABLE_H

#include "payload.h"

static inline bool live_table_covers(uint64_t address)
{
	return address >> HS_ADDRESS_BITS == 0 && (address & 7) == 0;
}

static inline uint32_t live_table_root_index(uint64_t address)
{
	return (uint32_t)(address >> (HS_SLOT_SHIFT + HS_LEAF_BITS + HS_MIDDLE_BITS)) |
	       (uint32_t)(address >> 3 & 1) << HS_ROOT_BITS;
}

static inline uint32_t live_table_middle_index(uint64_t address)
{
	return (uint32_t)(address >> (HS_SLOT_SHIFT + HS_LEAF_BITS)) & (HS_MIDDLE_ENTRIES - 1);
}

static inline uint32_t live_table_leaf_index(uint64_t address)
{
	return (uint32_t)(address >> HS_SLOT_SHIFT) & (HS_LEAF_SLOTS - 1);
}

// The slot for an address, NULL when its tables do not exist. pre: live_table_covers(address)
static inline uint32_t *live_table_find(uint64_t address)
{
	const uint32_t *root = region_at(HS_OFFSET_ROOT);
	const uint32_t *middle;
	uint32_t page;

	page = __atomic_load_n(&root[live_table_root_index(address)], __ATOMIC_ACQUIRE);
	if (HS_UNLIKELY(!page))
		return NULL;
	middle = region_page(page);
	page = __atomic_load_n(&middle[live_table_middle_index(address)], __ATOMIC_ACQUIRE);
	if (HS_UNLIKELY(!page))
		return NULL;
	return (uint32_t *)region_page(page) + live_table_leaf_index(address);
}

// As live_table_find for an address that nearly all blocks have, a multiple of 16. False for any other, too.
static inline bool live_table_find_usual(uint64_t address, uint32_t **ret)
{
	uint64_t unit = address >> HS_SLOT_SHIFT | address << (64 - HS_SLOT_SHIFT); // what is no multiple gets large
	const uint32_t *root = region_at(HS_OFFSET_ROOT);
	uint32_t page;

	if (HS_UNLIKELY(unit >> (HS_ADDRESS_BITS - HS_SLOT_SHIFT)))
		return false;
	page = __atomic_load_n(&root[unit >> (HS_LEAF_BITS + HS_MIDDLE_BITS)], __ATOMIC_ACQUIRE);
	if (HS_UNLIKELY(!page))
		return false;
	page = __atomic_load_n((const uint32_t *)region_page(page) + (unit >> HS_LEAF_BITS & (HS_MIDDLE_ENTRIES - 1)), __ATOMIC_ACQUIRE);
	if (HS_UNLIKELY(!page))
		return false;
	*ret = (uint32_t *)region_page(page) + (unit & (HS_LEAF_SLOTS - 1));
	return true;
}

// Empties a slot; returns the ref that was in it, 0 when thinning has come first (thinning.h). pre: the caller owns the block.
static inline uint32_t live_table_take(uint32_t *place)
{
	uint32_t ref;

	if (HS_UNLIKELY(region()->removals_exchange))
		return __atomic_exchange_n(place, 0, __ATOMIC_ACQ_REL);
	ref = *place;
	__atomic_store_n(place, 0, __ATOMIC_RELEASE);
	return ref;
}

// As live_table_find, making the tables. NULL = the region is full.
uint32_t *live_table_make(uint64_t address, uint32_t *spare_page) HS_HIDDEN;

#endif
