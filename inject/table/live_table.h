// SPDX-License-Identifier: Apache-2.0
// The live table: address -> record, indexed by the address itself (abi/live_table.h has the drawing of both parts).
//
// Context: in a hook, on any thread, at any time. An entry belongs to whoever owns the block that it is for, and the
// allocator never gives one block to two owners, so an entry is read and written with plain (atomic, unlocked)
// accesses. Whoever owns another block of a piece reads its wide entry, and finds that it does not name that block.
// Tables are only ever added; two threads that add the same one agree by compare-and-swap.
#ifndef HEAPSNAP_INJECT_TABLE_LIVE_TABLE_H
#define HEAPSNAP_INJECT_TABLE_LIVE_TABLE_H

#include "inject/payload.h"

static inline bool live_table_covers(uint64_t address) { return address >> HS_ADDRESS_BITS == 0 && (address & 7) == 0; }

// The entry that a number leads to, in the part whose root entries begin at `first`: its bits are those of the leaf's
// index, of the middle table's, of the root's. False when there is no such table.
static inline bool live_table_entry(uint32_t first, uint64_t number, uint32_t **ret)
{
	uint64_t base = region_base(), table;

	table = __atomic_load_n((const uint32_t *)(base + HS_OFFSET_ROOT + first * 4) +
					(number >> (HS_LEAF_BITS + HS_MIDDLE_BITS)),
				__ATOMIC_ACQUIRE);
	if (HS_UNLIKELY(!table))
		return false;
	table = table * HS_PAGE_SIZE + base;
	table = __atomic_load_n((const uint32_t *)table + (number >> HS_LEAF_BITS & (HS_MIDDLE_ENTRIES - 1)),
				__ATOMIC_ACQUIRE);
	if (HS_UNLIKELY(!table))
		return false;
	*ret = (uint32_t *)(table * HS_PAGE_SIZE + base) + (number & (HS_LEAF_ENTRIES - 1));
	return true;
}

// The narrow entry for an address, NULL when its tables do not exist. pre: live_table_covers(address)
static inline uint32_t *live_table_find_narrow(uint64_t address)
{
	uint32_t first = (uint32_t)(address >> 3 & 1) << HS_NARROW_ROOT_BITS, *entry;

	return live_table_entry(first, address >> HS_NARROW_SHIFT, &entry) ? entry : NULL;
}

// The wide entry of an address's piece, NULL when its tables do not exist, or the address can have none. pre:
// live_table_covers(address)
static inline uint32_t *live_table_find_wide(uint64_t address)
{
	uint32_t *entry;

	if (HS_UNLIKELY(address & 15))
		return NULL;
	return live_table_entry(HS_WIDE_ROOT, address >> HS_WIDE_SHIFT, &entry) ? entry : NULL;
}

// The record that a wide entry shows for an address; 0 = none, or it names another one, or there is no entry.
static inline uint32_t live_table_wide_ref(const uint32_t *wide, uint64_t address)
{
	return wide ? wide_entry_ref_at(__atomic_load_n(wide, __ATOMIC_RELAXED), address) : 0;
}

// Puts `ref` (0 = nothing) in the place of `expected`, if the entry still is that. pre: expected != 0
static inline bool live_table_exchange_wide(uint32_t *wide, uint64_t address, uint32_t expected, uint32_t ref)
{
	uint32_t seen = wide_entry(address, expected);

	if (HS_UNLIKELY(ref >> HS_WIDE_REF_BITS))
		return false;
	return __atomic_compare_exchange_n(wide, &seen, ref ? wide_entry(address, ref) : 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

// Empties a narrow entry; returns the ref that was in it, 0 when downsampling has come first (downsampling.h). pre: the
// caller owns the block.
static inline uint32_t live_table_take_narrow(uint32_t *place)
{
	uint32_t ref;

	if (HS_UNLIKELY(region()->removals_exchange))
		return __atomic_exchange_n(place, 0, __ATOMIC_ACQ_REL);
	ref = *place;
	__atomic_store_n(place, 0, __ATOMIC_RELEASE);
	return ref;
}

// The same for a wide entry, which is left alone when it does not name the address any more.
static inline uint32_t live_table_take_wide(uint32_t *wide, uint64_t address)
{
	uint32_t ref = live_table_wide_ref(wide, address);

	if (HS_UNLIKELY(region()->removals_exchange))
		while (ref && !live_table_exchange_wide(wide, address, ref, 0))
			ref = live_table_wide_ref(wide, address);
	else if (ref)
		__atomic_store_n(wide, 0, __ATOMIC_RELEASE);
	return ref;
}

// What nearly all blocks have: an address that is a multiple of 16. False for any other, too. *ret: the address in
// units of 16
static inline bool live_table_is_fast(uint64_t address, uint64_t *ret)
{
	*ret = address >> 4 | address << 60; // what is no multiple gets large
	return HS_LIKELY(*ret >> (HS_ADDRESS_BITS - 4) == 0);
}

static inline bool live_table_fast_wide(uint64_t unit, uint32_t **ret)
{
	return live_table_entry(HS_WIDE_ROOT, unit >> (HS_WIDE_SHIFT - HS_NARROW_SHIFT), ret);
}

static inline bool live_table_fast_narrow(uint64_t unit, uint32_t **ret) { return live_table_entry(0, unit, ret); }

// Whether what a wide entry holds, less an address's position, is a ref: then it shows that address.
static inline bool live_table_is_wide_ref(uint32_t ref) { return ref - 1 < (1u << HS_WIDE_REF_BITS) - 1; }

// What shows a block at a multiple of 16: its entry, of either part. False when there is none.
static inline bool live_table_find_fast(uint64_t address, uint32_t **place_ret, uint32_t *ref_ret)
{
	uint64_t unit;

	if (HS_UNLIKELY(!live_table_is_fast(address, &unit)))
		return false;
	if (HS_LIKELY(live_table_fast_wide(unit, place_ret))) {
		*ref_ret = __atomic_load_n(*place_ret, __ATOMIC_RELAXED) ^ (uint32_t)unit << HS_WIDE_REF_BITS;
		if (HS_LIKELY(live_table_is_wide_ref(*ref_ret)))
			return true;
	}
	if (HS_UNLIKELY(!live_table_fast_narrow(unit, place_ret)))
		return false;
	*ref_ret = __atomic_load_n(*place_ret, __ATOMIC_RELAXED);
	return *ref_ret != 0;
}

// Where a new block's record is to be shown, and what is to be written there. False for blocks at other addresses,
// where tables are to be made, and where something is shown already.
static inline bool live_table_find_room(uint64_t address, uint64_t size, uint32_t ref, uint32_t **place_ret,
					uint32_t *entry_ret)
{
	uint32_t *wide;
	uint64_t unit;

	if (HS_UNLIKELY(!live_table_is_fast(address, &unit)))
		return false;
	if (size > HS_NARROW_SIZE_MAX) {
		*entry_ret = (uint32_t)unit << HS_WIDE_REF_BITS | ref;
		return HS_LIKELY(ref >> HS_WIDE_REF_BITS == 0 && live_table_fast_wide(unit, place_ret) &&
				 __atomic_load_n(*place_ret, __ATOMIC_RELAXED) == 0);
	}
	*entry_ret = ref;
	if (live_table_fast_wide(unit, &wide) &&
	    HS_UNLIKELY(live_table_is_wide_ref(__atomic_load_n(wide, __ATOMIC_RELAXED) ^ (uint32_t)unit
												 << HS_WIDE_REF_BITS)))
		return false;
	return HS_LIKELY(live_table_fast_narrow(unit, place_ret) && __atomic_load_n(*place_ret, __ATOMIC_RELAXED) == 0);
}

// As live_table_find_narrow and _wide, making the tables. NULL = the region is full. pre, for a wide one: the address
// is a multiple of 16
uint32_t *live_table_make_narrow(uint64_t address, uint32_t *spare_page) HS_HIDDEN;
uint32_t *live_table_make_wide(uint64_t address, uint32_t *spare_page) HS_HIDDEN;

#endif
