// SPDX-License-Identifier: Apache-2.0
// The sample table: address -> record, for blocks that were recorded as samples. A sample's neighbours have no record,
// so an entry of the live table would have a leaf of its own, 4 KiB; here it takes 8 bytes.
//
// HS_SAMPLE_BUCKETS buckets of HS_SAMPLE_BUCKET_ENTRIES entries, each bucket two cache lines. An entry is 0, or
//
//   63                               31 30                              0
//   +----------------------------------+---------------------------------+
//   | tag, 33 bits                     | ref of a block_record, not 0    |
//   +----------------------------------+---------------------------------+
//
// Bits 3 to 46 of the block's address are multiplied by a number that has an inverse. Of the lower 44 bits of the
// product, the upper 11 are the number of the bucket and the lower 33 the tag: so an entry names its address exactly.
// It may be any of its bucket. A sample whose bucket is full has its entry in the live table, as has one whose ref is
// too large (records beyond 64 GiB). An address is never in both, nor twice in its bucket.
#ifndef HEAPSNAP_INJECT_ABI_SAMPLE_TABLE_H
#define HEAPSNAP_INJECT_ABI_SAMPLE_TABLE_H

#include <stdint.h>

#define HS_SAMPLE_BUCKET_BITS    11u
#define HS_SAMPLE_BUCKETS        (1u << HS_SAMPLE_BUCKET_BITS)
#define HS_SAMPLE_BUCKET_ENTRIES 16u
#define HS_SAMPLE_ENTRIES        (HS_SAMPLE_BUCKETS * HS_SAMPLE_BUCKET_ENTRIES)
#define HS_SAMPLE_TABLE_SIZE     (HS_SAMPLE_ENTRIES * 8u) // bytes

#define HS_SAMPLE_KEY_BITS       44u // of an address, without its lowest three
#define HS_SAMPLE_KEY_MASK       ((UINT64_C(1) << HS_SAMPLE_KEY_BITS) - 1)
#define HS_SAMPLE_FACTOR         UINT64_C(0x9e3779b97f5) // 2^44 divided by the golden ratio: neighbours fall far apart
#define HS_SAMPLE_FACTOR_INVERSE UINT64_C(0x18a4e8f1c5d)
_Static_assert((HS_SAMPLE_FACTOR * HS_SAMPLE_FACTOR_INVERSE & HS_SAMPLE_KEY_MASK) == 1,
	       "the mixing can be turned back");
#define HS_SAMPLE_TAG_BITS (HS_SAMPLE_KEY_BITS - HS_SAMPLE_BUCKET_BITS)
#define HS_SAMPLE_REF_BITS (64 - HS_SAMPLE_TAG_BITS)
_Static_assert(HS_SAMPLE_REF_BITS == 31, "the drawing");

// pre: the address is a multiple of 8 and has no more than 47 bits
static inline uint64_t sample_key(uint64_t address) { return (address >> 3) * HS_SAMPLE_FACTOR & HS_SAMPLE_KEY_MASK; }

static inline uint32_t sample_bucket(uint64_t key) { return (uint32_t)(key >> HS_SAMPLE_TAG_BITS); }

static inline uint64_t sample_tag(uint64_t key) { return key & ((UINT64_C(1) << HS_SAMPLE_TAG_BITS) - 1); }

// pre: ref >> HS_SAMPLE_REF_BITS == 0
static inline uint64_t sample_entry(uint64_t tag, uint32_t ref) { return tag << HS_SAMPLE_REF_BITS | ref; }

static inline uint64_t sample_entry_tag(uint64_t entry) { return entry >> HS_SAMPLE_REF_BITS; }

static inline uint32_t sample_entry_ref(uint64_t entry)
{
	return (uint32_t)(entry & ((UINT64_C(1) << HS_SAMPLE_REF_BITS) - 1));
}

// The address that an entry names. pre: bucket < HS_SAMPLE_BUCKETS
static inline uint64_t sample_address(uint32_t bucket, uint64_t entry)
{
	return (((uint64_t)bucket << HS_SAMPLE_TAG_BITS | sample_entry_tag(entry)) * HS_SAMPLE_FACTOR_INVERSE &
		HS_SAMPLE_KEY_MASK)
	       << 3;
}

#endif
