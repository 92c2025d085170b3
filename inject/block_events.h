// SPDX-License-Identifier: Apache-2.0
// What is written when a block comes, goes, or becomes another.
//
// Context: in a hook that records (reentry.h). The order of stores is what a snapshot may rely on (docs/abi.md):
//   allocation: totals, then the slot of the live table
//   free:       logged if a dump copies (removal.h), then slot cleared, before the original runs, because another thread may get the
//               address at once
//   realloc:    old record pending, then its slot cleared; original; pending_new, new slot, old block logged if a dump copies, pending
//               cleared: at every instant the table and `pending` together show either the old block or the new one
#ifndef HEAPSNAP_INJECT_BLOCK_EVENTS_H
#define HEAPSNAP_INJECT_BLOCK_EVENTS_H

#include "budget.h"
#include "filter.h"
#include "live_table.h"
#include "reentry.h"
#include "record.h"
#include "removal.h"
#include "sampling.h"
#include "thinning.h"
#include "unwind.h"

static inline void count_lost(struct thread_slot *slot, uint64_t size)
{
	slot->last_freed = 0; // the same address may come again
	count_up(slot->counters, COUNTER_lost_region_full, 1);
	count_up(slot->counters, COUNTER_lost_region_full_bytes, size);
}

// When a block is born. Reading the time-stamp counter costs as much as all the rest of a recording, so where every allocation is recorded it is
// read for some: a block is then born between the time that is told and the thread's next reading.
enum { HS_TICKS_CALLS = 16 };

// Before a recording. Returns whether the time was read.
static inline bool read_ticks(struct thread_slot *slot, struct choice choice)
{
	bool reads = choice.interval != 1 || slot->ticks_left == 0;

	if (HS_UNLIKELY(reads)) {
		slot->ticks = arch_ticks();
		slot->ticks_left = HS_TICKS_CALLS;
	}
	slot->ticks_left--;
	return reads;
}

// A sampled allocation's share of its stack's totals. pre: choice.interval > 1
void totals_add_sampled(uint32_t stack, uint64_t size, struct choice choice) HS_HIDDEN;

// Writes a record. The stack's nodes are there: a record from before a cut refers only to what was there before it.
static inline void record_fill(const struct thread_slot *slot, struct block_record *record, uint64_t size, struct choice choice, uint32_t stack)
{
	record->size = size;
	record->birth = slot->ticks;
	record->stack = stack;
	record->thread = slot->thread & (HS_THREAD_HISTORY_MAX - 1);
	record->in_filter = 0;
	record->samples = choice.samples & HS_SAMPLES_MAX;
	record->interval = choice.interval;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); // the epoch is read after the nodes are made
	record->epoch = __atomic_load_n(&region()->epoch, __ATOMIC_RELAXED);
}

// A record of a block of `size` bytes that the caller's stack asked for, its totals counted. 0 = none could be had.
static inline uint32_t new_record(struct thread_slot *slot, uint64_t size, struct choice choice, const struct entry_frame *frame)
{
	uint32_t stack = unwind_to_node(slot, frame);
	uint32_t ref = record_take(slot);

	if (HS_UNLIKELY(!ref)) {
		count_lost(slot, size);
		return 0;
	}
	record_fill(slot, region_ref(ref), size, choice, stack);
	if (HS_LIKELY(choice.interval == 1))
		totals_add(slot, stack, size);
	else
		totals_add_sampled(stack, size, choice);
	count_up(slot->counters, COUNTER_allocations, 1);
	count_up(slot->counters, COUNTER_allocated_bytes, size);
	return ref;
}

// The slot for a new block's address. NULL, and counted, when it cannot be had.
static inline uint32_t *slot_for(struct thread_slot *slot, uint64_t address, uint64_t size)
{
	uint32_t *place;

	if (HS_UNLIKELY(!live_table_covers(address))) {
		slot->last_freed = 0;
		count_up(slot->counters, COUNTER_lost_address_range, 1);
		return NULL;
	}
	place = live_table_find(address);
	if (HS_UNLIKELY(!place))
		place = live_table_make(address, &slot->spare_page);
	if (HS_UNLIKELY(!place))
		count_lost(slot, size);
	return place;
}

// A record that no entry of the table shows any more.
static inline void record_gone(struct thread_slot *slot, uint32_t ref, uint64_t address)
{
	if (HS_UNLIKELY(filter_in_use()) && ((const struct block_record *)region_ref(ref))->in_filter)
		filter_remove(address);
	record_give(slot, ref);
}

static inline void publish(struct thread_slot *slot, uint32_t *place, uint32_t ref, uint64_t address)
{
	uint32_t before = __atomic_load_n(place, __ATOMIC_RELAXED);

	if (HS_UNLIKELY(filter_in_use())) {
		((struct block_record *)region_ref(ref))->in_filter = 1;
		filter_add(address);
	}
	if (HS_UNLIKELY(before)) {
		removal_note(address, before);
		before = live_table_take(place);
	}
	__atomic_store_n(place, ref, __ATOMIC_RELEASE);
	if (HS_UNLIKELY(before)) {
		// Its free was not seen: given back by a function that is not hooked, or with its whole arena.
		const struct block_record *record = region_ref(before);

		count_up(slot->counters, COUNTER_replaced, 1);
		count_up(slot->counters, COUNTER_replaced_bytes, record->size);
		record_gone(slot, before, address);
	}
}

static inline void record_allocation(struct thread_slot *slot, uint64_t block, uint64_t size, struct choice choice,
				     const struct entry_frame *frame)
{
	uint32_t *place;
	uint32_t ref;
	bool timed;

	if (HS_UNLIKELY(!block)) {
		count_up(slot->counters, COUNTER_failed_allocations, 1);
		return;
	}
	if (!choice.interval) {
		slot->framed_calls++;
		reentry_count_call(slot);
		return;
	}
	timed = read_ticks(slot, choice);
	place = slot_for(slot, block, size);
	if (HS_UNLIKELY(!place))
		return;
	ref = new_record(slot, size, choice, frame);
	if (HS_LIKELY(ref))
		publish(slot, place, ref, block);
	if (HS_UNLIKELY(timed)) {
		if (region()->sampling_mode == SAMPLING_budget)
			budget_note_record(slot, size, choice);
		else if (thinning_is_under_way())
			thinning_work(slot);
	}
}

// The slot of a block that is recorded, NULL when it is not.
static inline uint32_t *recorded(uint64_t address)
{
	uint32_t *place = NULL;

	if (live_table_covers(address) && !(filter_in_use() && filter_excludes(address)))
		place = live_table_find(address);

	return place && __atomic_load_n(place, __ATOMIC_RELAXED) ? place : NULL;
}

// A reallocation under way.
struct reallocation {
	uint64_t old_block;
	uint64_t old_size; // of a block that is not recorded, as the allocator says; 0 = unknown
	uint32_t *place;   // where the old record was
	uint32_t old;      // the old record; 0 = none
};

// Takes the old block's record out of the table and keeps it pending.
void reallocation_begin(struct thread_slot *slot, uint64_t old_block, const struct hook_island *island,
			struct reallocation *ret) HS_HIDDEN;
// The old block is there as it was.
void reallocation_cancel(struct thread_slot *slot, const struct reallocation *reallocation) HS_HIDDEN;
// `block` is what there is now, 0 when the old block was given back.
void reallocation_finish(struct thread_slot *slot, const struct reallocation *reallocation, uint64_t block, uint64_t size,
			 struct choice choice, const struct entry_frame *frame) HS_HIDDEN;

// A block that no record shows is given back. `size`: as the caller says; 0 = it does not.
void unknown_free(struct thread_slot *slot, uint64_t block, uint64_t size, const struct hook_island *island) HS_HIDDEN;

// Everything that is to be done before a block is given back. `place`: where the call's return address lies.
static inline void block_goes(uint64_t block, uint64_t size, const struct hook_island *island, uint64_t place)
{
	struct thread_slot *slot = thread_slot_current();
	uint64_t began = HS_UNLIKELY(slot && budget_times_release(slot)) ? arch_ticks_in_order() : 0;
	uint32_t *entry = recorded(block);
	enum nesting nesting;

	if (HS_UNLIKELY(!slot)) {
		if (entry) { // the record itself stays unused; the block must not be shown as live
			removal_note(block, __atomic_load_n(entry, __ATOMIC_RELAXED));
			(void)live_table_take(entry);
		}
		return;
	}
	nesting = reentry_enter(slot, place, island);
	// A nested free of a recorded block is the program's own all the same (by a handler that a longjmp has left, say): what allocators free
	// within a call is not recorded.
	if (HS_LIKELY(entry)) {
		uint32_t ref = __atomic_load_n(entry, __ATOMIC_RELAXED);

		removal_note(block, ref);
		ref = live_table_take(entry);
		slot->last_freed = block | (uint64_t)island->hook_index << 48;
		count_up(slot->counters, COUNTER_frees, 1);
		// A signal handler leaves the interrupted recorder's lists alone. Within an original the recorder runs again for this moment, and says so:
		// to handlers, and to a tool that is to change nothing meanwhile.
		if (HS_LIKELY(nesting == OUTERMOST)) {
			if (HS_LIKELY(ref))
				record_gone(slot, ref, block);
		} else if (ref && nesting == NESTED && reentry_leave_original(slot)) {
			record_gone(slot, ref, block);
			reentry_enter_original(slot);
		}
	} else if (nesting == OUTERMOST) {
		unknown_free(slot, block, size, island);
	} else {
		count_up(slot->counters, nesting == NESTED ? COUNTER_nested : COUNTER_unknown_frees, 1);
	}
	if (HS_LIKELY(nesting == OUTERMOST)) {
		slot->releases++;
		slot->releases_in_vain += !entry;
		if (HS_UNLIKELY(began))
			budget_note_release(slot, began);
		reentry_leave(slot);
	}
}

#endif
