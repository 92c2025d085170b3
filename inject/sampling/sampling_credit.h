// SPDX-License-Identifier: Apache-2.0
// A thread's sampling credit: how many bytes it may still allocate unsampled before the C code looks at it again
// (abi/payload_header.h; arch/*/entry.S reads it).
//
// Context: in a hook. An entry belongs to one thread pointer. A thread that finds it taken has no credit, and counts
// down in its slot. A signal handler of the same thread may use the sampling credit at any instruction: it subtracts
// and goes on, which changes nothing but the countdown.
#ifndef HEAPSNAP_INJECT_SAMPLING_SAMPLING_CREDIT_H
#define HEAPSNAP_INJECT_SAMPLING_SAMPLING_CREDIT_H

#include "inject/payload.h"

static inline struct sampling_credit *credit_entry(const struct thread_slot *slot)
{
	return &payload_state()->credits[sampling_credit_index(slot_key(slot))];
}

// Where the thread counts down.
static inline int64_t *credit_countdown(struct thread_slot *slot)
{
	struct sampling_credit *credit = credit_entry(slot);

	return __atomic_load_n(&credit->thread_pointer, __ATOMIC_RELAXED) == slot_key(slot) ? &credit->countdown
											    : &slot->countdown;
}

// From now on `bytes` may be allocated without the C code.
static inline void credit_give(struct thread_slot *slot, int64_t bytes)
{
	struct sampling_credit *credit = credit_entry(slot);
	uint64_t owner = __atomic_load_n(&credit->thread_pointer, __ATOMIC_RELAXED), key = slot_key(slot);

	// It mostly is the thread's already: no locked instruction then.
	if (!owner && __atomic_compare_exchange_n(&credit->thread_pointer, &owner, key, false, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED))
		owner = key;
	if (owner == key) {
		credit->rest = slot->gap_rest;
		credit->interval = slot->shared.interval;
		credit->generation = slot->sampling_generation;
		__atomic_store_n(&credit->countdown, bytes, __ATOMIC_RELAXED);
		// if the tool takes the sampling credit, a fresh gap is drawn: nobody knows then how much of this one
		// is left
		bytes = 0;
	}
	slot->countdown = bytes;
}

// A new thread goes on with the sampling credit that an earlier one of the same thread pointer has left, in this slot
// or another: its calls have counted down from that before they came to the C code. Without one, the slot's gap is as
// good.
static inline void credit_inherit(struct thread_slot *slot)
{
	const struct sampling_credit *credit = credit_entry(slot);

	if (__atomic_load_n(&credit->thread_pointer, __ATOMIC_RELAXED) != slot_key(slot) || !credit->interval)
		return;
	slot->sampling_generation = credit->generation;
	slot->gap_rest = credit->rest;
	slot->countdown = 0; // of the slot's own gap this was the other part
	slot->shared.interval = credit->interval;
}

// From now on every call of the thread comes to the C code, and none looks at a credit that does not help.
static inline void credit_give_back(struct thread_slot *slot)
{
	struct sampling_credit *credit = credit_entry(slot);

	if (__atomic_load_n(&credit->thread_pointer, __ATOMIC_RELAXED) != slot_key(slot))
		return;
	__atomic_store_n(&credit->countdown, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&credit->thread_pointer, 0, __ATOMIC_RELEASE);
}

// The thread's next call comes to the C code, which finds no gap begun.
static inline void credit_end(struct thread_slot *slot)
{
	__atomic_store_n(credit_countdown(slot), 0, __ATOMIC_RELAXED);
}

// The thread takes over the settings in force at its next allocation.
static inline void credit_ask_anew(struct thread_slot *slot)
{
	slot->shared.interval = 0;
	credit_end(slot);
}

// While an original runs below a frame of ours, its own calls of hooked functions are neither counted nor let by
// unseen. A hook that is abandoned there leaves a sampling credit of 0: the next call comes to the C code.
static inline void credit_suspend(struct thread_slot *slot)
{
	slot->suspended = __atomic_exchange_n(credit_countdown(slot), 0, __ATOMIC_RELAXED);
}

static inline void credit_resume(struct thread_slot *slot)
{
	__atomic_store_n(credit_countdown(slot), slot->suspended, __ATOMIC_RELAXED);
	slot->suspended = 0; // where the settings change within the next original, there is nothing to be resumed
}

#endif
