// SPDX-License-Identifier: Apache-2.0
// Watched calls (inject/reentry.h): which later call of the thread is taken for one from within them, and what becomes of the pass meanwhile.
#include "check.h"
#include "payload_region.h"

#include "inject/reentry.h"

enum { OPERATOR = 3, MALLOC = 5, WORDS = 512, PLACE = 256, PASS = 4000 };

static struct made_region made;
static uint64_t stack[WORDS], other_stack[WORDS];
static struct hook_island operator_island = { .hook_index = OPERATOR }, malloc_island = { .hook_index = MALLOC };

static struct thread_slot *begin(void)
{
	struct thread_slot *slot;

	payload_region_init(&made, 16);
	memset(payload_region_state.hook_trust, 0, sizeof(payload_region_state.hook_trust));
	slot = thread_slot_claim(arch_thread_pointer());
	if (!slot)
		exit(1);
	slot->stack_low = (uint64_t)stack;
	slot->stack_high = (uint64_t)(stack + WORDS);
	slot->interval = 4096;
	pass_give(slot, PASS);
	return slot;
}

// An operator is called, its return address at `place`, and passes.
static bool watch(struct thread_slot *slot, uint64_t *place)
{
	// only its return address is looked at
	const struct entry_frame *frame = (const struct entry_frame *)((uint8_t *)place - offsetof(struct entry_frame, return_address));

	*place = 0x1234;
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)place, &operator_island), OUTERMOST);
	return reentry_watch(slot, frame);
}

static uint8_t trust(void) { return payload_region_state.hook_trust[OPERATOR]; }

// The next hook of the thread, with its return address at `place`.
static void check_next(int line, uint64_t *place, bool return_address_stands, const struct hook_island *island, bool is_nested)
{
	struct thread_slot *slot = begin();
	enum nesting nesting;

	CHECK(watch(slot, stack + PLACE));
	CHECK_EQUAL(*pass_countdown(slot), 0);
	if (!return_address_stands)
		stack[PLACE] = 0x5678;
	nesting = reentry_enter(slot, (uint64_t)place, island);
	if (nesting != (is_nested ? NESTED : OUTERMOST))
		fprintf(stderr, "line %d:\n", line);
	CHECK_EQUAL(nesting, is_nested ? NESTED : OUTERMOST);
	CHECK_EQUAL(trust(), is_nested ? HS_TRUST_NEVER : 1);
	CHECK_EQUAL(*pass_countdown(slot), is_nested ? 0 : PASS);
	if (is_nested) { // but not the one after it: the return address may be left over below all that the program does from then on
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE - 20), &malloc_island), OUTERMOST);
		CHECK_EQUAL(*pass_countdown(slot), PASS);
		CHECK_EQUAL(trust(), HS_TRUST_NEVER);
		reentry_leave(slot);
		CHECK(!watch(slot, stack + PLACE)); // nor is the operator watched again
		CHECK_EQUAL(slot->guard, (uint64_t)(stack + PLACE));
	}
	CHECK(slot->in_original == 0);
	reentry_leave(slot);
	payload_region_deinit(&made);
}

static void test_next_call(void)
{
	check_next(__LINE__, stack + PLACE - 8, true, &malloc_island, true);
	check_next(__LINE__, stack + PLACE, true, &malloc_island, true); // the operator ends with a jump
	check_next(__LINE__, stack + PLACE, true, &operator_island, false); // the same call again, in a loop
	check_next(__LINE__, stack + PLACE, false, &malloc_island, false);
	check_next(__LINE__, stack + PLACE - 8, false, &malloc_island, false);
	check_next(__LINE__, stack + PLACE + 1, true, &malloc_island, false);
	check_next(__LINE__, other_stack + 5, true, &malloc_island, false);
}

// A call from within a watched one releases a recorded block (block_goes), and a signal handler allocates meanwhile.
static void test_handler(void)
{
	struct thread_slot *slot = begin();

	CHECK(watch(slot, stack + PLACE));
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE - 8), &malloc_island), NESTED);
	CHECK(reentry_leave_original(slot));
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE - 40), &malloc_island), REENTERED);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(other_stack + 5), &malloc_island), REENTERED);
	reentry_enter_original(slot);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE + 1), &malloc_island), OUTERMOST);
	CHECK_EQUAL(*pass_countdown(slot), PASS);
	payload_region_deinit(&made);
}

static void test_trust(void)
{
	struct thread_slot *slot = begin();

	for (unsigned i = 0; i <= HS_TRUST_CALLS; i++) {
		CHECK_EQUAL(trust(), i ? i - 1 : 0);
		CHECK(watch(slot, stack + PLACE));
	}
	slot->guard = 0;
	slot->in_original = 0;
	slot->hook = OPERATOR;
	CHECK(reentry_is_trusted(slot));
	// Where nobody knows what can be read, nothing is watched.
	CHECK(!watch(slot, other_stack + PLACE));
	CHECK_EQUAL(slot->guard, (uint64_t)(other_stack + PLACE));
	payload_region_deinit(&made);
}

int main(void)
{
	test_next_call();
	test_handler();
	test_trust();
	return CHECK_RESULT();
}
