// SPDX-License-Identifier: Apache-2.0
// Which calls record: only the outermost hook of a thread.
//
// Context: in a hook. An allocator may call its own entry points (realloc calls malloc and free). The guard holds where the outermost
// hook's return address lies; a hook that runs deeper in the same stack is nested, and one that runs at or above it tells that the
// guard is left over from a hook that longjmp or an exception has abandoned. So does one that runs deeper when the words that such a hook
// has on the stack are no longer there; from another stack nobody looks. One that runs above it may also be a handler's, on an alternate stack that is an
// array in a frame further out: the hook that was taken for left then comes back, and finds its place kept. (When they lie untouched in the frame of some function that was called since, the guard is believed,
// and calls from there count as nested.)
//
// A hook that does not record leaves by the trampoline and has no frame while the original runs: an exception that passes a nested call
// meets no code of ours there.
#ifndef HEAPSNAP_INJECT_REENTRY_H
#define HEAPSNAP_INJECT_REENTRY_H

#include "arch.h"
#include "pass.h"
#include "payload.h"
#include "thread_slot.h"

enum nesting {
	OUTERMOST,
	NESTED,
	REENTERED, // within the recorder: a handler's
	ELSEWHERE, // on another stack while an original runs on the thread's own, or was left there: a handler's, or a coroutine's
};

// No address: no hook runs, but the last call that passed is watched.
#define HS_GUARD_WATCHES UINT64_C(1)

static inline bool reentry_on_own_stack(const struct thread_slot *slot, uint64_t place)
{
	return place >= slot->stack_low && place < slot->stack_high;
}

// Whether a hook that began at slot->guard is still running below this one. On two different stacks, a hook on the thread's own stack
// can only be interrupted (by a handler on a signal stack), while one on another stack, left behind, is over.
//
// A guard that was left over may lie where nothing is mapped any more. So the stack is looked at only from the present call's place up to the guard: a
// thread that stands in its own stack has all above in use. On another stack nothing is read, and the guard is believed until the thread is back.
static inline bool reentry_is_nested(const struct thread_slot *slot, uint64_t place)
{
	bool guard_on_own_stack = reentry_on_own_stack(slot, slot->guard);

	if (guard_on_own_stack != reentry_on_own_stack(slot, place))
		return guard_on_own_stack;
	return place < slot->guard &&
	       (!guard_on_own_stack || arch_hook_runs(slot->guard, place, payload_header.config.code, payload_header.image_size));
}

// Whether a call is on another stack than the thread's own while the outermost hook's, or the watched one, is not.
static inline bool reentry_is_elsewhere(const struct thread_slot *slot, uint64_t place)
{
	return !reentry_on_own_stack(slot, place) && (slot->guard == HS_GUARD_WATCHES || reentry_on_own_stack(slot, slot->guard));
}

// Whether the outermost hook's function has been seen to call a hooked one.
static inline bool reentry_is_never_trusted(const struct thread_slot *slot)
{
	return __atomic_load_n(&payload_state()->hook_trust[slot->hook], __ATOMIC_RELAXED) == HS_TRUST_NEVER;
}

// An operator that may throw runs without a frame of ours, so nothing tells a call from within it from one of the program's own. But while it runs
// its return address stands where it stood: in a call from within it, the return address lies further down, or, where it leaves by a jump,
// in the same place and is the same. (A caller that pushes something and calls another function looks like that too: its call is taken for nested,
// and the operator is not trusted.) Not on another stack, where nobody knows what can be read. Until the thread's next hook nothing passes.
static inline bool reentry_watch(struct thread_slot *slot, const struct entry_frame *frame)
{
	uint64_t place = slot->guard;

	if (!reentry_on_own_stack(slot, place) || reentry_is_never_trusted(slot))
		return false;
	slot->watched_place = place;
	slot->watched_return = frame->return_address;
	pass_suspend(slot);
	slot->in_original = 1;
	slot->guard = HS_GUARD_WATCHES;
	return true;
}

// A watched function, whose ways out are hooked too: it runs without a frame of ours, and its end is seen. On another stack than the thread's own
// nobody knows what can be read: calls from within it are then taken for the program's own.
static inline void reentry_await(struct thread_slot *slot, const struct entry_frame *frame)
{
	uint64_t place = slot->guard;

	slot->watched_place = place;
	slot->watched_return = frame->return_address;
	slot->awaits = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!reentry_on_own_stack(slot, place)) {
		slot->guard = 0;
		return;
	}
	if (slot->interval != 1)
		pass_suspend(slot);
	slot->in_original = 1;
	slot->guard = HS_GUARD_WATCHES;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Whether it is the awaited function that returns. Then the recorder runs.
static inline bool reentry_has_returned(struct thread_slot *slot, const struct entry_frame *frame)
{
	uint64_t place = (uint64_t)&frame->return_address;

	if (!slot->awaits || slot->watched_place != place || slot->watched_return != frame->return_address ||
	    (slot->guard && slot->guard != HS_GUARD_WATCHES))
		return false;
	if (slot->guard && slot->interval != 1)
		pass_resume(slot);
	slot->in_original = 0;
	slot->guard = place;
	slot->awaits = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

// A call has run in a frame of ours, or was watched, and called no hooked function. That of another thread may be counted in its place: it is only
// to be often enough.
static inline void reentry_count_call(const struct thread_slot *slot)
{
	uint8_t *trust = &payload_state()->hook_trust[slot->hook];
	uint8_t before = __atomic_load_n(trust, __ATOMIC_RELAXED);

	if (before < HS_TRUST_CALLS)
		__atomic_compare_exchange_n(trust, &before, (uint8_t)(before + 1), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Whether the watched call runs. If not, the watch is over. One call from within it tells that there are such; a second one is taken for the
// program's own: a caller may have left the watched return address standing below all that it does later.
__attribute__((noinline, cold)) static bool reentry_watched_runs(struct thread_slot *slot, uint64_t place, const struct hook_island *island)
{
	uint64_t watched = slot->watched_place;
	bool on_own_stack = reentry_on_own_stack(slot, place);
	bool stands = on_own_stack && place <= watched && (place < watched || island->hook_index != slot->hook) &&
		      *(const uint64_t *)watched == slot->watched_return;

	// A function whose return is awaited runs until that is seen, or until its return address is gone: then it was left by an exception.
	if (slot->awaits) {
		if (stands || !on_own_stack)
			return true;
		slot->awaits = 0;
		slot->in_original = 0;
		slot->guard = 0;
		if (slot->interval != 1)
			pass_resume(slot);
		count_up(slot->counters, COUNTER_abandoned, 1);
		return false;
	}
	// Not in an original: a handler, on whichever stack, that interrupts the recorder in a release from within the call (block_goes).
	if (slot->in_original ? stands && !reentry_is_never_trusted(slot) : stands || !on_own_stack)
		return true;
	reentry_count_call(slot);
	slot->in_original = 0;
	slot->guard = 0;
	pass_resume(slot);
	return false;
}

// While the recorder runs, a call further out on the same stack is a handler's, if the recorder was not left by another handler's longjmp. Nothing tells which
// it is, and two recorders in one slot would hand out the same record twice. So the call is not recorded, and only after many such calls, with not one
// allocation recorded in between, the recorder is believed to be gone.
#define HS_DOUBTED_CALLS 64u

// Whether the hook of the guard is left, as it seems from `place`.
__attribute__((noinline, cold)) static bool reentry_is_left(struct thread_slot *slot, uint64_t place)
{
	uint64_t guard = slot->guard, recorded = slot->counters[COUNTER_allocations];

	if (!slot->in_original && reentry_on_own_stack(slot, place) && reentry_on_own_stack(slot, guard) && place > guard) {
		if (slot->doubted_guard != guard || slot->doubted_at != recorded) {
			slot->doubted_guard = guard;
			slot->doubted_at = recorded;
			slot->doubted_calls = 0;
		}
		if (slot->doubted_calls++ < HS_DOUBTED_CALLS)
			return false;
	}
	slot->left_guard = guard;
	count_up(slot->counters, COUNTER_abandoned, 1);
	return true;
}

// Whether the hook with the guard `place`, whose original has returned, was taken for left, and wrongly. Then it goes on: whoever interrupted it has come
// to his end.
__attribute__((noinline, cold)) static bool reentry_comes_back(struct thread_slot *slot, uint64_t place)
{
	if (slot->left_guard != place || slot->guard)
		return false;
	slot->guard = place;
	slot->left_guard = 0;
	count_up(slot->counters, COUNTER_abandoned, (uint64_t)-1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static inline enum nesting reentry_enter(struct thread_slot *slot, uint64_t place, const struct hook_island *island)
{
	if (HS_UNLIKELY(slot->guard) && (slot->guard != HS_GUARD_WATCHES || reentry_watched_runs(slot, place, island))) {
		if (slot->guard == HS_GUARD_WATCHES || reentry_is_nested(slot, place)) {
			if (!slot->in_original)
				return REENTERED;
			if (reentry_is_elsewhere(slot, place))
				return ELSEWHERE;
			__atomic_store_n(&payload_state()->hook_trust[slot->hook], HS_TRUST_NEVER, __ATOMIC_RELAXED);
			return NESTED;
		}
		if (!reentry_is_left(slot, place))
			return REENTERED;
	}
	slot->in_original = 0;
	slot->hook = island->hook_index;
	slot->guard = place;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return OUTERMOST;
}

static inline void reentry_leave(struct thread_slot *slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->guard = 0;
}

static inline void reentry_enter_original(struct thread_slot *slot)
{
	if (HS_UNLIKELY(slot->interval != 1))
		pass_suspend(slot);
	slot->in_original = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// False in a child that was forked by a signal handler while it interrupted the original: the slot is not there, and the hook is to return
// what the original did.
static inline bool reentry_leave_original(struct thread_slot *slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (HS_UNLIKELY(!region_is_present()))
		return false;
	slot->in_original = 0;
	if (HS_UNLIKELY(slot->interval != 1))
		pass_resume(slot);
	return true;
}

static inline uint64_t reentry_place(const struct entry_frame *frame) { return (uint64_t)&frame->return_address; }

// The frame of the outermost hook, if it is one that has a frame.
static inline const struct entry_frame *reentry_frame(const struct thread_slot *slot)
{
	return (const struct entry_frame *)(slot->guard - offsetof(struct entry_frame, return_address));
}

// The thread's slot when the hook records: it has one, and this call is not part of another. NULL: not, and that is counted.
static inline struct thread_slot *reentry_begin(const struct entry_frame *frame, const struct hook_island *island)
{
	struct thread_slot *slot = thread_slot_current();

	if (HS_UNLIKELY(!slot)) {
		thread_slot_count_lost();
		return NULL;
	}
	switch (reentry_enter(slot, reentry_place(frame), island)) {
	case OUTERMOST:
		return slot;
	case REENTERED:
	case ELSEWHERE:
		count_up(slot->counters, COUNTER_lost_signal_reentry, 1);
		return NULL;
	case NESTED:
		count_up(slot->counters, COUNTER_nested, 1);
		return NULL;
	}
	return NULL;
}

// Whether another thread has the same slot: while this hook's original ran the guard became another's, or none. Within an original nothing of the same
// thread changes it, but what is nested, which does not; or a handler on the same stack, which has come to its end.
static inline bool reentry_is_shared(struct thread_slot *slot, const struct entry_frame *frame)
{
	return HS_UNLIKELY(slot->guard != reentry_place(frame)) && !reentry_comes_back(slot, reentry_place(frame));
}

// Whether the outermost hook's function is known to call no hooked function, so that it may run without a frame of ours: nothing then
// tells a call from within it from one of the program's own.
static inline bool reentry_is_trusted(const struct thread_slot *slot)
{
	return __atomic_load_n(&payload_state()->hook_trust[slot->hook], __ATOMIC_RELAXED) == HS_TRUST_CALLS;
}

#endif
