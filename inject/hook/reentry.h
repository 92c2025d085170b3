// SPDX-License-Identifier: Apache-2.0
// Which calls record: only the outermost hook of a thread.
//
// Context: in a hook. An allocator may call its own entry points (realloc calls malloc and free). The guard is the
// address of the outermost hook's return slot; a hook that runs deeper in the same stack is nested. One that runs at or
// above it shows that the guard is left over from a hook that longjmp or an exception has abandoned; so does a deeper
// one, on the same stack, when the words of that hook are gone. One exception: a handler whose alternate stack is an
// array in an outer frame of the same stack also runs above the guard. So the guards of hooks that were taken for
// abandoned are kept, and one that returns after all goes on (reentry_comes_back). (If its words still stand in a later
// function's frame, the guard is believed, and calls from there count as nested.)
//
// A hook that does not record leaves by the trampoline and has no frame while the original runs: an exception that
// passes a nested call meets no code of ours there.
#ifndef HEAPSNAP_INJECT_HOOK_REENTRY_H
#define HEAPSNAP_INJECT_HOOK_REENTRY_H

#include "inject/arch/entry_frame.h"
#include "inject/hook/thread_slot.h"
#include "inject/payload.h"
#include "inject/sampling/sampling_credit.h"

enum nesting {
	OUTERMOST,
	NESTED,
	REENTERED, // within the recorder: a handler's
	HANDLERS,  // while an original runs, or was left, on the thread's own stack: a signal handler's there, or, on
		   // another stack, a handler's or a coroutine's
};

static inline bool reentry_on_own_stack(const struct thread_slot *slot, uint64_t place)
{
	return thread_slot_on_own_stack(slot, place);
}

// Whether a hook that began at slot->shared.guard is still running below this one. On two different stacks, a hook on
// the thread's own stack can only be interrupted (by a handler on a signal stack), while one on another stack, left
// behind, is over.
//
// A guard that was left over may lie where nothing is mapped any more. So the stack is looked at only from the present
// call's place up to the guard: a thread that stands in its own stack has all above in use. On another stack nothing is
// read, and the guard is believed until the thread is back: but only what is near it is taken for a call from within
// (reentry_within).
static inline bool reentry_is_nested(const struct thread_slot *slot, uint64_t place)
{
	bool guard_on_own_stack = reentry_on_own_stack(slot, slot->shared.guard);

	if (guard_on_own_stack != reentry_on_own_stack(slot, place))
		return guard_on_own_stack;
	return place < slot->shared.guard &&
	       (!guard_on_own_stack ||
		arch_hook_runs(slot->shared.guard, place, payload_header.config.code, payload_header.image_size));
}

// Whether the outermost hook's function has been seen to call a hooked one.
static inline bool reentry_is_never_trusted(const struct thread_slot *slot)
{
	return __atomic_load_n(&payload_state()->hook_trust[slot->hook], __ATOMIC_RELAXED) == HS_TRUST_NEVER;
}

// Another call is to be watched at `place`. One whose return is awaited still was left where nobody could see it: by an
// exception, and then it is over, or by a coroutine, which may go back to it. It is counted as left until it comes
// back.
__attribute__((cold)) void reentry_displace(struct thread_slot *slot, uint64_t place) HS_HIDDEN;

static inline void reentry_make_room(struct thread_slot *slot, uint64_t place)
{
	if (HS_UNLIKELY(slot->awaits | slot->left_awaited_count))
		reentry_displace(slot, place);
}

// An operator that may throw runs without a frame of ours, so nothing tells a call from within it from one of the
// program's own. But while it runs its return address stands where it stood: in a call from within it, the return
// address lies further down, or, where it leaves by a jump, in the same place and is the same. (A caller that pushes
// something and calls another function looks like that too: its call is taken for nested, and the operator is not
// trusted.) Not on another stack, where nobody knows what can be read. Until the thread's next hook nothing passes.
static inline bool reentry_watch(struct thread_slot *slot, const struct entry_frame *frame)
{
	uint64_t place = slot->shared.guard;

	if (!reentry_on_own_stack(slot, place) || reentry_is_never_trusted(slot))
		return false;
	reentry_make_room(slot, place);
	slot->watched_return_slot = place;
	slot->watched_return = frame->return_address;
	credit_suspend(slot);
	slot->shared.in_original = 1;
	slot->shared.guard = HS_GUARD_WATCHES;
	return true;
}

// A watched function, whose exit points are hooked too: it runs without a frame of ours, and its end is seen. On
// another stack than the thread's own nobody knows what can be read: calls from within it are then taken for the
// program's own.
static inline void reentry_await(struct thread_slot *slot, const struct entry_frame *frame)
{
	uint64_t place = slot->shared.guard;

	slot->watched_return_slot = place;
	slot->watched_return = frame->return_address;
	slot->awaits = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!reentry_on_own_stack(slot, place)) {
		slot->shared.guard = 0;
		return;
	}
	if (slot->shared.interval != 1)
		credit_suspend(slot);
	slot->shared.in_original = 1;
	slot->shared.guard = HS_GUARD_WATCHES;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Whether it is the awaited function that returns. Then the recorder runs.
static inline bool reentry_has_returned(struct thread_slot *slot, const struct entry_frame *frame)
{
	uint64_t place = (uint64_t)&frame->return_address;

	if (!slot->awaits || slot->watched_return_slot != place || slot->watched_return != frame->return_address ||
	    (slot->shared.guard && slot->shared.guard != HS_GUARD_WATCHES))
		return false;
	if (slot->shared.guard && slot->shared.interval != 1)
		credit_resume(slot);
	slot->shared.in_original = 0;
	slot->shared.guard = place;
	slot->awaits = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

// Whether it is one that was displaced, and is to be recorded: *ret is what was kept of it, and the recorder runs. One
// that comes back while another hook runs is not recorded, and is counted.
__attribute__((cold)) bool reentry_finds_displaced(struct thread_slot *slot, const struct entry_frame *frame,
						   struct awaited_call *ret) HS_HIDDEN;

static inline bool reentry_returns_late(struct thread_slot *slot, const struct entry_frame *frame,
					struct awaited_call *ret)
{
	return HS_UNLIKELY(slot->awaits | slot->left_awaited_count) && reentry_finds_displaced(slot, frame, ret);
}

// A call has run in a frame of ours, or was watched, and called no hooked function. That of another thread may be
// counted in its place: it is only to be often enough.
static inline void reentry_count_call(const struct thread_slot *slot)
{
	uint8_t *trust = &payload_state()->hook_trust[slot->hook];
	uint8_t before = __atomic_load_n(trust, __ATOMIC_RELAXED);

	if (before < HS_TRUST_CALLS)
		__atomic_compare_exchange_n(trust, &before, (uint8_t)(before + 1), false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

// While the recorder runs, a call from an outer frame of the same stack comes from a signal handler, unless another
// handler has left the recorder by longjmp. The two look alike, and two recorders in one slot would use a record twice.
// So such calls are not recorded; after 64 of them, without one allocation recorded, the recorder is believed to be
// gone.
#define HS_DOUBTED_CALLS 64u

// On stacks of which nothing is known but addresses, a call so far below the outermost hook's, bytes, is taken for
// another coroutine's; a nearer one for part of the hook's. Allocators have small frames; stacks of coroutines are
// mostly at least as large.
#define HS_NEAR_CALL 65536u

// Nobody's allocator calls itself so often within one call, but where it fills a whole pool. A walk costs about as much
// as a recorded allocation: it is nothing to so many calls.
#define HS_NESTED_CALLS 256u

// NESTED or HANDLERS, of a call during the original of the outermost hook, or during the watched call.
__attribute__((cold)) enum nesting reentry_within(const struct thread_slot *slot, uint64_t place) HS_HIDDEN;

// Counts a nested call that is to give a block. Returns true where too many were: then it was proved that the call they
// seemed to be in was left, and this one is the outermost.
__attribute__((cold)) bool reentry_is_one_too_many(struct thread_slot *slot, const struct entry_frame *frame,
						   const struct hook_island *island) HS_HIDDEN;

// Whether the watched call runs. If not, the watch is over. One call from within it tells that there are such; a second
// one is taken for the program's own: a caller may have left the watched return address standing below all that it does
// later.
__attribute__((cold)) bool reentry_watched_runs(struct thread_slot *slot, uint64_t place,
						const struct hook_island *island) HS_HIDDEN;

// Whether the hook of the guard is left, as it seems from `place`.
__attribute__((cold)) bool reentry_is_left(struct thread_slot *slot, uint64_t place) HS_HIDDEN;

// Whether the hook with the guard `place`, whose original has returned, was wrongly taken for abandoned. Then it goes
// on: the handler that interrupted it has returned, or its coroutine runs again.
__attribute__((cold)) bool reentry_comes_back(struct thread_slot *slot, uint64_t place,
					      const struct hook_island *island) HS_HIDDEN;

static inline enum nesting reentry_enter(struct thread_slot *slot, uint64_t place, const struct hook_island *island)
{
	if (HS_UNLIKELY(slot->shared.guard) &&
	    (slot->shared.guard != HS_GUARD_WATCHES || reentry_watched_runs(slot, place, island))) {
		if (slot->shared.guard == HS_GUARD_WATCHES || reentry_is_nested(slot, place))
			return slot->shared.in_original ? reentry_within(slot, place) : REENTERED;
		if (!reentry_is_left(slot, place))
			return REENTERED;
	}
	slot->shared.in_original = 0;
	slot->hook = island->hook_index;
	slot->shared.guard = place;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return OUTERMOST;
}

static inline void reentry_leave(struct thread_slot *slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->shared.guard = 0;
}

static inline void reentry_enter_original(struct thread_slot *slot)
{
	if (HS_UNLIKELY(slot->shared.interval != 1))
		credit_suspend(slot);
	slot->shared.in_original = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// False in a child that was forked by a signal handler while it interrupted the original: the slot is not there, and
// the hook is to return what the original did.
static inline bool reentry_leave_original(struct thread_slot *slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (HS_UNLIKELY(!region_is_present()))
		return false;
	slot->shared.in_original = 0;
	if (HS_UNLIKELY(slot->shared.interval != 1))
		credit_resume(slot);
	return true;
}

static inline uint64_t reentry_place(const struct entry_frame *frame) { return (uint64_t)&frame->return_address; }

// The thread's slot when the hook records: it has one, and this call is not part of another. NULL: not, and that is
// counted.
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
	case HANDLERS:
		count_up(slot->shared.counters, COUNTER_lost_signal_reentry, 1);
		return NULL;
	case NESTED:
		return reentry_is_one_too_many(slot, frame, island) ? slot : NULL;
	}
	return NULL;
}

// Whether another thread has the same slot: while this hook's original ran the guard became another's, or none. Within
// an original nothing of the same thread changes it, but what is nested, which does not; or a handler on the same
// stack, which has come to its end.
static inline bool reentry_is_shared(struct thread_slot *slot, const struct entry_frame *frame,
				     const struct hook_island *island)
{
	return HS_UNLIKELY(slot->shared.guard != reentry_place(frame)) &&
	       !reentry_comes_back(slot, reentry_place(frame), island);
}

// Whether the outermost hook's function is known to call no hooked function, so that it may run without a frame of
// ours: nothing then tells a call from within it from one of the program's own.
static inline bool reentry_is_trusted(const struct thread_slot *slot)
{
	return __atomic_load_n(&payload_state()->hook_trust[slot->hook], __ATOMIC_RELAXED) == HS_TRUST_CALLS;
}

#endif
