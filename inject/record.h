// SPDX-License-Identifier: Apache-2.0
// Records of blocks: where free ones come from, and totals of stacks.
#ifndef HEAPSNAP_INJECT_RECORD_H
#define HEAPSNAP_INJECT_RECORD_H

#include "payload.h"
#include "removal.h"

// A batch is what threads give to and take from each other.
enum { RECORD_BATCH = HS_FREE_KEPT / 2 };

// A record that nobody uses, its content undefined. 0 = the region is full.
uint32_t record_refill(struct thread_slot *slot) HS_HIDDEN;
// Gives a batch of the thread's free records to all threads. pre: slot->free_count >= RECORD_BATCH
void record_share_batch(struct thread_slot *slot) HS_HIDDEN;
// Adds an entry's totals to its node and empties it.
void totals_flush(struct totals_entry *entry) HS_HIDDEN;
// Adds an allocation to its node at once.
void totals_add_directly(uint32_t stack, uint64_t size) HS_HIDDEN;

static inline uint32_t record_take(struct thread_slot *slot)
{
	if (HS_UNLIKELY(slot->free_count == 0))
		return record_refill(slot);
	return slot->free_records[--slot->free_count];
}

// The record itself is not touched: it is likely not in the cache, and the next allocation will write it.
static inline void record_give(struct thread_slot *slot, uint32_t ref)
{
	if (HS_UNLIKELY(slot->free_count == HS_FREE_KEPT))
		record_share_batch(slot);
	slot->free_records[slot->free_count++] = ref;
	__builtin_prefetch(region_ref(ref), 1);
}

// Where in its `totals` a thread keeps a stack's; another stack's may be there.
static inline uint32_t totals_index(uint32_t stack) { return (stack ^ stack >> 7) & (HS_TOTALS_ENTRIES - 1); }

static inline void totals_add(struct thread_slot *slot, uint32_t stack, uint64_t size)
{
	struct totals_entry *entry = &slot->totals[totals_index(stack)];

	if (HS_UNLIKELY(entry->stack != stack || entry->objects == UINT32_MAX)) {
		// Totals do not move from entry to node while a dump reads both.
		if (removal_is_logged()) {
			totals_add_directly(stack, size);
			return;
		}
		totals_flush(entry);
		entry->bytes = 0;
		entry->objects = 0;
		__atomic_store_n(&entry->stack, stack, __ATOMIC_RELEASE);
	}
	entry->bytes += size;
	entry->objects++;
}

#endif
