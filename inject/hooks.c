// SPDX-License-Identifier: Apache-2.0
// The bodies of the hooks: what happens around each allocation function.
//
// Context: on any thread of the target, called from arch/*/entry.S in place of an allocation function, perhaps from a signal handler.
// No libc, no system call, no lock, no vector register, no fault.
//
// Nested calls: an allocator may call its own entry points (realloc calls malloc and free). Only the outermost hook of a thread records.
// The guard holds where the outermost hook's return address lies; a hook that runs deeper in the same stack is nested, and one that
// runs at or above it proves that the guard is left over from a hook that longjmp or an exception has abandoned.
//
// The order of stores is what a snapshot may rely on (docs/abi.md):
//   allocation: totals, then the slot of the live table
//   free:       slot cleared before the original runs, because another thread may get the address at once
//   realloc:    old record pending, then its slot cleared; original; pending_new, new slot, pending cleared: at every instant
//               the table and `pending` together show either the old block or the new one
#include "hooks.h"

#include "live_table.h"
#include "record.h"
#include "thread_slot.h"
#include "unwind.h"

typedef void *one_argument(uint64_t);
typedef void *two_arguments(uint64_t, uint64_t);
typedef void *three_arguments(uint64_t, uint64_t, uint64_t);
typedef int memalign_arguments(void **, uint64_t, uint64_t);

#define ORIGINAL(type, island) ((type *)(uint64_t)(island)->trampoline)

enum nesting { OUTERMOST, NESTED, REENTERED };

static bool on_own_stack(const struct thread_slot *slot, uint64_t place)
{
	return place >= slot->stack_low && place < slot->stack_high;
}

// Whether a hook that began at slot->guard is still running below this one. On two different stacks, a hook on the thread's own stack
// can only be interrupted (by a handler on a signal stack), while one on another stack, left behind, is over.
static bool is_nested(const struct thread_slot *slot, uint64_t place)
{
	bool guard_on_own_stack = on_own_stack(slot, slot->guard);

	if (guard_on_own_stack != on_own_stack(slot, place))
		return guard_on_own_stack;
	return place < slot->guard;
}

static enum nesting enter(struct thread_slot *slot, uint64_t place)
{
	if (HS_UNLIKELY(slot->guard && is_nested(slot, place)))
		return slot->in_original ? NESTED : REENTERED;
	slot->in_original = 0;
	slot->guard = place;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return OUTERMOST;
}

static void leave(struct thread_slot *slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->guard = 0;
}

static void enter_original(struct thread_slot *slot)
{
	slot->in_original = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void leave_original(struct thread_slot *slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->in_original = 0;
}

static void count_lost(struct thread_slot *slot, uint64_t size)
{
	count_up(slot->counters, COUNTER_lost_region_full, 1);
	count_up(slot->counters, COUNTER_lost_region_full_bytes, size);
}

// A record of a block of `size` bytes that the caller's stack asked for, its totals counted. 0 = none could be had.
static uint32_t new_record(struct thread_slot *slot, uint64_t size, const struct entry_frame *frame)
{
	uint32_t stack = unwind_to_node(slot, frame);
	uint32_t ref = record_take(slot);
	struct block_record *record;

	if (HS_UNLIKELY(!ref)) {
		count_lost(slot, size);
		return 0;
	}
	record = region_ref(ref);
	record->size = size;
	record->birth = arch_ticks();
	record->stack = stack;
	record->thread = slot->thread;
	record->interval = 1;
	record->epoch = __atomic_load_n(&region()->epoch, __ATOMIC_RELAXED);
	totals_add(slot, stack, size);
	count_up(slot->counters, COUNTER_allocations, 1);
	count_up(slot->counters, COUNTER_allocated_bytes, size);
	return ref;
}

// The slot for a new block's address. NULL, and counted, when it cannot be had.
static uint32_t *slot_for(struct thread_slot *slot, uint64_t address, uint64_t size)
{
	uint32_t *place;

	if (HS_UNLIKELY(!live_table_covers(address))) {
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

static void publish(struct thread_slot *slot, uint32_t *place, uint32_t ref)
{
	uint32_t before = *place;

	__atomic_store_n(place, ref, __ATOMIC_RELEASE);
	if (HS_UNLIKELY(before)) {
		// Its free was not seen: given back by a function that is not hooked, or with its whole arena.
		const struct block_record *record = region_ref(before);

		count_up(slot->counters, COUNTER_replaced, 1);
		count_up(slot->counters, COUNTER_replaced_bytes, record->size);
		record_give(slot, before);
	}
}

static void record_allocation(struct thread_slot *slot, void *block, uint64_t size, const struct entry_frame *frame)
{
	uint32_t *place;
	uint32_t ref;

	if (HS_UNLIKELY(!block)) {
		count_up(slot->counters, COUNTER_failed_allocations, 1);
		return;
	}
	place = slot_for(slot, (uint64_t)block, size);
	if (HS_UNLIKELY(!place))
		return;
	ref = new_record(slot, size, frame);
	if (HS_LIKELY(ref))
		publish(slot, place, ref);
}

// The slot of a block that is recorded, NULL when it is not.
static uint32_t *recorded(uint64_t address)
{
	uint32_t *place = live_table_covers(address) ? live_table_find(address) : NULL;

	return place && *place ? place : NULL;
}

static uint64_t place_of(const struct entry_frame *frame) { return (uint64_t)&frame->return_address; }

// Whether the hook records: the thread has a slot and this call is not part of another. When not, the caller just runs the original.
static struct thread_slot *begin(const struct entry_frame *frame)
{
	struct thread_slot *slot = thread_slot_current();

	if (HS_UNLIKELY(!slot)) {
		__atomic_fetch_add(&region()->lost_no_slot, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	switch (enter(slot, place_of(frame))) {
	case OUTERMOST:
		return slot;
	case REENTERED:
		count_up(slot->counters, COUNTER_lost_signal_reentry, 1);
		return NULL;
	case NESTED:
		count_up(slot->counters, COUNTER_nested, 1);
		return NULL;
	}
	return NULL;
}

uint64_t hook_malloc(uint64_t size, uint64_t unused1, uint64_t unused2, const struct hook_island *island,
		     const struct entry_frame *frame)
{
	struct thread_slot *slot = begin(frame);
	void *block;

	(void)unused1;
	(void)unused2;
	if (HS_UNLIKELY(!slot))
		return (uint64_t)ORIGINAL(one_argument, island)(size);
	enter_original(slot);
	block = ORIGINAL(one_argument, island)(size);
	leave_original(slot);
	record_allocation(slot, block, size, frame);
	leave(slot);
	return (uint64_t)block;
}

// Rounds up inside; the profile shows what was asked for.
uint64_t hook_pvalloc(uint64_t size, uint64_t unused1, uint64_t unused2, const struct hook_island *island,
		      const struct entry_frame *frame)
{
	return hook_malloc(size, unused1, unused2, island, frame);
}

uint64_t hook_calloc(uint64_t count, uint64_t size, uint64_t unused, const struct hook_island *island,
		     const struct entry_frame *frame)
{
	struct thread_slot *slot = begin(frame);
	void *block;

	(void)unused;
	if (HS_UNLIKELY(!slot))
		return (uint64_t)ORIGINAL(two_arguments, island)(count, size);
	enter_original(slot);
	block = ORIGINAL(two_arguments, island)(count, size);
	leave_original(slot);
	record_allocation(slot, block, count * size, frame); // no overflow if it succeeded
	leave(slot);
	return (uint64_t)block;
}

uint64_t hook_memalign(uint64_t alignment, uint64_t size, uint64_t unused, const struct hook_island *island,
		       const struct entry_frame *frame)
{
	struct thread_slot *slot = begin(frame);
	void *block;

	(void)unused;
	if (HS_UNLIKELY(!slot))
		return (uint64_t)ORIGINAL(two_arguments, island)(alignment, size);
	enter_original(slot);
	block = ORIGINAL(two_arguments, island)(alignment, size);
	leave_original(slot);
	record_allocation(slot, block, size, frame);
	leave(slot);
	return (uint64_t)block;
}

uint64_t hook_posix_memalign(uint64_t result, uint64_t alignment, uint64_t size, const struct hook_island *island,
			     const struct entry_frame *frame)
{
	struct thread_slot *slot = begin(frame);
	int status;

	if (HS_UNLIKELY(!slot))
		return (uint64_t)(int64_t)ORIGINAL(memalign_arguments, island)((void **)result, alignment, size);
	enter_original(slot);
	status = ORIGINAL(memalign_arguments, island)((void **)result, alignment, size);
	leave_original(slot);
	record_allocation(slot, status == 0 ? *(void **)result : NULL, size, frame);
	leave(slot);
	return (uint64_t)(int64_t)status;
}

// What remains to be done after the original reallocation: `old` is the old block's record or 0.
static void finish_reallocation(struct thread_slot *slot, uint32_t *old_place, uint32_t old, void *block, uint64_t size,
				const struct entry_frame *frame)
{
	uint32_t *place;
	uint32_t ref = 0;

	if (!block && size) { // failed: the old block is still there
		count_up(slot->counters, COUNTER_failed_allocations, 1);
		if (old)
			__atomic_store_n(old_place, old, __ATOMIC_RELEASE);
		__atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
		return;
	}
	if (block) {
		place = slot_for(slot, (uint64_t)block, size);
		if (place)
			ref = new_record(slot, size, frame);
		if (ref) {
			slot->pending_new_address = (uint64_t)block;
			__atomic_store_n(&slot->pending_new, ref, __ATOMIC_RELEASE);
			publish(slot, place, ref);
		}
	}
	__atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->pending_new, 0, __ATOMIC_RELEASE);
	if (old) {
		// realloc(block, 0) that returned NULL has freed the block.
		count_up(slot->counters, block ? COUNTER_reallocations : COUNTER_frees, 1);
		record_give(slot, old);
	} else {
		count_up(slot->counters, block ? COUNTER_unknown_reallocations : COUNTER_unknown_frees, 1);
	}
}

// Takes the old block's record out of the table and keeps it pending.
static uint32_t begin_reallocation(struct thread_slot *slot, uint32_t *place, uint64_t address)
{
	uint32_t old = place ? *place : 0;

	if (old) {
		slot->pending_address = address;
		slot->pending_new = 0;
		__atomic_store_n(&slot->pending, old, __ATOMIC_RELEASE);
		__atomic_store_n(place, 0, __ATOMIC_RELEASE);
	}
	return old;
}

uint64_t hook_realloc(uint64_t old_block, uint64_t size, uint64_t unused, const struct hook_island *island,
		      const struct entry_frame *frame)
{
	struct thread_slot *slot = begin(frame);
	uint32_t *place;
	uint32_t old;
	void *block;

	(void)unused;
	if (HS_UNLIKELY(!slot))
		return (uint64_t)ORIGINAL(two_arguments, island)(old_block, size);
	place = recorded(old_block);
	old = begin_reallocation(slot, place, old_block);
	enter_original(slot);
	block = ORIGINAL(two_arguments, island)(old_block, size);
	leave_original(slot);
	if (old_block)
		finish_reallocation(slot, place, old, block, size, frame);
	else
		record_allocation(slot, block, size, frame);
	leave(slot);
	return (uint64_t)block;
}

uint64_t hook_reallocarray(uint64_t old_block, uint64_t count, uint64_t size, const struct hook_island *island,
			   const struct entry_frame *frame)
{
	struct thread_slot *slot = begin(frame);
	uint64_t total;
	bool overflow = __builtin_mul_overflow(count, size, &total);
	uint32_t *place;
	uint32_t old;
	void *block;

	if (HS_UNLIKELY(!slot))
		return (uint64_t)ORIGINAL(three_arguments, island)(old_block, count, size);
	place = recorded(old_block);
	old = begin_reallocation(slot, place, old_block);
	enter_original(slot);
	block = ORIGINAL(three_arguments, island)(old_block, count, size);
	leave_original(slot);
	if (old_block)
		finish_reallocation(slot, place, old, block, overflow ? UINT64_MAX : total, frame);
	else
		record_allocation(slot, block, total, frame);
	leave(slot);
	return (uint64_t)block;
}

void hook_before_free(uint64_t block, uint64_t frame_address)
{
	struct thread_slot *slot;
	enum nesting nesting;
	uint32_t *place;

	if (!block)
		return;
	slot = thread_slot_current();
	place = recorded(block);
	if (HS_UNLIKELY(!slot)) {
		if (place) // the record itself stays unused; the block must not be shown as live
			__atomic_store_n(place, 0, __ATOMIC_RELEASE);
		return;
	}
	nesting = enter(slot, frame_address);
	// A nested free of a recorded block is the program's own all the same (by a handler that a longjmp has left, say): what allocators free
	// within a call is not recorded.
	if (HS_LIKELY(place)) {
		uint32_t ref = *place;

		__atomic_store_n(place, 0, __ATOMIC_RELEASE);
		count_up(slot->counters, COUNTER_frees, 1);
		if (HS_LIKELY(nesting != REENTERED)) // a signal handler leaves the interrupted recorder's lists alone
			record_give(slot, ref);
	} else {
		count_up(slot->counters, nesting == NESTED ? COUNTER_nested : COUNTER_unknown_frees, 1);
	}
	if (HS_LIKELY(nesting == OUTERMOST))
		leave(slot);
}
