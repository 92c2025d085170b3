// SPDX-License-Identifier: Apache-2.0
// Signal handlers that will return into bytes to be patched: stacks made by hand, in this process's memory.
#include "check.h"
#include "held_process.h"

#include "attach/arch/sigframe.h"
#include "attach/hook/handler_return.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 48, CODE_SEGMENT = 0x33 }; // of 64-bit code, in the kernel's frames

#define HOOK UINT64_C(0x401000)

struct stack {
	uint8_t *low; // PAGES pages; behind them is nothing that can be read
	uint64_t restorer;
};

static struct stack make_stack(bool shared)
{
	struct stack stack = { .restorer = (uint64_t)&make_stack }; // any code

	stack.low = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
			 (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
	if (stack.low == MAP_FAILED || mprotect(stack.low + PAGES * PAGE, PAGE, PROT_NONE) != 0)
		exit(1);
	return stack;
}

static void end_stack(const struct stack *stack) { munmap(stack->low, (PAGES + 1) * PAGE); }

static void put_u64(uint8_t *bytes, uint64_t value) { memcpy(bytes, &value, sizeof(value)); }

// The head of a frame as the kernel lays it (arch/x86/include/asm/sigframe.h): the handler's return address, uc_flags,
// ..., rip, eflags, cs.
static void put_frame(const struct stack *stack, size_t offset, uint64_t pc)
{
	uint8_t *frame = stack->low + offset;

	put_u64(frame, stack->restorer);
	put_u64(frame + 8, 7); // UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
	put_u64(frame + HS_SIGFRAME_PC_OFFSET, pc);
	put_u64(frame + HS_SIGFRAME_PC_OFFSET + 8, 0x246);
	put_u64(frame + HS_SIGFRAME_PC_OFFSET + 16, CODE_SEGMENT | UINT64_C(0x2b) << 48);
}

static struct planned_hook made_hook(uint64_t address, uint8_t covered, enum hook_verdict verdict)
{
	struct planned_hook hook = { .record = { .address = address, .covered = covered, .verdict = verdict } };

	snprintf(hook.record.name, sizeof(hook.record.name), "at_%" PRIx64, address);
	return hook;
}

// What is said of threads whose stack pointers are `sps`. NULL: nothing speaks against patching. The text stays until
// the next call.
static const char *refusal(const uint8_t *const *sps, size_t count)
{
	// Not in the order of their addresses; the one that is refused lies between them, and outside.
	struct planned_hook hooks[] = {
		made_hook(HOOK + 0x2000, 5, VERDICT_ok),
		made_hook(HOOK, 7, VERDICT_ok),
		made_hook(HOOK + 0x3000, 9, VERDICT_ok),
		made_hook(HOOK + 0x1000, 7, VERDICT_too_short),
		made_hook(HOOK + 0x8000, 7, VERDICT_branch_inside),
	};
	const struct hook_plan plan = { .hooks = hooks, .count = sizeof(hooks) / sizeof(hooks[0]) };
	static struct frozen_thread threads[1100];
	const struct frozen_process process = { .process = held_process(getpid()), .threads = threads, .count = count };
	static char text[512];
	struct target_memory memory;
	struct hs_error *error;
	struct proc_maps maps;

	for (size_t i = 0; i < count; i++) {
		threads[i].tid = 0x40000001 + (pid_t)i;
		threads[i].registers.rsp = (uint64_t)sps[i];
	}
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	error = handler_return_check(&plan, &process, &maps, &memory);
	target_memory_close(&memory);
	proc_maps_deinit(&maps);
	if (!error)
		return NULL;
	CHECK_EQUAL(error->code, HS_ERROR_REFUSED);
	snprintf(text, sizeof(text), "%s", error->message);
	hs_error_destroy(error);
	return text;
}

static bool is_refused(const struct stack *stack, const char *name)
{
	const char *text = refusal((const uint8_t *const[]){ stack->low + 64 }, 1);

	return name ? text && strstr(text, "thread 1073741825 runs a signal handler") && strstr(text, name) : !text;
}

static void test_places(void)
{
	static const struct {
		uint64_t pc;
		const char *name; // NULL: it may be patched
	} cases[] = {
		{ HOOK, NULL }, // runs into the jump
		{ HOOK + 1, "at_401000" },
		{ HOOK + 6, "at_401000" },
		{ HOOK + 7, NULL },
		{ HOOK + 0x2000, NULL },
		{ HOOK + 0x2004, "at_403000" },
		{ HOOK + 0x2005, NULL },
		{ HOOK + 0x3008, "at_404000" },
		{ HOOK + 0x3009, NULL }, // the highest of all bytes, and behind it
		{ HOOK + 0x1001, NULL },
		{ HOOK + 0x8001, NULL }, // not patched
		{ 0, NULL },
		{ UINT64_MAX, NULL },
	};
	// At the stack's low end, across the border of two pieces that are read, and at its high end.
	static const size_t offsets[] = { 64, 65536 + 64 - HS_SIGFRAME_PC_OFFSET,
					  65536 + 64 - HS_SIGFRAME_PC_OFFSET - 8,
					  PAGES * PAGE - HS_SIGFRAME_HEAD_SIZE };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t j = 0; j < sizeof(offsets) / sizeof(offsets[0]); j++) {
			struct stack stack = make_stack(false);
			bool right;

			put_frame(&stack, offsets[j], cases[i].pc);
			right = is_refused(&stack, cases[i].name);
			if (!right)
				fprintf(stderr, "0x%" PRIx64 " at %zu:\n", cases[i].pc, offsets[j]);
			CHECK(right);
			end_stack(&stack);
		}
}

// A word that only looks so has been left there, and is nobody's pc.
static void test_no_frames(void)
{
	const size_t at = 2 * PAGE;
	struct stack stack = make_stack(false), other;

	put_u64(stack.low + at, HOOK + 1);
	CHECK(is_refused(&stack, NULL));
	put_frame(&stack, at, HOOK + 1);
	CHECK(is_refused(&stack, "at_401000"));
	put_u64(stack.low + at + HS_SIGFRAME_PC_OFFSET + 16, 0x2b); // another segment
	CHECK(is_refused(&stack, NULL));
	put_frame(&stack, at, HOOK + 1);
	other = stack;
	other.restorer = (uint64_t)stack.low; // no code
	put_frame(&other, at, HOOK + 1);
	CHECK(is_refused(&stack, NULL));
	end_stack(&stack);

	// Below the stack pointer nothing is anybody's, but the return address of a handler that has just returned.
	stack = make_stack(false);
	put_frame(&stack, 64 - 8, HOOK + 1);
	CHECK(is_refused(&stack, "at_401000"));
	end_stack(&stack);
	stack = make_stack(false);
	put_frame(&stack, 64 - 16, HOOK + 1);
	CHECK(is_refused(&stack, NULL));
	end_stack(&stack);
}

// A handler runs on an alternate stack, which may be an array in the same stack, and has interrupted another one.
static void test_alternate(void)
{
	// Within what is read at once, and across the border of two pieces: each of its words before it.
	for (size_t i = 0; i < 2 * 28; i++) {
		struct stack stack = make_stack(false), other = make_stack(false), *alternate = i % 2 ? &stack : &other;
		const size_t sp = 20 * PAGE, frame = sp + (i < 2 ? 4000 : 65536 - i / 2 * 8), before = 2 * PAGE;
		const uint8_t *sps[] = { alternate->low + sp };

		put_frame(alternate, frame, (uint64_t)&test_alternate);
		put_u64(alternate->low + frame + HS_SIGFRAME_SP_OFFSET, (uint64_t)(stack.low + before));
		put_u64(alternate->low + frame + 24, (uint64_t)(alternate->low + sp - PAGE)); // uc_stack.ss_sp
		put_u64(alternate->low + frame + 40, 20 * PAGE);                              // uc_stack.ss_size
		CHECK(!refusal(sps, 1));
		put_frame(&stack, before + 800, HOOK + 1);
		CHECK(refusal(sps, 1) && strstr(refusal(sps, 1), "at_401000"));
		// A frame that a handler that is over has left in a local array, further in, leads to nothing.
		put_frame(alternate, sp + 600, (uint64_t)&test_alternate);
		put_u64(alternate->low + sp + 600 + HS_SIGFRAME_SP_OFFSET, (uint64_t)(stack.low + 40 * PAGE));
		put_u64(alternate->low + sp + 600 + 24, (uint64_t)(alternate->low + sp - PAGE));
		put_u64(alternate->low + sp + 600 + 40, 20 * PAGE);
		CHECK(refusal(sps, 1) && strstr(refusal(sps, 1), "at_401000"));
		// of a handler that is over: the thread is not on that stack
		put_u64(alternate->low + frame + 40, PAGE);
		CHECK(!refusal(sps, 1));
		end_stack(&stack);
		end_stack(&other);
	}
}

// Among very many threads each has a small share, which the handler's stack takes: the one that it has interrupted is
// looked at all the same.
static void test_small_share(void)
{
	enum { THREADS = 1100 };
	const uint8_t *sps[THREADS];
	struct stack stack = make_stack(false), alternate = make_stack(false);

	for (size_t i = 0; i < THREADS; i++)
		sps[i] = alternate.low + PAGE;
	put_frame(&alternate, PAGE + 800, (uint64_t)&test_small_share);
	put_u64(alternate.low + PAGE + 800 + HS_SIGFRAME_SP_OFFSET, (uint64_t)(stack.low + PAGE));
	put_u64(alternate.low + PAGE + 800 + 24, (uint64_t)alternate.low); // uc_stack.ss_sp
	put_u64(alternate.low + PAGE + 800 + 40, 20 * PAGE);               // uc_stack.ss_size
	CHECK(!refusal(sps, THREADS));
	put_frame(&stack, PAGE + 800, HOOK + 1);
	CHECK(refusal(sps, THREADS) && strstr(refusal(sps, THREADS), "at_401000"));
	end_stack(&stack);
	end_stack(&alternate);
}

// So many that nobody looks at all of them.
static void test_many_alternate(void)
{
	for (size_t count = 63; count <= 64; count++) {
		struct stack stack = make_stack(false), other = make_stack(false);
		const uint8_t *sps[] = { other.low + PAGE };

		for (size_t i = 0; i < count; i++) {
			const size_t frame = PAGE + 512 + i * 512;

			put_frame(&other, frame, (uint64_t)&test_alternate);
			put_u64(other.low + frame + HS_SIGFRAME_SP_OFFSET, (uint64_t)(stack.low + (i + 1) * 64));
			put_u64(other.low + frame + 24, (uint64_t)other.low); // uc_stack.ss_sp
			put_u64(other.low + frame + 40, 20 * PAGE);           // uc_stack.ss_size
		}
		CHECK_EQUAL(refusal(sps, 1) && strstr(refusal(sps, 1), "not all of them could be looked at"),
			    count == 64);
		end_stack(&stack);
		end_stack(&other);
	}
}

// Any of several threads, the last one too; one has no stack that can be read.
static void test_threads(void)
{
	struct stack stacks[2] = { make_stack(false), make_stack(false) };
	const uint8_t *sps[3] = { stacks[0].low + 64, NULL, stacks[1].low + 64 };
	const char *text;

	CHECK(!refusal(sps, 3));
	put_frame(&stacks[1], 3 * PAGE, HOOK + 0x3001);
	text = refusal(sps, 3);
	CHECK(text && strstr(text, "thread 1073741827 ") && strstr(text, "at_404000"));
	CHECK(!refusal(sps, 2));
	sps[0] = stacks[1].low + 64;
	text = refusal(sps, 2);
	CHECK(text && strstr(text, "thread 1073741825 "));
	for (size_t i = 0; i < 2; i++)
		end_stack(&stacks[i]);
}

// Of a stack of shared memory nobody knows what a page holds that is not there. Of private memory it holds nothing.
static void test_absent_pages(void)
{
	static const size_t absent[] = { 0, 20, PAGES - 1 };

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		for (int shared = 0; shared < 2; shared++) {
			struct stack stack = make_stack(shared);
			const uint8_t *sps[] = { stack.low + 64 };
			const char *text;

			for (size_t page = 0; page < PAGES; page++)
				if (page != absent[i])
					stack.low[page * PAGE] = 1;
			text = refusal(sps, 1);
			CHECK(shared ? text && strstr(text, "is in shared memory with a page that is not resident")
				     : !text);
			stack.low[absent[i] * PAGE] = 1;
			CHECK(!refusal(sps, 1));
			end_stack(&stack);
		}
}

int main(void)
{
	test_places();
	test_no_frames();
	test_alternate();
	test_many_alternate();
	test_small_share();
	test_threads();
	test_absent_pages();
	return CHECK_RESULT();
}
