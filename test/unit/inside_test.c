// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: the cases share one made stack.
// Whether a thread is inside the payload, by what its stack holds and what its slot says. Stacks made by hand, in this
// process's memory; nobody can walk them, for their threads stand where no module is.
#include "check.h"
#include "held_process.h"

#include "attach/arch/sigframe.h"
#include "attach/region/inside.h"
#include "attach/region/left_calls.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, SIZE = 400 * PAGE, CLOSE = 128, DEEP = 300 * PAGE }; // more than 1 MiB is not kept for a walk

#define PAYLOAD UINT64_C(0x600000000000)

struct made {
	uint8_t *low; // where the stack begins; the control block lies at its end
	size_t sp;    // the stack pointer, from there
	struct slot_facts slot;
	bool has_slot;
};

static struct made make(void)
{
	struct made made = { .low = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			     .has_slot = true };
	uint64_t block = (uint64_t)made.low + SIZE - PAGE;

	if (made.low == MAP_FAILED)
		exit(1);
	made.slot =
		(struct slot_facts){ .thread_pointer = block, .stack_low = (uint64_t)made.low, .stack_high = block };
	return made;
}

static void put(const struct made *made, size_t offset, uint64_t word)
{
	memcpy(made->low + offset, &word, sizeof(word));
}

enum answer { OUTSIDE, INSIDE, NOT_YET };

static uint64_t spent; // of the share, for other threads

// One freeze, with `share` bytes of the stacks to be looked at (0: what there is for all), and what the ones before
// have told. The stack stays.
static enum answer ask(const struct made *made, uint64_t pc, struct looked_at_list *looked_at, uint64_t share)
{
	const struct address_range ranges[] = { { PAYLOAD, 0x10000 }, { PAYLOAD + 0x100000, 0x1000 } };
	struct slot_facts slot = made->slot;
	const struct slot_facts_list slots = { .items = &slot, .count = made->has_slot };
	struct frozen_thread thread = { .tid = 0x40000001 };
	struct unwind_tables tables;
	struct inside_search search;
	struct target_memory memory;
	struct proc_maps maps;
	bool inside = false;

	thread.registers.rsp = (uint64_t)made->low + made->sp;
	thread.registers.rip = pc;
	thread.registers.fs_base = made->slot.thread_pointer;
	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	CHECK(unwind_tables_read(&memory, &tables) == NULL);
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	CHECK(inside_begin(&memory, &maps, &slots, &tables, ranges, 2, looked_at, &search) == NULL);
	if (share)
		search.share = search.left = share;
	search.left -= spent;
	CHECK(inside_check(&search, &thread, &inside) == NULL);
	inside_end(&search);
	proc_maps_deinit(&maps);
	unwind_tables_deinit(&tables);
	target_memory_close(&memory);
	return !inside ? OUTSIDE : search.was_cut ? NOT_YET : INSIDE;
}

// Unmaps the stack.
static bool is_inside(const struct made *made, uint64_t pc)
{
	enum answer answer = ask(made, pc, NULL, 0);

	CHECK(answer != NOT_YET);
	munmap(made->low, SIZE);
	return answer == INSIDE;
}

#define NOWHERE UINT64_C(0x10) // no module is there

static void test_places(void)
{
	struct made made = make();

	CHECK(!is_inside(&made, NOWHERE)); // no word of it on the stack
	made = make();
	CHECK(is_inside(&made, PAYLOAD));
	made = make();
	CHECK(is_inside(&made, PAYLOAD + 0x100fff));
	made = make();
	CHECK(!is_inside(&made, PAYLOAD + 0x101000));
	made = make();
	put(&made, CLOSE, PAYLOAD + 0x10000); // right behind
	CHECK(!is_inside(&made, NOWHERE));
}

// A word of it on the stack may be left over, or be a return address: the slot says.
static void test_slots(void)
{
	struct made made = make();

	put(&made, CLOSE, PAYLOAD + 100);
	CHECK(!is_inside(&made, NOWHERE)); // no hook runs
	made = make();
	put(&made, CLOSE, PAYLOAD + 100);
	made.has_slot = false;
	CHECK(is_inside(&made, NOWHERE)); // who knows
	made = make();
	put(&made, CLOSE, PAYLOAD + 100);
	made.slot.is_of_several = true; // it may be the other thread that says so
	CHECK(is_inside(&made, NOWHERE));
	made = make();
	put(&made, CLOSE, PAYLOAD + 100);
	made.slot.guard = (uint64_t)made.low + 512; // one runs, further out
	CHECK(is_inside(&made, NOWHERE));
}

// A thread that has called no hook since the attach waits on a goroutine's stack, inside a heap: nobody knows where it
// ends.
static void test_without_slot(void)
{
	const size_t most = 1 << 20;

	for (size_t offset = most - 8; offset <= most; offset += 8) {
		struct made made = make();

		made.slot.thread_pointer = (uint64_t)&made;
		made.has_slot = false;
		put(&made, offset, PAYLOAD + 100);
		CHECK_EQUAL(is_inside(&made, NOWHERE), offset < most);
	}
}

// A signal frame of a handler that has interrupted the payload.
static void put_frame(const struct made *made, size_t offset)
{
	put(made, offset, (uint64_t)put_frame); // the restorer is code
	put(made, offset + HS_SIGFRAME_PC_OFFSET, PAYLOAD + 100);
	put(made, offset + HS_SIGFRAME_PC_OFFSET + 16, 0x33);
}

// Further out than what is kept of a stack.
static void test_deep(void)
{
	struct made made = make();

	put(&made, DEEP, PAYLOAD + 100);
	CHECK(!is_inside(&made, NOWHERE)); // no hook runs
	made = make();
	put(&made, DEEP, PAYLOAD + 100);
	made.slot.guard = (uint64_t)made.low + DEEP + 64;
	CHECK(is_inside(&made, NOWHERE));
	made = make();
	put(&made, DEEP, PAYLOAD + 100);
	made.has_slot = false;
	CHECK(is_inside(&made, NOWHERE));
	made = make();
	put(&made, DEEP, PAYLOAD - 1);
	CHECK(!is_inside(&made, NOWHERE));
	// also across two of the pieces that the stack is read in
	for (size_t offset = 0; offset <= HS_SIGFRAME_HEAD_SIZE; offset += 8) {
		made = make();
		put_frame(&made, (DEEP & ~(size_t)65535) - offset);
		CHECK(is_inside(&made, NOWHERE));
	}
	made = make();
	put_frame(&made, 0);
	CHECK(is_inside(&made, NOWHERE));
}

enum { SHARE = 65536, SHARES = SIZE / SHARE };

static void write_all(const struct made *made)
{
	for (size_t offset = 0; offset < SIZE - PAGE; offset += PAGE)
		put(made, offset, 1);
}

// In parts, freeze by freeze; a word that leads into the payload at `offset`, 0 = none.
static void check_parts(size_t offset, bool has_slot, enum answer last)
{
	struct looked_at_list looked_at = { 0 };
	struct made made = make();
	enum answer answer = NOT_YET;
	int freezes = 0;

	write_all(&made);
	made.has_slot = has_slot;
	if (offset)
		put(&made, offset, PAYLOAD + 100);
	for (; answer == NOT_YET && freezes < 2 * SHARES; freezes++)
		// once its turn does not come
		answer = ask(&made, NOWHERE, &looked_at, freezes == 3 ? 8 : SHARE + 4096);
	CHECK_EQUAL(answer, last);
	CHECK(freezes > SHARES / 2);
	if (answer == OUTSIDE) { // and stays so, whatever is left there
		put(&made, CLOSE, PAYLOAD + 100);
		made.slot.guard = (uint64_t)made.low + 512;
		CHECK_EQUAL(ask(&made, NOWHERE, &looked_at, 8), OUTSIDE);
		CHECK_EQUAL(ask(&made, PAYLOAD, &looked_at, SHARE), INSIDE);
		made.slot.stack_high = made.slot.stack_low = 0; // not on another stack
		if (has_slot)
			CHECK_EQUAL(ask(&made, NOWHERE, &looked_at, SHARE), INSIDE);
	}
	looked_at_deinit(&looked_at);
	munmap(made.low, SIZE);
}

static void test_parts(void)
{
	struct looked_at_list looked_at = { 0 };
	struct made made = make();

	check_parts(0, true, OUTSIDE);
	check_parts(0, false, OUTSIDE);
	check_parts(CLOSE, true, OUTSIDE);
	check_parts(DEEP, true, OUTSIDE);
	check_parts(DEEP, false, INSIDE);
	// What was never written costs nothing, beyond what is kept.
	CHECK_EQUAL(ask(&made, NOWHERE, &looked_at, (1 << 20) + SHARE), OUTSIDE);
	looked_at_deinit(&looked_at);
	// A hook that says that it runs, further out than what is looked at.
	put(&made, DEEP, PAYLOAD + 100);
	made.slot.guard = (uint64_t)made.low + DEEP + 64;
	CHECK_EQUAL(ask(&made, NOWHERE, &looked_at, SHARE), INSIDE);
	looked_at_deinit(&looked_at);
	munmap(made.low, SIZE);
}

// Of guards that no thread's slot has: one, twice, which counts once, and what is none.
static size_t count_left(uint64_t guard)
{
	const struct address_range ranges[] = { { PAYLOAD, 0x10000 } };
	struct slot_facts_list slots = { .nobodys = calloc(3, sizeof(uint64_t)), .nobodys_count = 3 };
	struct left_calls calls = { 0 };
	struct inside_search search;
	struct target_memory memory;
	struct proc_maps maps;
	size_t left;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	memcpy(slots.nobodys, (uint64_t[]){ guard, 1, guard }, 3 * sizeof(uint64_t));
	CHECK(inside_begin(&memory, &maps, &slots, NULL, ranges, 1, NULL, &search) == NULL);
	CHECK(left_calls_list(&calls, &slots) == NULL);
	CHECK(left_calls_look(&calls, &search, HS_LEFT_CALLS_SHARE) == NULL);
	left = calls.count;
	CHECK_EQUAL(calls.unseen, 0);
	left_calls_deinit(&calls);
	inside_end(&search);
	proc_maps_deinit(&maps);
	target_memory_close(&memory);
	return left;
}

// The hook's return address lies on another stack than the thread is now: the words right below it decide.
static void test_elsewhere(void)
{
	for (int points = 0; points < 2; points++) {
		struct made made = make();
		uint64_t *other = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		other[700] = 1;
		other[690] = points ? PAYLOAD + 8 : 8;
		made.slot.guard = (uint64_t)&other[700];
		CHECK_EQUAL(ask(&made, NOWHERE, NULL, 0), points ? INSIDE : OUTSIDE);
		// A coroutine was left there in the middle of a call, and others have allocated since; the thread
		// itself is in none.
		made.slot.guard = 0;
		CHECK_EQUAL(ask(&made, NOWHERE, NULL, 0), OUTSIDE);
		for (unsigned i = 0; i < HS_LEFT_GUARDS; i++) {
			made.slot.left[i] = (uint64_t)&other[700];
			CHECK_EQUAL(ask(&made, NOWHERE, NULL, 0), points ? INSIDE : OUTSIDE);
			made.slot.has_several = true; // another thread's, which stands elsewhere
			CHECK_EQUAL(ask(&made, NOWHERE, NULL, 0), OUTSIDE);
			made.slot.has_several = false;
			made.slot.is_of_several = true; // or a coroutine's, that was taken for another thread
			CHECK_EQUAL(ask(&made, NOWHERE, NULL, 0), points ? INSIDE : OUTSIDE);
			made.slot.is_of_several = false;
			made.slot.left[i] = 0;
		}
		CHECK_EQUAL(count_left((uint64_t)&other[700]), (size_t)points);
		munmap(other, 2 * PAGE);
		CHECK_EQUAL(count_left((uint64_t)&other[700]), 0);
		made.slot.left[0] = (uint64_t)&other[700]; // its stack is no more
		CHECK_EQUAL(ask(&made, NOWHERE, NULL, 0), OUTSIDE);
		// On its own stack only a handler's return leads back, whose frame is looked for.
		put(&made, DEEP, points ? PAYLOAD + 8 : 8);
		made.slot.left[0] = (uint64_t)made.low + DEEP + 64;
		made.sp = DEEP + 512;
		CHECK_EQUAL(ask(&made, NOWHERE, NULL, 0), OUTSIDE);
		munmap(made.low, SIZE);
	}
}

enum { HANDLER = 64 * PAGE, BELOW = 3 * PAGE, ALTERNATE = HANDLER - 8 * PAGE, ALTERNATE_SIZE = 10 * PAGE };

// A handler runs on an alternate stack that is an array in a frame of the same stack, above what it has interrupted.
static struct made make_handler(void)
{
	struct made made = make();
	const size_t frame = HANDLER + 256;

	made.sp = HANDLER;
	put_frame(&made, frame);
	put(&made, frame + HS_SIGFRAME_PC_OFFSET, (uint64_t)make); // any code
	put(&made, frame + HS_SIGFRAME_SP_OFFSET, (uint64_t)made.low + BELOW);
	put(&made, frame + 24, (uint64_t)made.low + ALTERNATE); // uc_stack.ss_sp
	put(&made, frame + 40, ALTERNATE_SIZE);                 // uc_stack.ss_size
	return made;
}

static void test_interrupted_below(void)
{
	struct made made = make_handler();

	CHECK(!is_inside(&made, NOWHERE)); // what it has interrupted is the program's own
	made = make_handler();
	put(&made, BELOW + 512, PAYLOAD + 100); // a hook's, below the stack pointer
	made.slot.guard = (uint64_t)made.low + BELOW + 1024;
	CHECK(is_inside(&made, NOWHERE));
	made = make_handler();
	put(&made, BELOW + 512, PAYLOAD + 100); // the handler has allocated: the slot says nothing any more
	CHECK(is_inside(&made, NOWHERE));
	made = make_handler();
	put(&made, BELOW - 8, PAYLOAD + 100); // further down than the interrupted code stands
	CHECK(!is_inside(&made, NOWHERE));
	made = make_handler();
	put(&made, BELOW + 512, PAYLOAD + 100);
	put(&made, HANDLER + 256 + 40, PAGE); // the frame of a handler that was over before: this one stands elsewhere
	CHECK(!is_inside(&made, NOWHERE));
	made = make_handler();
	munmap(made.low + BELOW + PAGE, PAGE); // nobody knows
	CHECK(is_inside(&made, NOWHERE));
	made = make_handler();
	put(&made, BELOW + 512, PAYLOAD + 100);
	made.sp = HANDLER + 256 + 8; // the handler has just returned: its return address is below the stack pointer
	CHECK(is_inside(&made, NOWHERE));
	made = make();
	put_frame(&made, 256);
	made.sp = 256 + 8; // likewise of one that has interrupted the payload
	CHECK(is_inside(&made, NOWHERE));
	made = make();
	put_frame(&made, 256);
	made.sp = 256 + 16;
	CHECK(!is_inside(&made, NOWHERE));
	// What it has interrupted is a handler of the same kind.
	made = make_handler();
	put_frame(&made, BELOW + 256);
	put(&made, BELOW + 256 + HS_SIGFRAME_PC_OFFSET, NOWHERE);
	put(&made, BELOW + 256 + HS_SIGFRAME_SP_OFFSET, (uint64_t)made.low + PAGE);
	put(&made, BELOW + 256 + 24, (uint64_t)made.low + 2 * PAGE);
	put(&made, BELOW + 256 + 40, 4 * PAGE);
	put(&made, PAGE + 64, PAYLOAD + 100);
	CHECK(is_inside(&made, NOWHERE));
}

// A handler on an alternate stack has interrupted another one, which has interrupted the payload: that one's frame lies
// on the thread's own stack. No hook says that it runs.
static void test_handler_amid_handler(void)
{
	for (int payload = 0; payload < 2; payload++) {
		struct made own = make(), alternate = make_handler();

		mprotect(own.low, PAGE, PROT_NONE); // else they may be one mapping
		mprotect(own.low + SIZE - PAGE, PAGE, PROT_NONE);
		put_frame(&own, 40 * PAGE + 800);
		if (!payload)
			put(&own, 40 * PAGE + 800 + HS_SIGFRAME_PC_OFFSET, (uint64_t)make);
		put(&alternate, HANDLER + 256 + HS_SIGFRAME_SP_OFFSET, (uint64_t)own.low + 40 * PAGE);
		alternate.slot = own.slot;
		CHECK_EQUAL(is_inside(&alternate, NOWHERE), payload);
		alternate = make_handler();
		alternate.slot = own.slot;
		// a frame below
		put(&alternate, HANDLER + 256 + HS_SIGFRAME_SP_OFFSET,
		    (uint64_t)own.low + 40 * PAGE + 800 + HS_SIGFRAME_HEAD_SIZE);
		CHECK(!is_inside(&alternate, NOWHERE));
		munmap(own.low, SIZE);
	}
}

// What points into the payload there may be left over, of which the slot knows; of a stack that is not the thread's own
// (a coroutine's) nobody does.
static void test_left_over_amid_handlers(void)
{
	for (int is_own = 0; is_own < 2; is_own++) {
		struct made own = make(), alternate = make_handler();

		mprotect(own.low, PAGE, PROT_NONE);
		mprotect(own.low + SIZE - PAGE, PAGE, PROT_NONE);
		put(&own, 50 * PAGE, PAYLOAD + 100);
		put(&alternate, HANDLER + 256 + HS_SIGFRAME_SP_OFFSET, (uint64_t)own.low + 40 * PAGE);
		alternate.slot = own.slot;
		alternate.slot.stack_high = is_own ? own.slot.stack_high : own.slot.stack_low;
		CHECK_EQUAL(is_inside(&alternate, NOWHERE), !is_own);
		munmap(own.low, SIZE);
	}
}

// The inner handler's stack is an array below the outer one's (SS_AUTODISARM lets a handler set another): that one
// leads to what was interrupted.
static void test_two_alternate_stacks(void)
{
	for (int payload = 0; payload < 2; payload++) {
		struct made made = make_handler();
		const size_t outer = HANDLER + 12 * PAGE;

		put_frame(&made, outer);
		put(&made, outer + HS_SIGFRAME_PC_OFFSET, (uint64_t)make);
		put(&made, outer + HS_SIGFRAME_SP_OFFSET, (uint64_t)made.low + BELOW);
		put(&made, outer + 24, (uint64_t)made.low + HANDLER + 8 * PAGE);
		put(&made, outer + 40, 8 * PAGE);
		put(&made, HANDLER + 256 + HS_SIGFRAME_SP_OFFSET, (uint64_t)made.low + HANDLER + 10 * PAGE);
		if (payload)
			put(&made, BELOW + 512, PAYLOAD + 100);
		CHECK_EQUAL(is_inside(&made, NOWHERE), payload);
	}
}

// What the handler has interrupted, below it on the same stack, is itself a handler on an alternate stack elsewhere,
// inside the payload.
static void test_interrupted_handler_below(void)
{
	for (int payload = 0; payload < 2; payload++) {
		struct made other = make(), made = make_handler();

		mprotect(other.low, PAGE, PROT_NONE);
		mprotect(other.low + SIZE - PAGE, PAGE, PROT_NONE);
		put_frame(&made, BELOW + 256);
		put(&made, BELOW + 256 + HS_SIGFRAME_PC_OFFSET, (uint64_t)make);
		put(&made, BELOW + 256 + HS_SIGFRAME_SP_OFFSET, (uint64_t)other.low + 40 * PAGE);
		put(&made, BELOW + 256 + 24, (uint64_t)made.low + 2 * PAGE);
		put(&made, BELOW + 256 + 40, 4 * PAGE);
		put_frame(&other, 40 * PAGE + 800);
		if (!payload)
			put(&other, 40 * PAGE + 800 + HS_SIGFRAME_PC_OFFSET, (uint64_t)make);
		CHECK_EQUAL(is_inside(&made, NOWHERE), payload);
		munmap(other.low, SIZE);
	}
}

// So many that nobody looks at all of them.
static void test_too_many_handlers(void)
{
	enum { STACKS = 64 };

	for (int count = STACKS - 1; count <= STACKS; count++) {
		struct made made = make_handler();

		for (int i = 0; i < count; i++) {
			const size_t frame = HANDLER + 1024 + (size_t)i * 512;

			put_frame(&made, frame);
			put(&made, frame + HS_SIGFRAME_PC_OFFSET, (uint64_t)make);
			put(&made, frame + HS_SIGFRAME_SP_OFFSET,
			    (uint64_t)made.low + HANDLER + 40 * PAGE + (size_t)i * 64);
			put(&made, frame + 24, (uint64_t)made.low + ALTERNATE);
			put(&made, frame + 40, 20 * PAGE);
		}
		CHECK_EQUAL(is_inside(&made, NOWHERE), count == STACKS);
	}
}

// Of a coroutine's stack that a handler will return to, whose end nobody knows, as much is looked at as of one that a
// thread is on.
static void test_unknown_end(void)
{
	const size_t begin = 40 * PAGE, most = 1 << 20;

	for (size_t offset = most - 8; offset <= most; offset += 8) {
		struct made other = make(), alternate = make_handler();

		mprotect(other.low, PAGE, PROT_NONE);
		mprotect(other.low + SIZE - PAGE, PAGE, PROT_NONE);
		put(&other, begin + offset, PAYLOAD + 100);
		put(&alternate, HANDLER + 256 + HS_SIGFRAME_SP_OFFSET, (uint64_t)other.low + begin);
		CHECK_EQUAL(is_inside(&alternate, NOWHERE), offset < most);
		munmap(other.low, SIZE);
	}
}

// Where nothing is left of the share for what a handler will return to, another freeze may tell more; but not when all
// of the share was there for this thread.
static void test_no_share_for_returns(void)
{
	for (int others = 0; others < 2; others++) {
		struct looked_at_list looked_at = { 0 };
		struct made made = make_handler();

		made.slot.stack_low = (uint64_t)made.low;
		write_all(&made);
		put_frame(&made, HANDLER + 256);
		put(&made, HANDLER + 256 + HS_SIGFRAME_PC_OFFSET, (uint64_t)make);
		put(&made, HANDLER + 256 + HS_SIGFRAME_SP_OFFSET, (uint64_t)made.low + BELOW);
		put(&made, HANDLER + 256 + 24, (uint64_t)made.low + ALTERNATE);
		put(&made, HANDLER + 256 + 40, ALTERNATE_SIZE);
		spent = others ? 64 : 0;
		CHECK_EQUAL(ask(&made, NOWHERE, &looked_at, SHARE + 128), others ? NOT_YET : INSIDE);
		spent = 0;
		CHECK_EQUAL(ask(&made, NOWHERE, &looked_at, 0), OUTSIDE);
		looked_at_deinit(&looked_at);
		munmap(made.low, SIZE);
	}
}

int main(void)
{
	test_unknown_end();
	test_no_share_for_returns();
	test_places();
	test_slots();
	test_without_slot();
	test_deep();
	test_parts();
	test_elsewhere();
	test_interrupted_below();
	test_handler_amid_handler();
	test_left_over_amid_handlers();
	test_two_alternate_stacks();
	test_interrupted_handler_below();
	test_too_many_handlers();
	return CHECK_RESULT();
}
