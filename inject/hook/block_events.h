// SPDX-License-Identifier: Apache-2.0
// What is written when a block comes, goes, or becomes another.
//
// Context: in a hook that records (reentry.h). The order of stores is what a snapshot may rely on (docs/abi.md):
//   allocation: totals, then the block's place (block_place.h)
//   free:       logged if a dump copies (removal.h), then its place emptied, before the original runs, because another
//               thread may get the address at once
//   realloc:    old record pending, then its place emptied; original; pending_new, new place, old block logged if a
//               dump copies, pending cleared: at every instant the tables and `pending` together show either the old
//               block or the new one
#ifndef HEAPSNAP_INJECT_HOOK_BLOCK_EVENTS_H
#define HEAPSNAP_INJECT_HOOK_BLOCK_EVENTS_H

#include "inject/hook/reentry.h"
#include "inject/sampling/budget.h"
#include "inject/sampling/downsampling.h"
#include "inject/sampling/sampling.h"
#include "inject/sampling/temporary.h"
#include "inject/table/block_place.h"
#include "inject/table/record.h"
#include "inject/table/removal.h"
#include "inject/walk/unwind.h"

// A sampled allocation's share of its stack's totals. pre: choice.interval > 1
void totals_add_sampled(uint32_t stack, uint64_t size, struct choice choice) HS_HIDDEN;

// What `last_freed` keeps of a block that was given back: its address, of 47 bits, and above it by which hook.
enum { FREED_HOOK_SHIFT = 48 };
_Static_assert(HS_ADDRESS_BITS <= FREED_HOOK_SHIFT && HS_HOOKS_MAX <= 1 << (64 - FREED_HOOK_SHIFT), "both have room");

static inline uint64_t freed_mark(uint64_t block, const struct hook_island *island)
{
	return block | (uint64_t)island->hook_index << FREED_HOOK_SHIFT;
}

// Whether it is the mark of this block, whichever hook gave it back.
static inline bool freed_mark_is_of(uint64_t mark, uint64_t block)
{
	return (mark ^ block) << (64 - FREED_HOOK_SHIFT) == 0;
}

// After an allocation: `block` is what there is now, 0 when there is none.
void record_allocation(struct thread_slot *slot, uint64_t block, uint64_t size, struct choice choice,
		       const struct entry_frame *frame) HS_HIDDEN;
// Everything that is to be done before a block is given back. `size`: as the caller says; 0 = it does not. `place`:
// where the call's return address lies.
void block_goes(uint64_t block, uint64_t size, const struct hook_island *island, uint64_t place) HS_HIDDEN;

// A reallocation under way.
struct reallocation {
	uint64_t old_block;
	uint64_t old_size;        // of a block that is not recorded, as the allocator says; 0 = unknown
	struct block_place place; // where the old record was
	uint32_t old;             // the old record; 0 = none
};

// record_allocation, where the original has run below a frame of ours: unless another thread has been in the slot
// meanwhile.
static inline void record_if_own(struct thread_slot *slot, uint64_t block, uint64_t size, struct choice choice,
				 const struct entry_frame *frame, const struct hook_island *island)
{
	// Asked first, whatever was chosen: it restores the guard of a hook that was wrongly taken for abandoned.
	if (HS_UNLIKELY(reentry_is_shared(slot, frame, island) && choice.interval))
		thread_slot_note_shared(slot);
	else
		record_allocation(slot, block, size, choice, frame);
}

// A thread without a slot reallocates a block: where it goes nobody sees.
void block_is_reallocated_unseen(uint64_t block) HS_HIDDEN;

// Takes the old block's record out of the table and keeps it pending.
void reallocation_begin(struct thread_slot *slot, uint64_t old_block, const struct hook_island *island,
			struct reallocation *ret) HS_HIDDEN;
// The old block is there as it was.
void reallocation_cancel(struct thread_slot *slot, const struct reallocation *reallocation) HS_HIDDEN;
// `block` is what there is now, 0 when the old block was given back.
void reallocation_finish(struct thread_slot *slot, const struct reallocation *reallocation, uint64_t block,
			 uint64_t size, struct choice choice, const struct entry_frame *frame) HS_HIDDEN;

// reallocation_finish, likewise. What is pending may be another thread's.
static inline void reallocation_finish_if_own(struct thread_slot *slot, const struct reallocation *reallocation,
					      uint64_t block, uint64_t size, struct choice choice,
					      const struct entry_frame *frame, const struct hook_island *island)
{
	if (HS_LIKELY(!reentry_is_shared(slot, frame, island))) {
		reallocation_finish(slot, reallocation, block, size, choice, frame);
		return;
	}
	thread_slot_note_shared(slot);
	__atomic_store_n(&slot->shared.pending, 0, __ATOMIC_RELEASE);
}

#endif
