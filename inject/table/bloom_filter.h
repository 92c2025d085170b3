// SPDX-License-Identifier: Apache-2.0
// A counting Bloom filter of recorded addresses: a counter for each hash of addresses. All of it is so small that it
// stays in the first-level cache. A counter of 0 proves that no block there is recorded; the inline fast path of free
// (arch/*/entry.S) looks at it before anything else.
//
// A saturated counter stays so. While every allocation is recorded all counters are saturated, and nobody counts.
//
// Context: in a hook. Written for recorded blocks only, which are few while the filter is in use.
#ifndef HEAPSNAP_INJECT_TABLE_BLOOM_FILTER_H
#define HEAPSNAP_INJECT_TABLE_BLOOM_FILTER_H

#include "inject/payload.h"

static inline bool bloom_in_use(void)
{
	return __atomic_load_n(&region()->removal_flags, __ATOMIC_RELAXED) & REMOVAL_COUNTS_BLOOM;
}

static inline uint8_t *bloom_counter(uint64_t address) { return &payload_state()->bloom[bloom_index(address)]; }

// By one up or down, where it is neither saturated nor, downwards, 0.
static inline void bloom_change(uint64_t address, int by)
{
	uint8_t *counter = bloom_counter(address);
	uint8_t before = __atomic_load_n(counter, __ATOMIC_RELAXED);

	do {
		if (before == HS_BLOOM_SATURATED || (by < 0 && before == 0))
			return;
	} while (!__atomic_compare_exchange_n(counter, &before, (uint8_t)(before + by), false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
}

// Before the block's record can be found.
static inline void bloom_add(uint64_t address) { bloom_change(address, 1); }
// After its record cannot be found any more.
static inline void bloom_remove(uint64_t address) { bloom_change(address, -1); }

static inline bool bloom_excludes(uint64_t address)
{
	return __atomic_load_n(bloom_counter(address), __ATOMIC_RELAXED) == 0;
}

// How many records are counted.
static inline uint64_t bloom_records(void)
{
	const uint64_t *words = (const uint64_t *)payload_state()->bloom, low = UINT64_C(0x00ff00ff00ff00ff);
	uint64_t sum = 0;

	for (unsigned i = 0; i < HS_BLOOM_SIZE / sizeof(*words); i++) {
		// 4 times 16 bits
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_RELAXED), pairs = (word & low) + (word >> 8 & low);

		sum += pairs * UINT64_C(0x0001000100010001) >> 48; // their sum, below 2^16
	}
	return sum;
}

// Whether so many counters are saturated that the filter does not get better when records go.
static inline bool bloom_is_saturated(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < HS_BLOOM_SIZE; i++)
		count += __atomic_load_n(&payload_state()->bloom[i], __ATOMIC_RELAXED) == HS_BLOOM_SATURATED;
	return count > HS_BLOOM_SIZE / 64;
}

#endif
