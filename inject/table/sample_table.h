// SPDX-License-Identifier: Apache-2.0
// The sample table: address -> record, for samples (abi/sample_table.h has the drawing).
//
// Context: in a hook, on any thread, at any time, also in a signal handler and without a thread slot. An address's
// entry belongs to whoever owns the block there, as in the live table: no other thread puts one in, and it is never
// moved. But downsampling may put another record there or drop it, and when an entry is empty it may be that of any
// other address of its bucket the next moment. So every change is a compare-and-swap of tag and record together, and
// one that a thread dies before is one that it never began.
#ifndef HEAPSNAP_INJECT_TABLE_SAMPLE_TABLE_H
#define HEAPSNAP_INJECT_TABLE_SAMPLE_TABLE_H

#include "inject/payload.h"

// Whether a record was ever put in. Where not, nobody looks: a page that is looked at is in memory from then on.
static inline bool sample_table_is_used(void)
{
	return __atomic_load_n(&region()->samples_used, __ATOMIC_RELAXED) != 0;
}

// The record that an entry shows for an address; 0 = none, or it has become another's.
static inline uint32_t sample_table_ref(const uint64_t *entry, uint64_t address)
{
	uint64_t seen = __atomic_load_n(entry, __ATOMIC_ACQUIRE);

	return sample_entry_tag(seen) == sample_tag(sample_key(address)) ? sample_entry_ref(seen) : 0;
}

// The entry of an address; NULL = it has none. pre: live_table_covers(address)
uint64_t *sample_table_find(uint64_t address) HS_HIDDEN;
// Whether there is an empty entry for an address at this moment.
bool sample_table_has_room(uint64_t address) HS_HIDDEN;
// Shows a record. False = there is no room. pre: the caller owns the block, and the address has no entry
bool sample_table_put(uint64_t address, uint32_t ref) HS_HIDDEN;
// Empties the address's entry; returns the ref that was in it, 0 when downsampling has come first. pre: the caller owns
// the block.
uint32_t sample_table_take(uint64_t *entry, uint64_t address) HS_HIDDEN;
// Puts `ref` (0 = nothing) in the place of `expected`, if the entry still is that. pre: expected != 0
bool sample_table_exchange(uint64_t *entry, uint64_t address, uint32_t expected, uint32_t ref) HS_HIDDEN;

#endif
