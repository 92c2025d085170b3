// SPDX-License-Identifier: Apache-2.0
// The seldom ways of reentry.h: compiled once, and small.
#include "inject/hook/reentry.h"

#include "inject/arch/handler_frame.h"
#include "inject/walk/modules.h"
#include "unwind/unwind_rule.h"

// The place of the outermost hook, or of the watched call.
static uint64_t reentry_outer_place(const struct thread_slot *slot)
{
	return slot->shared.guard == HS_GUARD_WATCHES ? slot->watched_return_slot : slot->shared.guard;
}

// Whether a call during the one at `outer` is on another stack: a handler's, or a coroutine's.
static bool reentry_is_elsewhere(const struct thread_slot *slot, uint64_t place, uint64_t outer)
{
	return !reentry_on_own_stack(slot, place) &&
	       (reentry_on_own_stack(slot, outer) || outer - place >= HS_NEAR_CALL);
}

// A signal handler's call that is deeper in the thread's own stack than the outer one: its frame lies between the two.
// Where that begins neither in the page of the one nor of the other it is not found. (A frame of a handler that has
// ended, in a part of an allocator's frame that nobody has written since, looks the same: the call is then counted as
// lost, and was nested.)
enum nesting reentry_within(const struct thread_slot *slot, uint64_t place)
{
	uint64_t outer = reentry_outer_place(slot);

	if (reentry_is_elsewhere(slot, place, outer))
		return HANDLERS;
	__atomic_store_n(&payload_state()->hook_trust[slot->hook], HS_TRUST_NEVER, __ATOMIC_RELAXED);
	return reentry_on_own_stack(slot, place) && reentry_on_own_stack(slot, outer) &&
			       arch_has_signal_frame(place, outer)
		       ? HANDLERS
		       : NESTED;
}

enum meeting {
	UNKNOWN, // the walk ends before, or guesses
	MEETS,   // a frame ends there, or the walk comes to code of the payload's: a hook runs
	PASSES,  // no frame ends there
};

// Whether a walk outwards from a hook's caller meets the call whose return address lies at `place`. So seldom that the
// rules are not kept.
static enum meeting reentry_meets(const struct thread_slot *slot, const struct entry_frame *entry, uint64_t place)
{
	uint64_t low = reentry_place(entry);
	struct memory_span stack = { (const uint8_t *)low, low, slot->shared.stack_high - low };
	struct walk_registers registers = { entry->return_address, low + 8, entry->fp };
	bool exact = false;

	if (!reentry_on_own_stack(slot, low) || !reentry_on_own_stack(slot, place))
		return UNKNOWN;
	for (unsigned i = 0; i < HS_DEPTH_MAX && registers.sp < place + 8; i++) {
		uint64_t rule, cfa;

		if (registers.pc - payload_header.config.code < payload_header.image_size)
			return MEETS;
		rule = modules_decode_rule(registers.pc, exact);
		if (UNWIND_KIND(rule) == UNWIND_FRAME_POINTER ||
		    unwind_step(rule, &stack, &registers, &cfa, &exact) != STEP_OK)
			return UNKNOWN;
	}
	return registers.sp < place + 8 ? UNKNOWN : registers.sp == place + 8 ? MEETS : PASSES;
}

// The awaited call was left on the thread's own stack, and its sampling credit goes on.
static void reentry_stop_awaiting(struct thread_slot *slot)
{
	slot->awaits = 0;
	slot->shared.in_original = 0;
	slot->shared.guard = 0;
	if (slot->shared.interval != 1)
		credit_resume(slot);
	count_up(slot->shared.counters, COUNTER_abandoned, 1);
}

// What a longjmp has left may stand for ever, in a frame of a later function that never writes there: all that the
// thread does from there on would be nested. So after many calls that were all nested in one, a walk tells: if it comes
// past the place of that one without a frame that ends there, the call was left, and those were lost. Where it can tell
// nothing, what follows is counted as lost. One and the same outer call: between two of the same place either an
// allocation is recorded, or the gap to the next sample gets shorter.
bool reentry_is_one_too_many(struct thread_slot *slot, const struct entry_frame *frame,
			     const struct hook_island *island)
{
	uint64_t outer = reentry_outer_place(slot),
		 at = slot->shared.counters[COUNTER_allocations] + (uint64_t)slot->suspended;
	enum meeting meeting;

	if (slot->nested_in != outer || slot->nested_at != at) {
		slot->nested_in = outer;
		slot->nested_at = at;
		slot->nested_calls = 0;
	}
	slot->nested_calls++;
	if (slot->nested_calls % HS_NESTED_CALLS != 0) {
		count_up(slot->shared.counters,
			 slot->nested_calls < HS_NESTED_CALLS ? COUNTER_nested : COUNTER_lost_signal_reentry, 1);
		return false;
	}
	meeting = reentry_meets(slot, frame, outer);
	if (meeting == PASSES) {
		if (slot->nested_calls == HS_NESTED_CALLS) {
			count_up(slot->shared.counters, COUNTER_nested, -(uint64_t)(HS_NESTED_CALLS - 1));
			count_up(slot->shared.counters, COUNTER_lost_signal_reentry, HS_NESTED_CALLS - 1);
		}
		slot->nested_in = 0;
		if (slot->shared.guard == HS_GUARD_WATCHES)
			reentry_stop_awaiting(slot);
		else
			(void)reentry_is_left(slot, reentry_place(frame));
		slot->shared.in_original = 0;
		slot->hook = island->hook_index;
		slot->shared.guard = reentry_place(frame);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return true;
	}
	count_up(slot->shared.counters, meeting == MEETS ? COUNTER_nested : COUNTER_lost_signal_reentry, 1);
	if (meeting == MEETS)
		slot->nested_in = 0; // it runs: as many again
	return false;
}

void reentry_displace(struct thread_slot *slot, uint64_t place)
{
	const struct awaited_call call = { slot->watched_return_slot, slot->watched_return,  slot->awaited_size,
					   slot->awaited_interval,    slot->awaited_samples, 0 };
	struct awaited_call *kept;

	// What stands at the new one's place is over.
	for (unsigned i = 0; i < HS_LEFT_AWAITED; i++)
		if (slot->left_awaited[i].place == place) {
			slot->left_awaited[i].place = 0;
			slot->left_awaited_count--;
		}
	if (!slot->awaits)
		return;
	slot->awaits = 0;
	count_up(slot->shared.counters, COUNTER_abandoned, 1);
	if (call.place == place || reentry_on_own_stack(slot, call.place))
		return;
	kept = &slot->left_awaited[slot->left_awaited_next];
	for (unsigned i = 0; i < HS_LEFT_AWAITED && kept->place; i++)
		if (!slot->left_awaited[i].place)
			kept = &slot->left_awaited[i];
	if (kept->place)
		slot->left_awaited_next = (slot->left_awaited_next + 1) % HS_LEFT_AWAITED;
	else
		slot->left_awaited_count++;
	*kept = call;
}

bool reentry_finds_displaced(struct thread_slot *slot, const struct entry_frame *frame, struct awaited_call *ret)
{
	uint64_t place = reentry_place(frame);

	if (slot->awaits && slot->watched_return_slot == place && slot->watched_return == frame->return_address) {
		slot->awaits = 0; // during another hook, that a coroutine has left
		count_up(slot->shared.counters, COUNTER_lost_signal_reentry, 1);
		return false;
	}
	for (unsigned i = 0; i < HS_LEFT_AWAITED; i++) {
		*ret = slot->left_awaited[i];
		if (ret->place != place || ret->return_address != frame->return_address)
			continue;
		slot->left_awaited[i].place = 0;
		slot->left_awaited_count--;
		if (slot->shared.guard)
			return false; // it stays counted as left
		slot->shared.guard = place;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		count_up(slot->shared.counters, COUNTER_abandoned, (uint64_t)-1);
		return true;
	}
	return false;
}

bool reentry_watched_runs(struct thread_slot *slot, uint64_t place, const struct hook_island *island)
{
	uint64_t watched = slot->watched_return_slot;
	bool on_own_stack = reentry_on_own_stack(slot, place);
	bool stands = on_own_stack && place <= watched && (place < watched || island->hook_index != slot->hook) &&
		      *(const uint64_t *)watched == slot->watched_return;

	// A function whose return is awaited runs until that is seen, or until its return address is gone: then it was
	// left by an exception.
	if (slot->awaits) {
		if (stands || !on_own_stack)
			return true;
		reentry_stop_awaiting(slot);
		return false;
	}
	// Not in an original: a handler, on whichever stack, that interrupts the recorder in a release from within the
	// call (block_goes).
	if (slot->shared.in_original ? stands && !reentry_is_never_trusted(slot) : stands || !on_own_stack)
		return true;
	reentry_count_call(slot);
	slot->shared.in_original = 0;
	slot->shared.guard = 0;
	credit_resume(slot);
	return false;
}

// Where the slot keeps the guard of a hook that was taken for abandoned; NULL: it was not, or too many others have been
// since.
static uint64_t *reentry_left_guard(struct thread_slot *slot, uint64_t guard)
{
	for (unsigned i = 0; i < HS_LEFT_GUARDS; i++)
		if (slot->shared.left_guards[i] == guard)
			return &slot->shared.left_guards[i];
	return NULL;
}

bool reentry_is_left(struct thread_slot *slot, uint64_t place)
{
	uint64_t guard = slot->shared.guard, recorded = slot->shared.counters[COUNTER_allocations];

	if (!slot->shared.in_original && reentry_on_own_stack(slot, place) && reentry_on_own_stack(slot, guard) &&
	    place > guard) {
		if (slot->doubted_guard != guard || slot->doubted_at != recorded) {
			slot->doubted_guard = guard;
			slot->doubted_at = recorded;
			slot->doubted_calls = 0;
		}
		if (slot->doubted_calls++ < HS_DOUBTED_CALLS)
			return false;
	}
	if (!reentry_left_guard(slot, guard)) {
		thread_slot_forget(slot, slot->shared.left_guards[slot->left_next]);
		slot->shared.left_guards[slot->left_next] = guard;
		slot->left_next = (slot->left_next + 1) % HS_LEFT_GUARDS;
		slot->shared.left_count += slot->shared.left_count < HS_LEFT_GUARDS;
	}
	count_up(slot->shared.counters, COUNTER_abandoned, 1);
	return true;
}

bool reentry_comes_back(struct thread_slot *slot, uint64_t place, const struct hook_island *island)
{
	uint64_t *left = reentry_left_guard(slot, place);

	if (left)
		*left = 0; // also where it comes too late to be recorded: nobody goes back there once more
	else
		thread_slot_recall(place);
	if (!left || slot->shared.guard)
		return false;
	slot->hook = island->hook_index; // others have begun since
	slot->shared.guard = place;
	count_up(slot->shared.counters, COUNTER_abandoned, (uint64_t)-1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}
