// SPDX-License-Identifier: Apache-2.0
// The fast path: recording and release as nearly all calls need them where every allocation is recorded. The stack is
// that of the last walk, a free record is at hand, the tables are there, no tool dumps and no thread downsamples, and
// there are and were no samples. Each function does all of its work or, when anything is different, none of it; then
// the slow path does it (block_events.h). They call nothing, so the hooks that begin with them save few registers.
//
// Context: in a hook. The order of stores is that of block_events.h.
#ifndef HEAPSNAP_INJECT_HOOK_FAST_PATH_H
#define HEAPSNAP_INJECT_HOOK_FAST_PATH_H

#include "inject/hook/block_events.h"

// Does what reentry_begin, sampling_choose and reentry_enter_original do, for a call that is recorded because every one
// is. NULL: it is not, or not known to be, and nothing is done.
static inline struct thread_slot *fast_path_enter_original(const struct entry_frame *frame,
							   const struct hook_island *island)
{
	struct thread_slot *slot = thread_slot_at_hand();

	if (HS_UNLIKELY(!slot || (slot->shared.guard | (slot->shared.interval ^ 1)) != 0))
		return NULL;
	slot->hook = island->hook_index;
	slot->shared.guard = reentry_place(frame); // in_original is 0 while there is no guard
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->shared.in_original = 1; // a thread that records every allocation has no sampling credit to be suspended
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return slot;
}

// As reentry_leave_original. Settings that the tool has changed meanwhile are taken over with the next call.
static inline bool fast_path_leave_original(struct thread_slot *slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (HS_UNLIKELY(!region_is_present()))
		return false;
	slot->shared.in_original = 0;
	return true;
}

// As record_allocation for an allocation that is recorded as every one is. pre: the thread's guard is set, and no
// original runs
HS_ALWAYS_INLINE bool fast_path_record(struct thread_slot *slot, uint64_t block, uint64_t size,
				       const struct entry_frame *frame)
{
	const struct region_header *header = region();
	const struct kept_stack *kept;
	struct totals_entry *totals;
	uint32_t free_count = slot->free_count, ref, entry;
	uint32_t *place;

	// A sample whose release was not seen may be in the other table, at this address; where `set` could not find
	// the threads outside the payload, there are samples though releases do not exchange. Nor after a handler
	// took this hook for abandoned (reentry_comes_back).
	if (HS_UNLIKELY(
		    (header->removals_exchange | header->samples_used | (slot->shared.guard ^ reentry_place(frame))) ||
		    !block || !free_count || !slot->ticks_left))
		return false;
	kept = unwind_kept(slot, frame);
	if (HS_UNLIKELY(!kept))
		return false;
	ref = slot->free_records[free_count - 1];
	totals = (struct totals_entry *)((uint64_t)slot + kept->totals);
	if (HS_UNLIKELY(totals->stack != kept->node || totals->objects == UINT32_MAX))
		return false;
	if (HS_UNLIKELY(!live_table_find_room(block, size, ref, &place, &entry)))
		return false;
	slot->ticks_left--;
	slot->free_count = free_count - 1;
	totals->bytes += size;
	totals->objects++;
	count_up(slot->shared.counters, COUNTER_walk_reuses, 1);
	count_up(slot->shared.counters, COUNTER_allocations, 1);
	count_up(slot->shared.counters, COUNTER_allocated_bytes, size);
	record_fill(slot, region_ref(ref), size, (struct choice){ 1, 0 }, kept->node);
	slot->last_record = ref;
	__atomic_store_n(place, entry, __ATOMIC_RELEASE);
	return true;
}

// As block_goes for a recorded block.
static inline bool fast_path_release(uint64_t block, uint64_t call_return_slot, const struct hook_island *island)
{
	const struct region_header *header = region();
	struct thread_slot *slot = thread_slot_at_hand();
	uint32_t ref, free_count;
	uint32_t *place;

	// Where not every allocation is recorded, the table is not touched before the Bloom filter has been asked.
	if (HS_UNLIKELY(!slot || slot->shared.guard || __atomic_load_n(&header->removals, __ATOMIC_RELAXED)))
		return false;
	slot->shared.guard = call_return_slot;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	free_count = slot->free_count;
	if (HS_UNLIKELY(!live_table_find_fast(block, &place, &ref) || free_count == HS_FREE_KEPT ||
			(ref == slot->last_record && !temporary_count_fast(slot, ref)))) {
		reentry_leave(slot);
		return false;
	}
	__atomic_store_n(place, 0, __ATOMIC_RELEASE);
	slot->last_freed = freed_mark(block, island);
	count_up(slot->shared.counters, COUNTER_frees, 1);
	slot->free_records[free_count] = ref;
	slot->free_count = free_count + 1;
	__builtin_prefetch(region_ref(ref), 1);
	reentry_leave(slot);
	return true;
}

#endif
