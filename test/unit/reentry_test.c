// SPDX-License-Identifier: Apache-2.0
// Which calls are taken for one from within another (inject/hook/reentry.h): below a hook that runs, and after one that
// was left; of watched calls, the thread's next ones. And what becomes of the sampling credit meanwhile; and guards
// that were left over, where the stack is no longer there.
#define CODE UINT64_C(0x600000000000) // where the payload's image is
enum { CODE_SIZE = 0x8000 };

#define PAYLOAD_CONFIG .code = CODE

#include "reentry_slot.h"

enum { WORDS = 512, PLACE = 256 };

static uint64_t memory[HS_NEAR_CALL / 8 + 3 * WORDS], *const stacks = memory + HS_NEAR_CALL / 8;
static uint64_t *const stack = memory + HS_NEAR_CALL / 8 + WORDS; // the thread's own, between two others
static uint64_t *other_stack = memory + HS_NEAR_CALL / 8;

static struct thread_slot *begin(void) { return slot_begin(stack, stack + WORDS); }

// The next hook of the thread, with its return address at `place`.
static void check_next(int line, uint64_t *place, bool return_address_stands, const struct hook_island *island,
		       bool is_nested)
{
	struct thread_slot *slot = begin();
	enum nesting nesting;

	CHECK(watch(slot, stack + PLACE));
	CHECK_EQUAL(*credit_countdown(slot), 0);
	if (!return_address_stands)
		stack[PLACE] = 0x5678;
	nesting = reentry_enter(slot, (uint64_t)place, island);
	if (nesting != (is_nested ? NESTED : OUTERMOST))
		fprintf(stderr, "line %d:\n", line);
	CHECK_EQUAL(nesting, is_nested ? NESTED : OUTERMOST);
	CHECK_EQUAL(trust(), is_nested ? HS_TRUST_NEVER : 1);
	CHECK_EQUAL(*credit_countdown(slot), is_nested ? 0 : PASS);
	// but not the one after it: the return address may be left over below all that the program does from then on
	if (is_nested) {
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE - 20), &malloc_island), OUTERMOST);
		CHECK_EQUAL(*credit_countdown(slot), PASS);
		CHECK_EQUAL(trust(), HS_TRUST_NEVER);
		reentry_leave(slot);
		CHECK(!watch(slot, stack + PLACE)); // nor is the operator watched again
		CHECK_EQUAL(slot->shared.guard, (uint64_t)(stack + PLACE));
	}
	CHECK(slot->shared.in_original == 0);
	reentry_leave(slot);
	payload_region_deinit(&made);
}

static void test_next_call(void)
{
	check_next(__LINE__, stack + PLACE - 8, true, &malloc_island, true);
	check_next(__LINE__, stack + PLACE, true, &malloc_island, true);    // the operator ends with a jump
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
	CHECK_EQUAL(*credit_countdown(slot), PASS);
	payload_region_deinit(&made);
}

enum { HOOK_RUNS = 1, IN_ORIGINAL = 2, LEFT = 0 };

// A hook has begun with its return address at `guard`. What stands `distance` bytes below it is the hook's own return
// address if it runs still, else what a later call has left there.
static void check_guard(int line, uint64_t *guard, unsigned distance, unsigned state, const uint64_t *place,
			enum nesting expected)
{
	struct thread_slot *slot = begin();
	enum nesting nesting;

	memset(memory, 0, sizeof(memory));
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)guard, &operator_island), OUTERMOST);
	slot->shared.in_original = (state & IN_ORIGINAL) != 0;
	if (distance)
		guard[-(int)distance / 8] = state & HOOK_RUNS ? CODE + CODE_SIZE - 1 : CODE + CODE_SIZE;
	nesting = reentry_enter(slot, (uint64_t)place, &malloc_island);
	if (nesting != expected)
		fprintf(stderr, "line %d:\n", line);
	CHECK_EQUAL(nesting, expected);
	CHECK_EQUAL(slot->shared.guard, (uint64_t)(expected == OUTERMOST ? place : guard));
	CHECK_EQUAL(slot->hook, expected == OUTERMOST ? MALLOC : OPERATOR);
	CHECK_EQUAL(slot->shared.in_original, expected == NESTED || expected == HANDLERS);
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], expected == OUTERMOST);
	CHECK_EQUAL(trust(), expected == NESTED ? HS_TRUST_NEVER : 0);
	payload_region_deinit(&made);
}

#define BELOW(guard) ((guard)-40)

// A hook that runs: what runs deeper is nested. One that is at or above it, or that finds no trace of it, proves that
// it was left by a longjmp.
static void test_guard(void)
{
	static const unsigned distances[] = { 32, 48, 96, 208 }; // by the kind of entry (entry_frame.h)
	uint64_t *guard = stack + PLACE;

	for (unsigned i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
		check_guard(__LINE__, guard, distances[i], HOOK_RUNS | IN_ORIGINAL, BELOW(guard), NESTED);
		check_guard(__LINE__, guard, distances[i], HOOK_RUNS, BELOW(guard), REENTERED);
		check_guard(__LINE__, guard, distances[i], IN_ORIGINAL, BELOW(guard), OUTERMOST);
		check_guard(__LINE__, guard, distances[i], LEFT, BELOW(guard), OUTERMOST);
	}
	check_guard(__LINE__, guard, 40, HOOK_RUNS, BELOW(guard), OUTERMOST); // no hook has its own there
	for (unsigned i = 0; i < 4; i++) {
		unsigned original = i % 2 ? IN_ORIGINAL : 0;

		other_stack = i / 2 ? stacks + 2 * WORDS : stacks; // it may be above and below
		check_guard(__LINE__, guard, 48, HOOK_RUNS | original, guard, OUTERMOST);
		check_guard(__LINE__, guard, 48, HOOK_RUNS | original, guard + 1, original ? OUTERMOST : REENTERED);
		check_guard(__LINE__, guard, 48, HOOK_RUNS | original, guard - 7, original ? NESTED : REENTERED);
		// the hook's own frame lies above: it has left
		check_guard(__LINE__, guard, 48, HOOK_RUNS | original, guard - 6, OUTERMOST);
		// A signal handler on a stack of its own; from there nothing is read.
		check_guard(__LINE__, guard, 48, HOOK_RUNS | original, other_stack + PLACE,
			    original ? HANDLERS : REENTERED);
		check_guard(__LINE__, guard, 48, original, other_stack + PLACE, original ? HANDLERS : REENTERED);
		// Of one that ran there nobody knows what can be read; it is over when the thread's own stack is in use
		// again.
		check_guard(__LINE__, other_stack + PLACE, 48, HOOK_RUNS | original, guard, OUTERMOST);
		check_guard(__LINE__, other_stack + PLACE, 48, original, other_stack + PLACE - 1,
			    original ? NESTED : REENTERED);
		// Far below it there is another coroutine's stack, as it seems.
		check_guard(__LINE__, other_stack + PLACE, 48, original, other_stack + PLACE - HS_NEAR_CALL / 8 + 1,
			    original ? NESTED : REENTERED);
		check_guard(__LINE__, other_stack + PLACE, 48, original, other_stack + PLACE - HS_NEAR_CALL / 8,
			    original ? HANDLERS : REENTERED);
		check_guard(__LINE__, other_stack + PLACE, 48, original, other_stack + PLACE, OUTERMOST);
		check_guard(__LINE__, other_stack + PLACE, 48, original, other_stack + PLACE + 1, OUTERMOST);
	}
}

// A call further out on the same stack may be a handler's. Its hook is the outermost; when it has come to its end, the
// interrupted one goes on.
static void test_left(void)
{
	const uint64_t *guard = stack + PLACE, *further = stack + PLACE + 50;
	const struct entry_frame *frame =
		(const struct entry_frame *)((const uint8_t *)guard - offsetof(struct entry_frame, return_address));
	struct thread_slot *slot = begin();

	CHECK_EQUAL(reentry_enter(slot, (uint64_t)guard, &operator_island), OUTERMOST);
	reentry_enter_original(slot);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)further, &malloc_island), OUTERMOST);
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 1);
	reentry_leave(slot);
	CHECK(reentry_leave_original(slot));
	CHECK(!reentry_is_shared(slot, frame, &operator_island));
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 0);
	CHECK_EQUAL(slot->shared.guard, (uint64_t)guard);
	CHECK_EQUAL(slot->hook, operator_island.hook_index); // its block is not the other one's
	reentry_leave(slot);
	CHECK(reentry_is_shared(slot, frame, &operator_island)); // once
	payload_region_deinit(&made);

	// Where the other one still runs, what has come back is another thread's, as it seems. It is not left any more.
	slot = begin();
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)guard, &operator_island), OUTERMOST);
	reentry_enter_original(slot);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)further, &malloc_island), OUTERMOST);
	CHECK(reentry_is_shared(slot, frame, &operator_island));
	CHECK_EQUAL(slot->shared.left_guards[0], 0);
	CHECK_EQUAL(slot->shared.guard, (uint64_t)further);
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 1);
	payload_region_deinit(&made);

	// While the recorder runs nothing else is recorded, until many such calls say that it does not any more.
	slot = begin();
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)guard, &malloc_island), OUTERMOST);
	for (unsigned i = 0; i < 3 * HS_DOUBTED_CALLS; i++) {
		if (i % HS_DOUBTED_CALLS == HS_DOUBTED_CALLS - 1)
			slot->shared.counters[COUNTER_allocations]++; // it does
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)further, &malloc_island), REENTERED);
	}
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 0);
	slot->shared.counters[COUNTER_allocations]++;
	for (unsigned i = 0; i < HS_DOUBTED_CALLS; i++)
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)further, &malloc_island), REENTERED);
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)further, &malloc_island), OUTERMOST);
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 1);
	payload_region_deinit(&made);
}

// A watched function whose exit points are hooked: nothing passes until it returns, and then the gap goes on where it
// was.
static void test_awaited(void)
{
	const struct entry_frame *frame =
		(const struct entry_frame *)((uint8_t *)(stack + PLACE) - offsetof(struct entry_frame, return_address));
	const struct entry_frame *deeper = (const struct entry_frame *)((const uint64_t *)frame - 1);
	struct thread_slot *slot;

	for (unsigned is_exact = 0; is_exact <= 1; is_exact++) {
		slot = begin();
		if (is_exact)
			slot->shared.interval = 1;
		stack[PLACE] = stack[PLACE - 1] = 0x1234;
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE), &operator_island), OUTERMOST);
		reentry_await(slot, frame);
		CHECK_EQUAL(*credit_countdown(slot), is_exact ? PASS : 0);
		CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE - 8), &malloc_island), NESTED);
		CHECK(!reentry_has_returned(slot, deeper)); // another function's return
		stack[PLACE] = 0x5678;
		CHECK(!reentry_has_returned(slot, frame)); // to somewhere else
		stack[PLACE] = 0x1234;
		CHECK(slot->awaits && slot->shared.in_original);
		CHECK(reentry_has_returned(slot, frame));
		CHECK_EQUAL(*credit_countdown(slot), PASS);
		CHECK(!slot->awaits && !slot->shared.in_original && slot->shared.guard == (uint64_t)(stack + PLACE));
		CHECK(!reentry_has_returned(slot, frame)); // once
		reentry_leave(slot);
		payload_region_deinit(&made);
	}
	// It was left by an exception: the next call is the program's own, and the gap goes on.
	slot = begin();
	stack[PLACE] = 0x1234;
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE), &operator_island), OUTERMOST);
	reentry_await(slot, frame);
	stack[PLACE] = 0x5678;
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)(stack + PLACE - 8), &malloc_island), OUTERMOST);
	CHECK_EQUAL(*credit_countdown(slot), PASS);
	CHECK_EQUAL(slot->shared.counters[COUNTER_abandoned], 1);
	payload_region_deinit(&made);
}

// Very many calls within one: where nothing proves that it runs, they are counted as lost from there on.
static void check_many_nested(uint64_t *guard, uint64_t return_address, bool is_proved)
{
	struct thread_slot *slot = begin();
	struct entry_frame *frame =
		(struct entry_frame *)((uint8_t *)(guard - 40) - offsetof(struct entry_frame, return_address));

	memset(memory, 0, sizeof(memory));
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)guard, &operator_island), OUTERMOST);
	reentry_enter_original(slot);
	guard[-6] = CODE;
	frame->return_address = return_address;
	for (unsigned lap = 0; lap < 3; lap++) { // and anew in the next call
		for (unsigned i = 0; i < 2 * HS_NESTED_CALLS; i++)
			CHECK(reentry_begin(frame, &malloc_island) == NULL);
		CHECK_EQUAL(slot->shared.counters[COUNTER_nested],
			    (lap + 1) * (is_proved ? 2 * HS_NESTED_CALLS : HS_NESTED_CALLS - 1));
		CHECK_EQUAL(slot->shared.counters[COUNTER_lost_signal_reentry],
			    (lap + 1) * (is_proved ? 0 : HS_NESTED_CALLS + 1));
		if (lap == 0)
			slot->shared.counters[COUNTER_allocations]++;
		slot->suspended -= lap;
	}
	payload_region_deinit(&made);
}

static void test_many_nested(void)
{
	check_many_nested(stack + PLACE, CODE + 8, true);
	check_many_nested(stack + PLACE, CODE + CODE_SIZE, false);
	check_many_nested(other_stack + PLACE, CODE + 8, false); // nothing is read there
}

static void test_trust(void)
{
	struct thread_slot *slot = begin();

	for (unsigned i = 0; i <= HS_TRUST_CALLS; i++) {
		CHECK_EQUAL(trust(), i ? i - 1 : 0);
		CHECK(watch(slot, stack + PLACE));
	}
	slot->shared.guard = 0;
	slot->shared.in_original = 0;
	slot->hook = OPERATOR;
	CHECK(reentry_is_trusted(slot));
	// Where nobody knows what can be read, nothing is watched.
	CHECK(!watch(slot, other_stack + PLACE));
	CHECK_EQUAL(slot->shared.guard, (uint64_t)(other_stack + PLACE));
	payload_region_deinit(&made);
}

// A stack of three pages of which the middle one can be taken away. A malloc was called with its return address at
// `guard`, and left in its original.
struct left_call {
	uint8_t *pages;
	struct thread_slot *slot;
};

enum { STACK_PAGES = 3, ENTRY_DISTANCE = 96 }; // one of arch_hook_runs

static uint64_t abandoned(const struct thread_slot *slot) { return slot->shared.counters[COUNTER_abandoned]; }

static struct left_call leave_call(uint64_t guard_offset)
{
	struct left_call call = { .slot = begin() };

	call.pages = mmap(NULL, STACK_PAGES * HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (call.pages == MAP_FAILED)
		exit(1);
	call.slot->shared.stack_low = (uint64_t)call.pages;
	call.slot->shared.stack_high = (uint64_t)call.pages + STACK_PAGES * HS_PAGE_SIZE;
	CHECK_EQUAL(reentry_enter(call.slot, (uint64_t)call.pages + guard_offset, &malloc_island), OUTERMOST);
	reentry_enter_original(call.slot);
	return call;
}

static void forget_call(struct left_call *call)
{
	reentry_leave(call->slot);
	munmap(call->pages, STACK_PAGES * HS_PAGE_SIZE);
	payload_region_deinit(&made);
}

static void take_away(const struct left_call *call, unsigned page)
{
	if (mprotect(call->pages + page * HS_PAGE_SIZE, HS_PAGE_SIZE, PROT_NONE) != 0)
		exit(1);
}

// At or above the guard, and elsewhere, nothing is read.
static void test_stack_taken_away(void)
{
	static const struct {
		uint64_t guard, next;
	} cases[] = { { HS_PAGE_SIZE + 512, 2 * HS_PAGE_SIZE + 8 },
		      { HS_PAGE_SIZE + 512, 2 * HS_PAGE_SIZE },
		      { 2 * HS_PAGE_SIZE, 2 * HS_PAGE_SIZE } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct left_call call = leave_call(cases[i].guard);

		take_away(&call, 1);
		CHECK_EQUAL(reentry_enter(call.slot, (uint64_t)(other_stack + 5), &malloc_island), HANDLERS);
		// that it calls hooked functions is not said by it
		CHECK_EQUAL(payload_region_state.hook_trust[MALLOC], 0);
		CHECK_EQUAL(abandoned(call.slot), 0);
		CHECK_EQUAL(reentry_enter(call.slot, (uint64_t)call.pages + cases[i].next, &malloc_island), OUTERMOST);
		CHECK_EQUAL(abandoned(call.slot), 1);
		reentry_leave(call.slot);
		CHECK_EQUAL(reentry_enter(call.slot, (uint64_t)(other_stack + 5), &malloc_island), OUTERMOST);
		forget_call(&call);
	}
}

// Below the guard the stack is there down to the call, and no further.
static void test_stack_below(void)
{
	for (uint64_t distance = 8; distance <= 200; distance += 8) {
		struct left_call call = leave_call(HS_PAGE_SIZE + distance);

		take_away(&call, 0);
		CHECK_EQUAL(reentry_enter(call.slot, (uint64_t)call.pages + HS_PAGE_SIZE, &malloc_island), OUTERMOST);
		CHECK_EQUAL(abandoned(call.slot), 1);
		forget_call(&call);
	}
	for (unsigned stands = 0; stands < 2; stands++) {
		struct left_call call = leave_call(HS_PAGE_SIZE + 512);

		*(uint64_t *)(void *)(call.pages + HS_PAGE_SIZE + 512 - ENTRY_DISTANCE) =
			CODE + (stands ? 100 : CODE_SIZE);
		CHECK_EQUAL(reentry_enter(call.slot, (uint64_t)call.pages + HS_PAGE_SIZE + 512 - ENTRY_DISTANCE - 8,
					  &malloc_island),
			    stands ? NESTED : OUTERMOST);
		CHECK_EQUAL(abandoned(call.slot), !stands);
		forget_call(&call);
	}
}

// A call on another stack was left, and that is gone: nobody looks there.
static void test_other_stack_taken_away(void)
{
	struct left_call call = leave_call(HS_PAGE_SIZE + 512);

	call.slot->shared.stack_low = (uint64_t)stack;
	call.slot->shared.stack_high = (uint64_t)(stack + WORDS);
	take_away(&call, 0);
	take_away(&call, 1);
	// a coroutine's, further down
	CHECK_EQUAL(reentry_enter(call.slot, (uint64_t)call.pages, &malloc_island), NESTED);
	CHECK_EQUAL(reentry_enter(call.slot, (uint64_t)(stack + 5), &malloc_island), OUTERMOST);
	CHECK_EQUAL(abandoned(call.slot), 1);
	forget_call(&call);
}

int main(void)
{
	payload_configure_image(CODE_SIZE);
	test_guard();
	test_left();
	test_stack_taken_away();
	test_stack_below();
	test_other_stack_taken_away();
	test_next_call();
	test_handler();
	test_awaited();
	test_many_nested();
	test_trust();
	return CHECK_RESULT();
}
