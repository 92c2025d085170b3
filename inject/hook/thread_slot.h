// SPDX-License-Identifier: Apache-2.0
// The state of each thread, without TLS: a slot found by the thread pointer.
#ifndef HEAPSNAP_INJECT_HOOK_THREAD_SLOT_H
#define HEAPSNAP_INJECT_HOOK_THREAD_SLOT_H

#include "inject/arch/processor.h"
#include "inject/payload.h"

// The slow way: claims a slot, or makes it that of a new thread that got the control block of one that ended. `sp`: the
// calling thread's stack pointer, about. NULL = it cannot have one: no thread pointer, one that others have too, or no
// slot left.
struct thread_slot *thread_slot_claim_at(uint64_t thread_pointer, uint64_t sp) HS_HIDDEN;

static inline struct thread_slot *thread_slot_claim(uint64_t thread_pointer)
{
	return thread_slot_claim_at(thread_pointer, (uint64_t)__builtin_frame_address(0));
}

// The slot no longer keeps the guard of a hook that was taken for abandoned. Where a coroutine may go back to it, the
// region does, for detach.
void thread_slot_forget(const struct thread_slot *slot, uint64_t guard) HS_HIDDEN;

// The hook comes back after all.
void thread_slot_recall(uint64_t guard) HS_HIDDEN;

// An allocation of a thread that has no slot. In the header, by its reason.
void thread_slot_count_lost(void) HS_HIDDEN;

// Another thread uses the slot at the same time: it has the same thread pointer. From now on neither is recorded.
void thread_slot_note_shared(struct thread_slot *slot) HS_HIDDEN;

// Bytes between a thread's control block and the calls with which glibc gives back the thread's cache, the last thing
// that it does in a thread: the static TLS of all libraries and some frames.
#define HS_START_FRAMES 65536u

// The thread may be at its end: its slot is free for another. If it calls again, it takes the slot back, or another
// one. After this the slot is not to be touched. pre: no hook of the thread runs, nor one that this call has
// interrupted (unwind_is_thread_end)
static inline void thread_slot_release(struct thread_slot *slot)
{
	uint64_t key = slot_key(slot);

	// Not where a flag has come meanwhile: thread_slot_note_shared, of another thread.
	if (!(key & HS_KEY_FLAGS) && !slot->shared.pending)
		__atomic_compare_exchange_n(&slot->shared.thread_pointer, &key, key | HS_KEY_RELEASED, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

// The kernel's id of the calling thread as its libc keeps it; 0 = unknown.
static inline uint32_t thread_current_tid(uint64_t thread_pointer)
{
	uint64_t offset = payload_header.config.tid_offset;

	return HS_LIKELY(offset != 0) ? *(const uint32_t *)(thread_pointer + offset) : 0;
}

// What tells the threads that have one control block after another: the kernel's id. Where it is unknown, the block's
// own address, which does not.
static inline uint32_t thread_mark(uint64_t thread_pointer)
{
	return *(const uint32_t *)(thread_pointer + payload_header.config.tid_offset);
}

// No address: no hook runs, but the last call that passed is watched.
#define HS_GUARD_WATCHES UINT64_C(1)

static inline bool thread_slot_on_own_stack(const struct thread_slot *slot, uint64_t place)
{
	return place >= slot->shared.stack_low && place < slot->shared.stack_high;
}

// The slots with a place of their own. pre: index < HS_THREAD_SLOTS
static inline struct thread_slot *thread_slot_place(uint32_t index)
{
	return region_at(HS_OFFSET_SLOTS + (uint64_t)index * HS_SLOT_STRIDE);
}

// The calling thread's own slot if it is where it is looked for first; else NULL. The slot of a thread that has ended,
// which had the same control block, is not to be touched before it is claimed: a signal handler would claim it in
// between, and find no hook running.
static inline struct thread_slot *thread_slot_at_hand(void)
{
	uint64_t thread_pointer = arch_thread_pointer();
	struct thread_slot *slot = thread_slot_place(thread_slot_index(thread_pointer));

	return HS_LIKELY(slot_key(slot) == thread_pointer && slot->mark == thread_mark(thread_pointer)) ? slot : NULL;
}

// The calling thread's slot; NULL = it cannot have one.
static inline struct thread_slot *thread_slot_current(void)
{
	struct thread_slot *slot = thread_slot_at_hand();

	return HS_LIKELY(slot != NULL) ? slot : thread_slot_claim(arch_thread_pointer());
}

#endif
