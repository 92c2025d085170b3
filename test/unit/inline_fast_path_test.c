// SPDX-License-Identifier: Apache-2.0
// The inline fast paths of the payload's image, run in an island of this process: which calls pass, and what that
// leaves in the state pages.
#include "check.h"

#include "attach/hook/inline_fast_path.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BY_STUB = 1, BY_TRAMPOLINE = 2, HOOK = 7 };

typedef uint64_t function_of_two(uint64_t, uint64_t);

static struct payload_state state;
static struct hook_island *islands; // by kind; behind them the code that their stubs lead to
static struct hook_goals goals;

static uint64_t thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

static struct sampling_credit *own_credit(void) { return &state.credits[sampling_credit_index(thread_pointer())]; }

// mov $value,%eax ; ret
static void put_return(uint8_t *code, uint8_t value)
{
	const uint8_t bytes[] = { 0xb8, value, 0, 0, 0, 0xc3 };

	memcpy(code, bytes, sizeof(bytes));
}

static void make_islands(void)
{
	// attach/arch/x86_64/relocate.c
	static const uint8_t stub[] = { 0x4c, 0x8d, 0x1d, 0xe9, 0xff, 0xff, 0xff, 0x41, 0xff, 0x23 };
	uint8_t *code;

	islands = mmap(NULL, 2 * HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (islands == MAP_FAILED)
		exit(1);
	code = (uint8_t *)islands + HS_PAGE_SIZE;
	put_return(code, BY_STUB);
	goals.state = (uint64_t)&state;
	for (uint32_t kind = 0; kind < HOOK_KIND_COUNT; kind++) {
		struct hook_island *island = &islands[kind];

		island->entry = (uint64_t)code;
		island->hook_index = HOOK;
		island->kind = kind;
		memcpy(island->stub, stub, sizeof(stub));
		put_return(island->trampoline, BY_TRAMPOLINE);
		inline_fast_path_fill(&goals, island);
	}
	if (mprotect(islands, 2 * HS_PAGE_SIZE, PROT_READ | PROT_EXEC) != 0)
		exit(1);
}

static uint64_t call(enum hook_kind kind, uint64_t a, uint64_t b)
{
	function_of_two *function;
	const uint8_t *begin = (const uint8_t *)&islands[kind] + islands[kind].begin;

	memcpy(&function, &(const void *){ begin }, sizeof(function));
	return function(a, b);
}

static void allow(int64_t countdown)
{
	own_credit()->thread_pointer = thread_pointer();
	own_credit()->countdown = countdown;
	state.hook_trust[HOOK] = HS_TRUST_CALLS;
}

// Whether a call passes, and how many bytes that has taken off.
static void check_allocation(int line, enum hook_kind kind, uint64_t a, uint64_t b, int64_t countdown, bool passes,
			     int64_t taken)
{
	uint64_t way;

	allow(countdown);
	way = call(kind, a, b);
	if (way != (passes ? BY_TRAMPOLINE : BY_STUB) || own_credit()->countdown != countdown - taken)
		fprintf(stderr, "line %d:\n", line);
	CHECK_EQUAL(way, passes ? BY_TRAMPOLINE : BY_STUB);
	CHECK_EQUAL(own_credit()->countdown, countdown - taken);
}

static void test_allocations(void)
{
	check_allocation(__LINE__, HOOK_malloc, 100, 0, 101, true, 100);
	check_allocation(__LINE__, HOOK_malloc, 100, 0, 100, false, 0); // the last byte is the sample
	check_allocation(__LINE__, HOOK_malloc, 100, 0, 1000, true, 100);
	check_allocation(__LINE__, HOOK_malloc, 1, 0, INT64_MAX, true, 1);
	check_allocation(__LINE__, HOOK_malloc, 0, 0, 1000, false, 0);
	check_allocation(__LINE__, HOOK_malloc, 1, 0, 0, false, 0);
	check_allocation(__LINE__, HOOK_malloc, 1, 0, -5, false, 0);
	check_allocation(__LINE__, HOOK_malloc, INT64_MAX, 0, 1000, false, 0);
	// As signed numbers these are below 0: they fail, and must not lengthen the countdown.
	check_allocation(__LINE__, HOOK_malloc, UINT64_MAX, 0, 1000, false, 0);
	check_allocation(__LINE__, HOOK_malloc, UINT64_C(3) << 62, 0, 1000, false, 0);
	check_allocation(__LINE__, HOOK_malloc, UINT64_C(1) << 63, 0, 1000, false, 0);
	check_allocation(__LINE__, HOOK_new, UINT64_C(3) << 62, 0, 1000, false, 0);
	check_allocation(__LINE__, HOOK_calloc, UINT64_C(3) << 62, 1, 1000, false, 0);
	check_allocation(__LINE__, HOOK_new, 100, 77, 101, true, 100); // whatever its second argument
	check_allocation(__LINE__, HOOK_new, 100, 77, 100, false, 0);
	check_allocation(__LINE__, HOOK_calloc, 10, 10, 101, true, 100);
	check_allocation(__LINE__, HOOK_calloc, 10, 10, 100, false, 0);
	check_allocation(__LINE__, HOOK_calloc, 0, 10, 1000, false, 0);
	check_allocation(__LINE__, HOOK_calloc, 10, 0, 1000, false, 0);
	check_allocation(__LINE__, HOOK_calloc, UINT64_C(1) << 33, UINT64_C(1) << 33, 1000, false, 0); // 2^66
	check_allocation(__LINE__, HOOK_calloc, UINT64_C(1) << 32, UINT64_C(1) << 31, 1000, false, 0); // 2^63
	// 2^64 + 2^32
	check_allocation(__LINE__, HOOK_calloc, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, 1000, false, 0);
	check_allocation(__LINE__, HOOK_calloc, (UINT64_C(1) << 62) + 1, 4, 1000, false, 0); // 2^64 + 4
	check_allocation(__LINE__, HOOK_calloc, (UINT64_C(1) << 63) + 1, 2, 1000, false, 0);
	check_allocation(__LINE__, HOOK_calloc, 2, (UINT64_C(1) << 63) + 1, 1000, false, 0);
	check_allocation(__LINE__, HOOK_calloc, UINT64_MAX, UINT64_MAX, 1000, false, 0); // -1 times -1
	check_allocation(__LINE__, HOOK_calloc, UINT64_MAX - 1, UINT64_MAX - 2, 1000, false, 0);
	check_allocation(__LINE__, HOOK_calloc, UINT64_MAX, 1, 1000, false, 0);
}

static void test_no_credit(void)
{
	static const enum hook_kind kinds[] = { HOOK_malloc, HOOK_calloc, HOOK_new };

	for (size_t i = 0; i < 3; i++) {
		allow(1000);
		own_credit()->thread_pointer = 0; // as in a forked child
		CHECK_EQUAL(call(kinds[i], 1, 1), BY_STUB);
		own_credit()->thread_pointer = thread_pointer() + 64; // another thread's
		CHECK_EQUAL(call(kinds[i], 1, 1), BY_STUB);
		allow(1000);
		state.hook_trust[HOOK] = HS_TRUST_CALLS - 1;
		CHECK_EQUAL(call(kinds[i], 1, 1), BY_STUB);
		state.hook_trust[HOOK] = HS_TRUST_NEVER;
		CHECK_EQUAL(call(kinds[i], 1, 1), BY_STUB);
		CHECK_EQUAL(own_credit()->countdown, 1000);
		memset(state.hook_trust, HS_TRUST_CALLS, sizeof(state.hook_trust));
		state.hook_trust[HOOK] = 0;
		CHECK_EQUAL(call(kinds[i], 1, 1), BY_STUB); // the trust of its own hook
		memset(state.hook_trust, 0, sizeof(state.hook_trust));
	}
}

static void test_free(void)
{
	for (uint64_t address = UINT64_C(0x7f1234567890); address < UINT64_C(0x7f1234567890) + 50000; address += 8) {
		CHECK_EQUAL(call(HOOK_free, address, 0), BY_TRAMPOLINE);
		state.bloom[bloom_index(address)] = 1;
		CHECK_EQUAL(call(HOOK_free, address, 0), BY_STUB);
		state.bloom[bloom_index(address)] = HS_BLOOM_SATURATED;
		CHECK_EQUAL(call(HOOK_free, address, 0), BY_STUB);
		state.bloom[bloom_index(address)] = 0;
	}
}

// Other kinds begin with their stub; where a function returns, with its own last instructions.
static void test_others(void)
{
	for (uint32_t kind = 0; kind < HOOK_KIND_COUNT; kind++) {
		if (kind == HOOK_malloc || kind == HOOK_calloc || kind == HOOK_new || kind == HOOK_free)
			continue;
		CHECK_EQUAL(islands[kind].begin,
			    kind == HOOK_exit_point ? HS_ISLAND_TRAMPOLINE_OFFSET : HS_ISLAND_STUB_OFFSET);
		if (kind == HOOK_exit_point)
			continue;
		CHECK_EQUAL(call((enum hook_kind)kind, 1, 1), BY_STUB);
	}
}

int main(void)
{
	make_islands();
	test_allocations();
	test_no_credit();
	test_free();
	test_others();
	return CHECK_RESULT();
}
