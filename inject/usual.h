// SPDX-License-Identifier: Apache-2.0
// Recording and release as nearly all calls need them where every allocation is recorded: the stack is that of the last walk, a free record
// is at hand, the tables are there, and nobody dumps or thins. Each function does all of its work or, when anything is different, none
// of it; then block_events.h does it. They call nothing, so the hooks that begin with them save few registers.
//
// Context: in a hook. The order of stores is that of block_events.h.
#ifndef HEAPSNAP_INJECT_USUAL_H
#define HEAPSNAP_INJECT_USUAL_H

#include "block_events.h"

// As reentry_begin for a call that is recorded as every one is. NULL: it is not, or not known to be.
static inline struct thread_slot *usual_begin(const struct entry_frame *frame, const struct hook_island *island)
{
	struct thread_slot *slot = thread_slot_at_hand();

	if (HS_UNLIKELY(!slot || slot->guard || slot->interval != 1))
		return NULL;
	slot->hook = island->hook_index;
	slot->guard = reentry_place(frame); // in_original is 0 while there is no guard
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return slot;
}

// As record_allocation for an allocation that is recorded as every one is. pre: the thread's guard is set, and no original runs
static inline bool usual_recording(struct thread_slot *slot, uint64_t block, uint64_t size, const struct entry_frame *frame)
{
	uint32_t stack = unwind_again(slot, frame);
	struct totals_entry *totals = totals_of(slot, stack);
	uint32_t *place;
	uint32_t ref;

	if (HS_UNLIKELY(!stack || totals->stack != stack || totals->objects == UINT32_MAX || !block || !live_table_find_usual(block, &place) ||
			!slot->free_count || !slot->ticks_left || filter_in_use() || __atomic_load_n(place, __ATOMIC_RELAXED)))
		return false;
	slot->ticks_left--;
	ref = slot->free_records[--slot->free_count];
	record_fill(slot, region_ref(ref), size, (struct choice){ 1, 0 }, stack);
	totals->bytes += size;
	totals->objects++;
	count_up(slot->counters, COUNTER_walk_reuses, 1);
	count_up(slot->counters, COUNTER_allocations, 1);
	count_up(slot->counters, COUNTER_allocated_bytes, size);
	__atomic_store_n(place, ref, __ATOMIC_RELEASE);
	return true;
}

// As block_goes for a recorded block.
static inline bool usual_release(uint64_t block, uint64_t call_place, const struct hook_island *island)
{
	const struct region_header *header = region();
	struct thread_slot *slot = thread_slot_at_hand();
	uint32_t *place;
	uint32_t ref;

	// Where not every allocation is recorded, the table is not touched before the filter has been asked.
	if (HS_UNLIKELY(!slot || slot->guard || header->removals_exchange || !live_table_find_usual(block, &place)))
		return false;
	slot->guard = call_place;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ref = __atomic_load_n(place, __ATOMIC_RELAXED);
	if (HS_UNLIKELY(!ref || slot->free_count == HS_FREE_KEPT || __atomic_load_n(&header->removal_flags, __ATOMIC_RELAXED))) {
		reentry_leave(slot);
		return false;
	}
	__atomic_store_n(place, 0, __ATOMIC_RELEASE);
	slot->last_freed = block | (uint64_t)island->hook_index << 48;
	count_up(slot->counters, COUNTER_frees, 1);
	slot->free_records[slot->free_count++] = ref;
	__builtin_prefetch(region_ref(ref), 1);
	reentry_leave(slot);
	return true;
}

#endif
