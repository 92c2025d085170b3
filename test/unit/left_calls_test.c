// SPDX-License-Identifier: Apache-2.0
// Calls of coroutines that are left during allocation functions (inject/hook/reentry.h): what a slot keeps of them,
// what the region keeps, and what is counted.
#include "reentry_slot.h"

enum { WORDS = 512, PLACE = 256 };

static uint64_t stacks[2 * WORDS], *const other_stack = stacks,
					  *const stack = stacks + WORDS; // a coroutine's, and the thread's own

static struct thread_slot *begin(void) { return slot_begin(stack, stack + WORDS); }

// Two coroutines and more that are left during an original, and come back while no other hook runs. Of those that were
// left last as many are known again as there is room for; one that is left again and again takes no more than one
// place.
static void test_several_left(void)
{
	enum { COUNT = HS_LEFT_GUARDS + 1 };
	const uint64_t *guards[COUNT];
	struct thread_slot *slot = begin();

	for (unsigned i = 0; i < COUNT; i++) {
		guards[i] = other_stack + PLACE + 8 * i;
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)guards[i], &operator_island), OUTERMOST);
		reentry_enter_original(slot);
		CHECK_EQUAL(slot->shared.left_count, i < HS_LEFT_GUARDS ? i : HS_LEFT_GUARDS);
	}
	for (unsigned i = 0; i < 10; i++) {
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE), &operator_island), OUTERMOST);
		reentry_leave(slot);
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)guards[COUNT - 1], &operator_island), OUTERMOST);
	}
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE), &operator_island), OUTERMOST);
	reentry_leave(slot);
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], COUNT + 10);
	for (unsigned i = 0; i < COUNT; i++) {
		CHECK_EQUAL(reentry_comes_back(slot, (uint64_t)guards[i], &operator_island),
			    i > 0); // the first one's place was needed
		if (i == 0)
			continue;
		CHECK_EQUAL(slot->shared.guard, (uint64_t)guards[i]);
		reentry_leave(slot);
		CHECK(!reentry_comes_back(slot, (uint64_t)guards[i], &operator_island)); // once
	}
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 1 + 10);
	payload_region_deinit(&made);
}

static unsigned forgotten(uint64_t guard)
{
	unsigned found = 0;

	for (unsigned i = 0; i < HS_FORGOTTEN_GUARDS; i++)
		found += region()->forgotten_guards[i] == guard;
	return found;
}

// A coroutine leaves a call with its return address at `guard`, and the thread makes another one.
static void leave_elsewhere(struct thread_slot *slot, const uint64_t *guard)
{
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)guard, &operator_island), OUTERMOST);
	reentry_enter_original(slot);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE), &operator_island), OUTERMOST);
	reentry_leave(slot);
}

// What the slot has no place for the region keeps, once, until the call comes back; where that has none left, it says
// so for ever.
static void test_forgotten(void)
{
	const uint64_t *guards = other_stack + PLACE;
	struct thread_slot *slot = begin();

	for (unsigned lap = 0; lap < 2; lap++)
		for (unsigned i = 0; i < HS_LEFT_GUARDS + 1; i++)
			leave_elsewhere(slot, guards + i);
	for (unsigned i = 0; i < HS_LEFT_GUARDS + 1; i++)
		CHECK_EQUAL(forgotten((uint64_t)(guards + i)), 1);
	CHECK(!reentry_comes_back(slot, (uint64_t)guards, &operator_island)); // it does, but too late
	CHECK_EQUAL(forgotten((uint64_t)guards), 0);
	for (unsigned i = HS_LEFT_GUARDS + 1; i < HS_FORGOTTEN_GUARDS + HS_LEFT_GUARDS + 1; i++)
		leave_elsewhere(slot, guards + i);
	CHECK_EQUAL(forgotten(0), 0);
	CHECK_EQUAL(region()->guards_lost, 0);
	leave_elsewhere(slot, guards + HS_FORGOTTEN_GUARDS + HS_LEFT_GUARDS + 1);
	CHECK_EQUAL(region()->guards_lost, 1);
	payload_region_deinit(&made);

	// On the thread's own stack nothing is, that could come back without being seen.
	slot = begin();
	for (unsigned i = 0; i < HS_LEFT_GUARDS + 2; i++) {
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE + i), &operator_island), OUTERMOST);
		reentry_enter_original(slot);
	}
	CHECK_EQUAL(slot->shared.left_guards[0], (uint64_t)(stack + PLACE + HS_LEFT_GUARDS));
	CHECK_EQUAL(forgotten(0), HS_FORGOTTEN_GUARDS);
	payload_region_deinit(&made);
}

// Its thread has ended, and another has the slot: what coroutines have left, whatever thread they go on in, is not
// forgotten.
static void test_next_thread(void)
{
	struct thread_slot *slot = begin();

	leave_elsewhere(slot, other_stack + PLACE);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE), &operator_island), OUTERMOST);
	reentry_enter_original(slot);
	// on the thread's own stack
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE + 1), &operator_island), OUTERMOST);
	reentry_leave(slot);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(other_stack + PLACE + 1), &operator_island), OUTERMOST);
	reentry_enter_original(slot);
	slot->awaits = 1;
	slot->mark++;
	CHECK(thread_slot_claim(arch_thread_pointer()) == slot);
	CHECK_EQUAL(slot->shared.guard | slot->shared.left_count | slot->shared.left_guards[0] | slot->awaits, 0);
	CHECK_EQUAL(forgotten((uint64_t)(other_stack + PLACE)), 1);
	CHECK_EQUAL(forgotten((uint64_t)(other_stack + PLACE + 1)), 1);
	CHECK_EQUAL(forgotten(0), HS_FORGOTTEN_GUARDS - 2);
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 3);
	payload_region_deinit(&made);
}

static const struct entry_frame *frame_at(uint64_t *place)
{
	*place = 0x1234;
	return (const struct entry_frame *)((uint8_t *)place - offsetof(struct entry_frame, return_address));
}

static void await(struct thread_slot *slot, uint64_t *place, uint64_t size)
{
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)place, &operator_island), OUTERMOST);
	reentry_make_room(slot, (uint64_t)place);
	slot->awaited_size = size;
	slot->awaited_interval = 100 + (uint32_t)size;
	slot->awaited_samples = (uint16_t)(200 + size);
	reentry_await(slot, frame_at(place));
}

static bool returns(struct thread_slot *slot, uint64_t *place, struct awaited_call *ret)
{
	return reentry_returns_late(slot, frame_at(place), ret);
}

// Coroutines that are left in watched calls: some are known again, and all others are counted.
// Longer than 60 lines: one course of events, step by step.
static void test_displaced(void)
{
	enum { COUNT = HS_LEFT_AWAITED + 2 }; // one is still awaited, and one is forgotten
	struct thread_slot *slot = begin();
	struct awaited_call call;

	for (unsigned i = 0; i < COUNT; i++) {
		await(slot, other_stack + PLACE + i, i);
		CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], i);
	}
	CHECK_EQUAL(slot->left_awaited_count, HS_LEFT_AWAITED);
	CHECK(!returns(slot, other_stack + PLACE, &call));
	CHECK(!returns(slot, other_stack + PLACE + COUNT, &call)); // no such call
	for (unsigned i = 1; i < COUNT - 1; i++) {
		CHECK(!reentry_has_returned(slot, frame_at(other_stack + PLACE + i)));
		other_stack[PLACE + i] = 0x5678;
		CHECK(!reentry_finds_displaced(slot,
					       (const void *)((uint8_t *)(other_stack + PLACE + i) -
							      offsetof(struct entry_frame, return_address)),
					       &call));
		CHECK(returns(slot, other_stack + PLACE + i, &call));
		CHECK_EQUAL(call.size, i);
		CHECK_EQUAL(call.interval, 100 + i);
		CHECK_EQUAL(call.samples, 200 + i);
		CHECK_EQUAL(slot->shared.guard, (uint64_t)(other_stack + PLACE + i));
		reentry_leave(slot);
		CHECK(!returns(slot, other_stack + PLACE + i, &call)); // once
	}
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 1);
	CHECK_EQUAL(slot->left_awaited_count, 0);
	// the last one was awaited all the time
	CHECK(reentry_has_returned(slot, frame_at(other_stack + PLACE + COUNT - 1)));
	reentry_leave(slot);
	payload_region_deinit(&made);

	// The same place again: what was there is over. And what comes back during another hook is not recorded, but
	// counted.
	slot = begin();
	await(slot, other_stack + PLACE, 1);
	await(slot, other_stack + PLACE, 2);
	CHECK_EQUAL(slot->left_awaited_count, 0);
	await(slot, other_stack + PLACE + 1, 3);
	CHECK_EQUAL(slot->left_awaited_count, 1);
	await(slot, other_stack + PLACE, 4);
	CHECK_EQUAL(slot->left_awaited_count, 1); // the one next to it
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 3);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(other_stack + PLACE + 20), &malloc_island), OUTERMOST);
	reentry_enter_original(slot);
	CHECK(!returns(slot, other_stack + PLACE + 1, &call));
	CHECK(!returns(slot, other_stack + PLACE, &call));
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 3);
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_signal_reentry], 1);
	CHECK_EQUAL(slot->shared.guard, (uint64_t)(other_stack + PLACE + 20));
	CHECK(!slot->awaits && !slot->left_awaited_count);
	payload_region_deinit(&made);

	// An operator that is watched takes its place too.
	slot = begin();
	await(slot, other_stack + PLACE, 1);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE), &operator_island), OUTERMOST);
	CHECK(reentry_watch(slot, frame_at(stack + PLACE)));
	CHECK(!slot->awaits);
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 1);
	CHECK_EQUAL(slot->left_awaited_count, 1);
	payload_region_deinit(&made);
}

int main(void)
{
	test_several_left();
	test_forgotten();
	test_next_thread();
	test_displaced();
	return CHECK_RESULT();
}
