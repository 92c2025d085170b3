// SPDX-License-Identifier: Apache-2.0
// Records of blocks: where free ones come from, and totals of stacks.
#ifndef HEAPSNAP_INJECT_TABLE_RECORD_H
#define HEAPSNAP_INJECT_TABLE_RECORD_H

#include "inject/payload.h"
#include "inject/table/removal.h"

// A batch is what threads give to and take from each other.
enum { RECORD_BATCH = HS_FREE_KEPT / 2 };

// What was decided for one allocation. A value.
struct choice {
	uint32_t interval; // 0 = it is not recorded; 1 = it is, as every one; else the mean interval with which it was
			   // drawn
	uint32_t samples;  // that fell into the block; 0 = not counted
};

// A record that nobody uses, its content undefined: record_take_kept one of the thread's own, 0 = it has none;
// record_refill one from all threads' or of a new page, with others for the thread, 0 = the region is full; record_take
// either.
uint32_t record_refill(struct thread_slot *slot) HS_HIDDEN;
// Gives a batch of the thread's free records to all threads, and returns how many are left. pre: there are HS_FREE_KEPT
uint32_t record_share_batch(struct thread_slot *slot) HS_HIDDEN;
// Adds the totals of an entry of the thread's to its node, and empties it.
void totals_flush(struct thread_slot *slot, uint32_t index) HS_HIDDEN;
// Adds an allocation to its node at once.
void totals_add_directly(uint32_t stack, uint64_t size) HS_HIDDEN;
// Adds temporary allocations, times HS_OBJECTS_ONE, to those of the stack at once. Where there is no room for it they
// are counted as lost.
void temporaries_add_directly(struct thread_slot *slot, uint32_t stack, uint64_t objects) HS_HIDDEN;

// A slot belongs to one thread. Where two have the same thread pointer, and until that shows (thread_slot_note_shared),
// both may be in it: then lists may lose records or show one twice, but no index leaves its array and no reference the
// pages of its kind. So each count is read once.
static inline uint32_t record_take_kept(struct thread_slot *slot)
{
	uint32_t count = slot->free_count;

	if (HS_UNLIKELY(count == 0))
		return 0;
	slot->free_count = count - 1;
	return slot->free_records[count - 1];
}

static inline uint32_t record_take(struct thread_slot *slot)
{
	uint32_t ref = record_take_kept(slot);

	return HS_UNLIKELY(!ref) ? record_refill(slot) : ref;
}

// The record itself is not touched: it is likely not in the cache, and the next allocation will write it.
static inline void record_give(struct thread_slot *slot, uint32_t ref)
{
	uint32_t count = slot->free_count;

	if (HS_UNLIKELY(count == HS_FREE_KEPT))
		count = record_share_batch(slot);
	slot->free_records[count] = ref;
	slot->free_count = count + 1;
	__builtin_prefetch(region_ref(ref), 1);
}

// Writes a record. The stack's nodes are there: a record from before a cut refers only to what was there before it.
static inline void record_fill(const struct thread_slot *slot, struct block_record *record, uint64_t size,
			       struct choice choice, uint32_t stack)
{
	record->size_and_hook = size;
	record->hook = (uint16_t)(slot->hook + 1);
	record->birth = slot->ticks;
	record->stack = stack;
	record->thread = slot->thread & (HS_THREAD_HISTORY_MAX - 1);
	record->in_bloom = 0;
	record->samples = choice.samples & HS_SAMPLES_MAX;
	record->interval = choice.interval;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); // the epoch is read after the nodes are made
	record->epoch = __atomic_load_n(&region()->epoch, __ATOMIC_RELAXED);
}

// Where in its `totals` a thread keeps a stack's; another stack's may be there.
static inline uint32_t totals_index(uint32_t stack) { return (stack ^ stack >> 7) & (HS_TOTALS_ENTRIES - 1); }

static inline void totals_add(struct thread_slot *slot, uint32_t stack, uint64_t size)
{
	uint32_t index = totals_index(stack);
	struct totals_entry *entry = &slot->shared.totals[index];

	if (HS_UNLIKELY(entry->stack != stack || entry->objects == UINT32_MAX)) {
		// Totals do not move from entry to node while a dump reads both.
		if (removal_is_logged()) {
			totals_add_directly(stack, size);
			return;
		}
		totals_flush(slot, index);
		entry->bytes = 0;
		entry->objects = 0;
		__atomic_store_n(&entry->stack, stack, __ATOMIC_RELEASE);
	}
	entry->bytes += size;
	entry->objects++;
}

#endif
