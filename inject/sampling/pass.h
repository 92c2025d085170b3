// SPDX-License-Identifier: Apache-2.0
// A thread's pass: how many bytes of unsampled allocations may go by without the C code (abi/payload_header.h;
// arch/*/entry.S reads it).
//
// Context: in a hook. An entry belongs to one thread pointer; who finds it taken has none, and counts down in its slot.
// A signal handler of the same thread may use the pass at any instruction: it subtracts and goes by, which changes
// nothing but the countdown.
#ifndef HEAPSNAP_INJECT_SAMPLING_PASS_H
#define HEAPSNAP_INJECT_SAMPLING_PASS_H

#include "inject/payload.h"

static inline struct thread_pass *pass_entry(const struct thread_slot *slot)
{
	return &payload_state()->passes[thread_pass_index(slot_key(slot))];
}

// Where the thread counts down.
static inline int64_t *pass_countdown(struct thread_slot *slot)
{
	struct thread_pass *pass = pass_entry(slot);

	return __atomic_load_n(&pass->thread_pointer, __ATOMIC_RELAXED) == slot_key(slot) ? &pass->countdown
											  : &slot->countdown;
}

// From now on `bytes` may go by.
static inline void pass_give(struct thread_slot *slot, int64_t bytes)
{
	struct thread_pass *pass = pass_entry(slot);
	uint64_t owner = __atomic_load_n(&pass->thread_pointer, __ATOMIC_RELAXED), key = slot_key(slot);

	// It mostly is the thread's already: no locked instruction then.
	if (!owner &&
	    __atomic_compare_exchange_n(&pass->thread_pointer, &owner, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		owner = key;
	if (owner == key) {
		pass->rest = slot->gap_rest;
		pass->interval = slot->interval;
		pass->generation = slot->sampling_generation;
		__atomic_store_n(&pass->countdown, bytes, __ATOMIC_RELAXED);
		// if the tool takes the pass, a fresh gap is drawn: nobody knows then how much of this one is left
		bytes = 0;
	}
	slot->countdown = bytes;
}

// A new thread goes on with the pass that an earlier one of the same thread pointer has left, in this slot or another:
// its calls have counted down from that before they came to the C code. Without one, the slot's gap is as good.
static inline void pass_inherit(struct thread_slot *slot)
{
	const struct thread_pass *pass = pass_entry(slot);

	if (__atomic_load_n(&pass->thread_pointer, __ATOMIC_RELAXED) != slot_key(slot) || !pass->interval)
		return;
	slot->sampling_generation = pass->generation;
	slot->gap_rest = pass->rest;
	slot->countdown = 0; // of the slot's own gap this was the other part
	slot->interval = pass->interval;
}

// From now on every call of the thread comes to the C code, and none looks at a pass in vain.
static inline void pass_return(struct thread_slot *slot)
{
	struct thread_pass *pass = pass_entry(slot);

	if (__atomic_load_n(&pass->thread_pointer, __ATOMIC_RELAXED) != slot_key(slot))
		return;
	__atomic_store_n(&pass->countdown, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&pass->thread_pointer, 0, __ATOMIC_RELEASE);
}

// The thread's next call comes to the C code, which finds no gap begun.
static inline void pass_end(struct thread_slot *slot) { __atomic_store_n(pass_countdown(slot), 0, __ATOMIC_RELAXED); }

// While an original runs below a frame of ours, its own calls of hooked functions are neither counted nor let by
// unseen. A hook that is abandoned there leaves a pass of 0: the next call comes to the C code.
static inline void pass_suspend(struct thread_slot *slot)
{
	slot->suspended = __atomic_exchange_n(pass_countdown(slot), 0, __ATOMIC_RELAXED);
}

static inline void pass_resume(struct thread_slot *slot)
{
	__atomic_store_n(pass_countdown(slot), slot->suspended, __ATOMIC_RELAXED);
	slot->suspended = 0; // where the settings change within the next original, there is nothing to be resumed
}

#endif
