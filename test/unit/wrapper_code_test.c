// SPDX-License-Identifier: Apache-2.0
// Which functions only allocate for their caller, by their code, made by hand; and what is known of functions by name.
#include "check.h"

#include "attach/arch/wrapper_code.h"
#include "snapshot/symbols/callee_names.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Where the code is, and what it calls.
enum { CODE = 0x10000, MALLOC = 0x1000, CALLOC, REALLOC, FREE, END, OTHER, WRAPPER, CLEAR };
// A call of 5 bytes that begins `at` bytes into the function.
#define TO(at, to)                                                                                                     \
	(uint8_t)((to) - (at)-5), (uint8_t)(((to) - (at)-5) >> 8), (uint8_t)(((to) - (at)-5) >> 16),                   \
		(uint8_t)(((to) - (at)-5) >> 24)
#define CALL(at, to) 0xe8, TO(at, to)
#define JUMP(at, to) 0xe9, TO(at, to)

static struct callee find(const struct code_branch *branch, void *context)
{
	static const struct callee all[] = { { CALLEE_ALLOCATES, 1 }, { CALLEE_ALLOCATES, 3 }, { CALLEE_ALLOCATES, 2 },
					     { CALLEE_HARMLESS, 0 },  { CALLEE_ENDS, 0 },      { CALLEE_OTHER, 0 },
					     { CALLEE_ALLOCATES, 4 }, { CALLEE_CLEARS, 0 } };
	const uint64_t index = branch->target - CODE - MALLOC;

	(void)context;
	return branch->target && index < COUNT(all) ? all[index] : (struct callee){ CALLEE_OTHER, 0 };
}

static const struct {
	const char *what;
	uint8_t code[64];
	uint8_t size;
	uint8_t sizes; // size_arguments; 0 = no wrapper
	bool never_returns;
} cases[] = {
	{ "jmp malloc", { JUMP(0, MALLOC) }, 5, 1, false },
	{ "behind a landing pad", { 0xf3, 0x0f, 0x1e, 0xfa, JUMP(4, MALLOC) }, 9, 1, false },
	{ "jmp realloc: the second argument", { JUMP(0, REALLOC) }, 5, 2, false },
	{ "jmp calloc", { JUMP(0, CALLOC) }, 5, 3, false },
	{ "a wrapper's third argument", { JUMP(0, WRAPPER) }, 5, 4, false },
	{ "jmp to another function", { JUMP(0, OTHER) }, 5, 0, false },
	{ "jmp to one that ends", { JUMP(0, END) }, 5, 0, true },
	{ "a constant size", { 0xbf, 0x10, 0, 0, 0, JUMP(5, MALLOC) }, 10, 0, false },
	{ "malloc(1)", { 0xbf, 1, 0, 0, 0, JUMP(5, MALLOC) }, 10, 0, false },
	{ "calloc(1, size)", { 0x48, 0x89, 0xfe, 0xbf, 1, 0, 0, 0, JUMP(8, CALLOC) }, 13, 1, false },
	{ "calloc(count, 24)", { 0xbe, 24, 0, 0, 0, JUMP(5, CALLOC) }, 10, 0, false },
	{ "size * 4", { 0x48, 0xc1, 0xe7, 2, JUMP(4, MALLOC) }, 9, 0, false },
	{ "size * 5, by lea", { 0x48, 0x8d, 0x3c, 0xbf, JUMP(4, MALLOC) }, 9, 0, false },
	{ "size + 16", { 0x48, 0x83, 0xc7, 16, JUMP(4, MALLOC) }, 9, 1, false },
	{ "size rounded up", { 0x48, 0x83, 0xc7, 15, 0x48, 0x83, 0xe7, 0xf0, JUMP(8, MALLOC) }, 13, 1, false },
	{ "count * size", { 0x48, 0x0f, 0xaf, 0xfe, JUMP(4, MALLOC) }, 9, 3, false },
	{ "a size out of memory", { 0x48, 0x8b, 0x7f, 8, JUMP(4, MALLOC) }, 9, 0, false },
	{ "at least 1: cmovne",
	  { 0x53, 0x48, 0x85, 0xff, 0x48, 0x89, 0xfb, 0xbf, 1, 0, 0, 0, 0x48, 0x0f, 0x45, 0xfb, CALL(16, MALLOC), 0x5b,
	    0xc3 },
	  23,
	  1,
	  false },
	{ "push; call malloc; if 0 call another, and end; pop; ret",
	  { 0x53, CALL(1, MALLOC), 0x48, 0x85, 0xc0, 0x74, 0x02, 0x5b, 0xc3, CALL(13, OTHER), CALL(18, END) },
	  23,
	  1,
	  false },
	{ "the same when it has not failed",
	  { 0x53, CALL(1, MALLOC), 0x48, 0x85, 0xc0, 0x75, 0x02, 0x5b, 0xc3, CALL(13, OTHER), CALL(18, END) },
	  23,
	  0,
	  false },
	{ "if 0 a handler, and again",
	  { 0x53, 0x48, 0x89, 0xfb, 0x48, 0x89, 0xdf, CALL(7, MALLOC), 0x48, 0x85, 0xc0, 0x75, 0x07, CALL(17, OTHER),
	    0xeb, 0xeb, 0x5b, 0xc3 },
	  26,
	  1,
	  false },
	{ "too large: call another, and 0",
	  { 0x48, 0x85, 0xff, 0x78, 0x05, JUMP(5, MALLOC), 0x50, CALL(11, OTHER), 0x5a, 0x31, 0xc0, 0xc3 },
	  20,
	  1,
	  false },
	{ "call another, then malloc",
	  { 0x53, 0x48, 0x89, 0xfb, CALL(4, OTHER), 0x48, 0x89, 0xdf, 0x5b, JUMP(13, MALLOC) },
	  18,
	  0,
	  false },
	{ "returns nothing of it", { 0x50, CALL(1, MALLOC), 0x31, 0xc0, 0x5a, 0xc3 }, 10, 0, false },
	{ "the last call never returns", { 0x50, CALL(1, OTHER) }, 6, 0, true },
	{ "fills in a member", { 0x53, CALL(1, MALLOC), 0xc6, 0x00, 0, 0x5b, 0xc3 }, 11, 0, false },
	{ "a head before what it returns",
	  { 0x53, 0x48, 0x89, 0xfb, 0x48, 0x83, 0xc7, 16, CALL(8, MALLOC), 0x48, 0x89, 0x18, 0x48, 0x83, 0xc0, 16, 0x5b,
	    0xc3 },
	  22,
	  1,
	  false },
	{ "a head, and a word behind it",
	  { 0x53, 0x48, 0x89, 0xfb, 0x48, 0x83, 0xc7, 16, CALL(8, MALLOC), 0x48, 0x89, 0x58, 16, 0x48, 0x83, 0xc0, 16,
	    0x5b, 0xc3 },
	  23,
	  0,
	  false },
	{ "keeps the block in its argument",
	  { 0x53, 0x48, 0x89, 0xfb, 0x48, 0x89, 0xf7, CALL(7, MALLOC), 0x48, 0x89, 0x03, 0x5b, 0xc3 },
	  17,
	  0,
	  false },
	{ "keeps it in a variable", { 0x50, CALL(1, MALLOC), 0x48, 0x89, 0x05, 0, 0, 0, 0, 0x5a, 0xc3 }, 15, 0, false },
	{ "counts", { 0x48, 0x01, 0x3d, 0, 0, 0, 0, JUMP(7, MALLOC) }, 12, 1, false },
	{ "without optimization: by the stack",
	  { 0x55, 0x48, 0x89, 0xe5,
	    0x48, 0x83, 0xec, 0x20,
	    0x48, 0x89, 0x7d, 0xe8,
	    0x48, 0x8b, 0x45, 0xe8,
	    0x48, 0x89, 0xc7, CALL(19, MALLOC),
	    0x48, 0x89, 0x45, 0xf8,
	    0x48, 0x83, 0x7d, 0xf8,
	    0,    0x75, 0x05, CALL(35, OTHER),
	    0x48, 0x8b, 0x45, 0xf8,
	    0xc9, 0xc3 },
	  46,
	  1,
	  false },
	{ "frees where it has failed",
	  { 0x53, 0x48, 0x89, 0xfb, CALL(4, REALLOC), 0x48, 0x85, 0xc0, 0x75, 0x08, 0x48, 0x89, 0xdf, CALL(17, FREE),
	    0x5b, 0xc3 },
	  24,
	  0, // what free leaves behind is returned
	  false },
	{ "clears the block",
	  { 0x53, CALL(1, MALLOC), 0x48, 0x89, 0xc3, 0x48, 0x89, 0xc7, 0x31, 0xf6, CALL(14, CLEAR), 0x48, 0x89, 0xd8,
	    0x5b, 0xc3 },
	  24,
	  1,
	  false },
	{ "fills the block with ones",
	  { 0x53, CALL(1, MALLOC), 0x48, 0x89, 0xc3, 0x48, 0x89, 0xc7, 0xbe, 1, 0, 0, 0, CALL(17, CLEAR), 0x48, 0x89,
	    0xd8, 0x5b, 0xc3 },
	  27,
	  0,
	  false },
	{ "clears a part of the block",
	  { 0x53, CALL(1, MALLOC), 0x48, 0x89, 0xc3, 0x48, 0x8d, 0x78, 8, 0x31, 0xf6, CALL(15, CLEAR), 0x48, 0x89, 0xd8,
	    0x5b, 0xc3 },
	  25,
	  0,
	  false },
	{ "through a pointer in a register", { 0xff, 0xe6 }, 2, 0, false },
	{ "no instruction", { 0x06 }, 1, 0, false },
	{ "falls off its end", { 0x90 }, 1, 0, false },
	{ "jumps into itself for ever", { 0xeb, 0xfe }, 2, 0, true },
	{ "a system call", { 0x0f, 0x05, JUMP(2, MALLOC) }, 7, 0, false },
	{ "loses its stack pointer", { 0x48, 0x89, 0xf4, JUMP(3, MALLOC) }, 8, 0, false },
};

static void test_cases(void)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		const int failures = check_failures;
		struct wrapper_verdict verdict;

		CHECK(!wrapper_code_judge(cases[i].code, cases[i].size, CODE, find, NULL, &verdict));
		CHECK_EQUAL(verdict.is_wrapper, cases[i].sizes != 0);
		CHECK_EQUAL(verdict.size_arguments, cases[i].sizes);
		CHECK_EQUAL(verdict.never_returns, cases[i].never_returns);
		if (check_failures != failures)
			fprintf(stderr, "case: %s\n", cases[i].what);
	}
}

// Where the end is not known, a call is not the last one.
static void test_long(void)
{
	uint8_t *code = calloc(1, WRAPPER_BYTES_MAX + 1);
	struct wrapper_verdict verdict;
	static const uint8_t begin[] = { 0x50, CALL(1, OTHER) }, wrapper[] = { JUMP(0, MALLOC) };

	CHECK(code != NULL);
	if (!code)
		return;
	memset(code, 0xc3, WRAPPER_BYTES_MAX + 1);
	memcpy(code, begin, sizeof(begin));
	CHECK(!wrapper_code_judge(code, WRAPPER_BYTES_MAX + 1, CODE, find, NULL, &verdict));
	CHECK(!verdict.never_returns);
	memset(code, 0x90, WRAPPER_BYTES_MAX + 1); // more instructions than are looked at
	memcpy(code + 2 * WRAPPER_STEPS_MAX, wrapper, sizeof(wrapper));
	CHECK(!wrapper_code_judge(code, WRAPPER_BYTES_MAX, CODE, find, NULL, &verdict));
	CHECK(!verdict.is_wrapper && !verdict.never_returns);
	CHECK(!wrapper_code_judge(code, 0, CODE, find, NULL, &verdict));
	CHECK(!verdict.is_wrapper && !verdict.never_returns);
	// What the bytes are never matters to how long it takes, or to memory.
	srand(1);
	for (int i = 0; i < CHECK_TIMES(20000, 2000); i++) {
		for (size_t at = 0; at < WRAPPER_BYTES_MAX; at++)
			code[at] = (uint8_t)rand();
		memcpy(code, begin, sizeof(begin) - (size_t)(i % 2));
		CHECK(!wrapper_code_judge(code, WRAPPER_BYTES_MAX, CODE, find, NULL, &verdict));
	}
	free(code);
}

static void test_branches(void)
{
	static const uint8_t direct[] = { 0, CALL(1, MALLOC) }, slot[] = { 0xff, 0x15, 0x10, 0, 0, 0 },
			     other[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 }, stub[] = { 0xf3, 0x0f, 0x1e, 0xfa,
											  0xf2, 0xff, 0x25, 0x10,
											  0,    0,    0,    0x0f,
											  0x1f, 0x44, 0,    0 },
			     plain_stub[] = { 0xff, 0x25, 0x10, 0, 0, 0 };
	struct code_branch branch;

	CHECK(wrapper_code_call_before(direct, sizeof(direct), CODE + 6, &branch));
	CHECK_EQUAL(branch.target, CODE + MALLOC);
	CHECK(wrapper_code_call_before(slot, sizeof(slot), CODE, &branch));
	CHECK_EQUAL(branch.slot, CODE + 0x10);
	CHECK(!wrapper_code_call_before(other, sizeof(other), CODE, &branch));
	CHECK(!wrapper_code_call_before(direct, 4, CODE, &branch));
	CHECK_EQUAL(wrapper_code_stub_slot(stub, sizeof(stub), CODE), CODE + 11 + 0x10);
	CHECK_EQUAL(wrapper_code_stub_slot(plain_stub, sizeof(plain_stub), CODE), CODE + 6 + 0x10);
	CHECK_EQUAL(wrapper_code_stub_slot(direct + 1, 5, CODE), 0);
}

static void test_names(void)
{
	static const struct {
		const char *name;
		struct callee callee;
	} names[] = {
		{ "malloc", { CALLEE_ALLOCATES, 1 } },
		{ "malloc@@GLIBC_2.2.5", { CALLEE_ALLOCATES, 1 } },
		{ "__libc_calloc", { CALLEE_ALLOCATES, 3 } },
		{ "je_realloc", { CALLEE_ALLOCATES, 2 } },
		{ "reallocarray", { CALLEE_ALLOCATES, 6 } },
		{ "_Znwm", { CALLEE_ALLOCATES, 1 } },
		{ "_ZnamSt11align_val_t", { CALLEE_ALLOCATES, 1 } },
		{ "g_malloc0", { CALLEE_ALLOCATES, 1 } },
		{ "free", { CALLEE_HARMLESS, 0 } },
		{ "_ZdlPvm", { CALLEE_HARMLESS, 0 } },
		{ "memset", { CALLEE_CLEARS, 0 } },
		{ "abort", { CALLEE_ENDS, 0 } },
		{ "__stack_chk_fail@GLIBC_2.4", { CALLEE_ENDS, 0 } },
		{ "_ZSt17__throw_bad_allocv", { CALLEE_ENDS, 0 } },
		{ "strlen", { CALLEE_OTHER, 0 } },
		{ "memcpy", { CALLEE_OTHER, 0 } },
		{ "my_malloc", { CALLEE_OTHER, 0 } },
		{ "mallocs", { CALLEE_OTHER, 0 } },
		{ "", { CALLEE_OTHER, 0 } },
		{ "__", { CALLEE_OTHER, 0 } },
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		const struct callee callee = callee_by_name(names[i].name);
		const int failures = check_failures;

		CHECK_EQUAL(callee.kind, names[i].callee.kind);
		CHECK_EQUAL(callee.size_arguments, names[i].callee.size_arguments);
		if (check_failures != failures)
			fprintf(stderr, "name: %s\n", names[i].name);
	}
}

int main(void)
{
	test_cases();
	test_long();
	test_branches();
	test_names();
	return CHECK_RESULT();
}
