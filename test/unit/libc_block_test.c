// SPDX-License-Identifier: Apache-2.0
// What the words of a C library's control block say of a thread's stack: to the payload and to the tool the same.
#include "attach/ptrace/libc_stack.h"
#include "check.h"

enum { WORDS = 5 };

#define TP UINT64_C(0x7f0000100700)

static const struct {
	const char *what;
	bool is_musl;
	uint64_t words[WORDS];
	uint64_t low, high; // 0 = no stack
} cases[] = {
	{ "a mapping with a guard", false, { 0x7f0000000000, 0x101000, 4096, 4096 }, 0x7f0000001000, TP },
	{ "a large guard", false, { 0x7f0000000000, 0x101000, 65536, 65536 }, 0x7f0000010000, TP },
	{ "given, cut out of a larger mapping", false, { 0x7f00000fd000, 0x4000, 0, 4096 }, 0x7f00000fd000, TP },
	{ "given, unaligned", false, { 0x7f00000fd010, 0x3ff0, 0, 4096 }, 0x7f00000fd010, TP },
	{ "no guard", false, { 0x7f0000000000, 0x101000, 4095 }, 0, 0 },
	{ "all guard", false, { 0x7f0000000000, 0x101000, 0x101000 }, 0, 0 },
	{ "a guard up to the block", false, { 0x7f0000000000, 0x101000, 0x100000 }, 0x7f0000100000, TP },
	{ "ends below the block", false, { 0x7f0000000000, 0x100000, 4096, 4096 }, 0, 0 },
	{ "ends at the block", false, { 0x7f0000000000, 0x100700, 4096, 4096 }, 0, 0 },
	{ "ends far above the block", false, { 0x7f0000000000, 0x200000, 4096, 4096 }, 0, 0 },
	{ "begins above the block", false, { 0x7f0000101000, 0x101000, 4096, 4096 }, 0, 0 },
	{ "the main thread's", false, { 0 }, 0, 0 },
	{ "wraps", false, { 0x10000, UINT64_MAX }, 0, 0 },
	{ "too low", false, { 0xffff, 0x7f0000101000 - 0xffff }, 0, 0 },
	{ "nearly the whole address space", false, { 0x10000, 0x7f0000101000 - 0x10000 }, 0, 0 },
	{ "too small", false, { TP - 1024, 2047 }, 0, 0 },
	{ "just large enough", false, { TP - 1024, 2048 }, TP - 1024, TP },
	{ "a mapping with a guard",
	  true,
	  { 0x7f0000000000, 0x101000, 0x7f0000100600, 0xff600, 4096 },
	  0x7f0000001000,
	  0x7f0000100600 },
	{ "given, the block at its end", true, { 0, 0x4000, 0x7f0000100600, 0x3600 }, 0x7f00000fd000, 0x7f0000100600 },
	{ "given, the block in memory of its own",
	  true,
	  { 0x7f0000100000, 0x1000, 0x7e0000004000, 0x4000 },
	  0x7e0000000000,
	  0x7e0000004000 },
	{ "reaches into the guard", true, { 0x7f0000000000, 0x101000, 0x7f0000100600, 0x100600, 4096 }, 0, 0 },
	{ "a guard of no whole pages", true, { 0x7f0000000000, 0x101000, 0x7f0000100600, 0xf0000, 4095 }, 0, 0 },
	{ "a guard that is all", true, { 0x7f0000000000, 0x101000, 0x7f0000100600, 0xf0000, 0x101000 }, 0, 0 },
	{ "memory that ends below the block", true, { 0x7f0000000000, 0x100000, 0x7f0000100600, 0x10000 }, 0, 0 },
	{ "memory of no whole pages", true, { 0x7f0000000008, 0x101000, 0x7f0000100600, 0x10000 }, 0, 0 },
	{ "a size of no whole pages", true, { 0x7f0000000000, 0x101008, 0x7f0000100600, 0x10000 }, 0, 0 },
	{ "a stack that wraps", true, { 0x7f0000000000, 0x101000, 0x7f0000100600, UINT64_MAX - 4096 }, 0, 0 },
	{ "given, larger than what was given", true, { 0, 0x4000, 0x7f0000100600, 0x4001 }, 0, 0 },
	{ "given, much smaller", true, { 0, 0x20000, 0x7f0000100600, 0x4000 }, 0, 0 },
	{ "given, above the block", true, { 0, 0x4000, TP + 8, 0x3600 }, 0, 0 },
	{ "given, far below the block", true, { 0, 0x4000, TP - 65544, 0x3600 }, 0, 0 },
};

static bool find(size_t i, size_t count, struct stack_range *ret)
{
	*ret = (struct stack_range){ 0, 0 };
	return cases[i].is_musl ? libc_block_musl(cases[i].words, count, TP, ret)
				: libc_block_glibc(cases[i].words, count, TP, ret);
}

static void test_cases(void)
{
	struct stack_range range;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const bool found = find(i, WORDS, &range);

		if (found != (cases[i].high != 0) || range.low != cases[i].low || range.high != cases[i].high)
			fprintf(stderr, "%s: %s\n", cases[i].is_musl ? "musl" : "glibc", cases[i].what);
		CHECK_EQUAL(found, cases[i].high != 0);
		CHECK_EQUAL(range.low, cases[i].low);
		CHECK_EQUAL(range.high, cases[i].high);
		for (size_t count = 0; count < (cases[i].is_musl ? 4 : 2); count++)
			CHECK(!find(i, count, &range)); // cut off
	}
}

// The block lies at a page's end: a guard that cannot be read is none.
static void test_cut_guard(void)
{
	struct stack_range range;

	CHECK(find(0, 2, &range) && range.low == 0x7f0000000000 && range.high == TP);
	CHECK(find(4, 2, &range) && range.low == 0x7f0000000000 && range.high == TP);
}

// The tool finds them among others, whichever C library it is, and wants the guard with them.
static void test_find(void)
{
	enum { AT = 20, COUNT = 40 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t words[COUNT] = { TP, 0, TP, 1 };
		struct stack_range range = { 0, 0 };

		if (cases[i].is_musl && !cases[i].high) // its last words may be some of glibc's
			continue;
		memcpy(words + AT, cases[i].words, sizeof(cases[i].words));
		CHECK_EQUAL(libc_stack_find(words, COUNT, TP, &range), cases[i].high != 0);
		CHECK_EQUAL(range.low, cases[i].low);
		CHECK_EQUAL(range.high, cases[i].high);
		CHECK_EQUAL(libc_stack_find(words, AT + WORDS, TP, &range), cases[i].high != 0);
		CHECK(!libc_stack_find(words, AT + WORDS - 1, TP, &range)); // cut off
	}
}

int main(void)
{
	test_cases();
	test_cut_guard();
	test_find();
	return CHECK_RESULT();
}
