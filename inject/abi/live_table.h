// SPDX-License-Identifier: Apache-2.0
// The live table: address -> record, indexed by the address itself. It has two parts, of three levels each, whose first
// levels lie behind each other in `root`. By the address's bits:
//
//   narrow   46            29 28            14 13           4 3     2 0
//            +---------------+----------------+--------------+-----+---+
//            | root, 18 bits | middle, 15 b.  | leaf, 10 b.  | odd | 0 |
//            +---------------+----------------+--------------+-----+---+
//   wide     46          31 30            16 15            6 5      4 3 0
//            +-------------+----------------+---------------+--------+---+
//            | root, 16 b. | middle, 15 b.  | leaf, 10 bits | posit. | 0 |
//            +-------------+----------------+---------------+--------+---+
//              u32 page ->   u32 page ->      u32 entry
//
// Page numbers count from the start of the region.
//
// *Narrow*: one entry for 16 bytes of heap, 0 or the ref of the record of the live block that begins there. jemalloc,
// tcmalloc and mimalloc put blocks of 8 bytes and less at 8-byte steps, so the root has a second half for odd multiples
// of 8: bit 3 of the address is the root index's highest bit, and the tables for odd addresses exist only where such
// blocks do.
//
// *Wide*: one entry for a piece of 64 bytes, for blocks of more than HS_NARROW_SIZE_MAX bytes at multiples of 16. No
// two of them that are live begin in the same piece, because they do not overlap: of two, the second one begins 49
// bytes or more behind the first one, so 64 or more. Hence an entry belongs to one owner, as a narrow one does. It is 0
// or
//
//   31    30 29                                            0
//   +-------+-----------------------------------------------+
//   | posit.| ref of a block_record, not 0                  |
//   +-------+-----------------------------------------------+
//
// and so names its block's address exactly. A large block has a narrow entry all the same where its ref has more bits
// (records beyond 32 GiB), and where its piece's entry names another address: blocks that a pool has cut out of a
// larger one do overlap it, and a block whose release was not seen still has its entry.
//
// Whoever looks for an address looks into the wide part first, and only then into the narrow one, where another record
// of the same address may be left, of a block whose release was not seen.
#ifndef HEAPSNAP_INJECT_ABI_LIVE_TABLE_H
#define HEAPSNAP_INJECT_ABI_LIVE_TABLE_H

#include "limits.h"

#include <stdint.h>

#define HS_LEAF_BITS      10u
#define HS_MIDDLE_BITS    15u
#define HS_LEAF_ENTRIES   (1u << HS_LEAF_BITS)
#define HS_MIDDLE_ENTRIES (1u << HS_MIDDLE_BITS)
#define HS_LEAF_PAGES     1u
#define HS_MIDDLE_PAGES   (HS_MIDDLE_ENTRIES * 4u / HS_PAGE_SIZE)

#define HS_NARROW_SHIFT     4u  // bytes of heap for one entry, as a power of two
#define HS_NARROW_ROOT_BITS 18u // and one more for odd multiples of 8
#define HS_WIDE_SHIFT       6u
#define HS_WIDE_ROOT_BITS   16u
#define HS_WIDE_ROOT        (2u << HS_NARROW_ROOT_BITS) // index of the wide part's first entry
#define HS_ROOT_ENTRIES     (HS_WIDE_ROOT + (1u << HS_WIDE_ROOT_BITS))

#define HS_ADDRESS_BITS (HS_NARROW_SHIFT + HS_LEAF_BITS + HS_MIDDLE_BITS + HS_NARROW_ROOT_BITS)
_Static_assert(HS_ADDRESS_BITS == 47, "user addresses of x86-64 have 47 bits");
_Static_assert(HS_WIDE_SHIFT + HS_LEAF_BITS + HS_MIDDLE_BITS + HS_WIDE_ROOT_BITS == HS_ADDRESS_BITS,
	       "both parts reach all addresses");

#define HS_NARROW_SIZE_MAX 48u // bytes asked for
_Static_assert(HS_NARROW_SIZE_MAX + 16 == 1u << HS_WIDE_SHIFT,
	       "two blocks of more bytes, at multiples of 16, begin in different pieces");
#define HS_WIDE_REF_BITS 30u

// Whether a block's entry is to be a wide one.
static inline int live_is_wide(uint64_t address, uint64_t size)
{
	return size > HS_NARROW_SIZE_MAX && (address & 15) == 0;
}

// pre: ref >> HS_WIDE_REF_BITS == 0
static inline uint32_t wide_entry(uint64_t address, uint32_t ref)
{
	return (uint32_t)(address >> 4) << HS_WIDE_REF_BITS | ref;
}

// The record that a wide entry shows for an address of its piece, a multiple of 16; 0 = none, or it names another one.
static inline uint32_t wide_entry_ref_at(uint32_t entry, uint64_t address)
{
	uint32_t ref = entry ^ wide_entry(address, 0);

	return ref >> HS_WIDE_REF_BITS ? 0 : ref;
}

static inline uint32_t wide_entry_ref(uint32_t entry) { return entry & ((1u << HS_WIDE_REF_BITS) - 1); }

// The address that a wide entry names. `piece`: the address of its piece
static inline uint64_t wide_entry_address(uint64_t piece, uint32_t entry)
{
	return piece | (uint64_t)(entry >> HS_WIDE_REF_BITS) << 4;
}

// The indices that lead to an address's entry, in both parts.
static inline uint32_t narrow_root_index(uint64_t address)
{
	return (uint32_t)(address >> (HS_NARROW_SHIFT + HS_LEAF_BITS + HS_MIDDLE_BITS)) |
	       (uint32_t)(address >> 3 & 1) << HS_NARROW_ROOT_BITS;
}

static inline uint32_t narrow_middle_index(uint64_t address)
{
	return (uint32_t)(address >> (HS_NARROW_SHIFT + HS_LEAF_BITS)) & (HS_MIDDLE_ENTRIES - 1);
}

static inline uint32_t narrow_leaf_index(uint64_t address)
{
	return (uint32_t)(address >> HS_NARROW_SHIFT) & (HS_LEAF_ENTRIES - 1);
}

static inline uint32_t wide_root_index(uint64_t address)
{
	return HS_WIDE_ROOT + (uint32_t)(address >> (HS_WIDE_SHIFT + HS_LEAF_BITS + HS_MIDDLE_BITS));
}

static inline uint32_t wide_middle_index(uint64_t address)
{
	return (uint32_t)(address >> (HS_WIDE_SHIFT + HS_LEAF_BITS)) & (HS_MIDDLE_ENTRIES - 1);
}

static inline uint32_t wide_leaf_index(uint64_t address)
{
	return (uint32_t)(address >> HS_WIDE_SHIFT) & (HS_LEAF_ENTRIES - 1);
}

// And back. A leaf that root and middle lead to by these indices: of which part it is, and the address that its first
// entry stands for.
static inline int leaf_is_wide(uint32_t root_index) { return root_index >= HS_WIDE_ROOT; }

static inline uint64_t leaf_address(uint32_t root_index, uint32_t middle_index)
{
	uint64_t odd = root_index >> HS_NARROW_ROOT_BITS & 1, high = root_index & ((1u << HS_NARROW_ROOT_BITS) - 1);

	if (leaf_is_wide(root_index))
		return ((uint64_t)(root_index - HS_WIDE_ROOT) << HS_MIDDLE_BITS | middle_index)
		       << (HS_WIDE_SHIFT + HS_LEAF_BITS);
	return (high << HS_MIDDLE_BITS | middle_index) << (HS_NARROW_SHIFT + HS_LEAF_BITS) | odd << 3;
}

// The address that the entry `index` of a leaf names, and the record. pre: entry != 0
struct live_block {
	uint64_t address;
	uint32_t ref;
};
static inline struct live_block leaf_block(int is_wide, uint64_t leaf, uint32_t index, uint32_t entry)
{
	if (is_wide)
		return (struct live_block){ wide_entry_address(leaf | (uint64_t)index << HS_WIDE_SHIFT, entry),
					    wide_entry_ref(entry) };
	return (struct live_block){ leaf | (uint64_t)index << HS_NARROW_SHIFT, entry };
}

#endif
