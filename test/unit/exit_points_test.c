// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: tables of cases.
// Where functions return, by their bytes: each case is a function, what is expected of it, and why.
#include "attach/arch/relocate.h"
#include "attach/hook/exit_points.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

#define ADDRESS UINT64_C(0x401000)

struct test_case {
	const char *what;
	uint8_t code[64];
	size_t size; // of the function; the rest of `seen` is what is behind it
	size_t seen;
	enum hook_verdict verdict;
	uint32_t points[4]; // offsets, ascending
	size_t point_count;
};

#define CODE(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })
#define PUSH_RBX  0x53
#define POP_RBX   0x5b
#define SUB_16    0x48, 0x83, 0xec, 0x10 // sub $16,%rsp
#define ADD_16    0x48, 0x83, 0xc4, 0x10
#define CALL_AWAY 0xe8, 0x00, 0x10, 0x00, 0x00
#define TEST_RAX  0x48, 0x85, 0xc0
#define RETURN    0xc3
#define TRAP      0xcc

static const struct test_case cases[] = {
	{ "a frame and one return",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, ADD_16, POP_RBX, RETURN),
	  0,
	  VERDICT_ok,
	  { 10 },
	  1 },
	// je to the first return's start: it may be reached from elsewhere, what is behind it not
	{ "a branch to where it begins to return",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, 0x74, 0x02, 0x31, 0xc0, ADD_16, POP_RBX, RETURN),
	  0,
	  VERDICT_ok,
	  { 17 },
	  1 },
	{ "a branch into the middle of what would be overwritten",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, ADD_16, 0x74, 0x02, 0x31, 0xc0, POP_RBX, RETURN),
	  0,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 },
	{ "a branch into the middle, with room before it",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, ADD_16, 0x74, 0x05, 0xb8, 0x00, 0x00, 0x00, 0x00, POP_RBX,
	       RETURN),
	  0,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 },
	{ "two returns",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, 0x74, 0x06, ADD_16, POP_RBX, RETURN, 0x31, 0xc0, ADD_16, POP_RBX,
	       RETURN),
	  0,
	  VERDICT_ok,
	  { 15, 23 },
	  2 },
	{ "the second return lacks room",
	  CODE(PUSH_RBX, SUB_16, ADD_16, POP_RBX, CALL_AWAY, TEST_RAX, 0x74, 0x04, 0x48, 0x89, 0xd8, RETURN, 0x90,
	       RETURN, 0x0f, 0x0b),
	  0,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 },
	{ "a return behind a call, and padding",
	  { PUSH_RBX, SUB_16, CALL_AWAY, 0xc9, RETURN },
	  12,
	  32,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 }, // leave without a base
	{ "a base pointer: leave, and padding behind the function",
	  { 0x55, 0x48, 0x89, 0xe5, SUB_16, CALL_AWAY, 0xc9, RETURN, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
	  15,
	  24,
	  VERDICT_ok,
	  { 13 },
	  1 },
	{ "a stack pointer that is not back where it was",
	  CODE(SUB_16, 0x48, 0x83, 0xc4, 0x08, 0x31, 0xc0, RETURN),
	  0,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 },
	{ "an aligned stack pointer",
	  CODE(PUSH_RBX, 0x48, 0x83, 0xe4, 0xf0, CALL_AWAY, ADD_16, POP_RBX, RETURN),
	  0,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 },
	{ "a jump to another function",
	  CODE(0x48, 0x89, 0xf8, 0xe9, 0x00, 0x10, 0x00, 0x00),
	  0,
	  VERDICT_leaves_by_jump,
	  { 0 },
	  0 },
	{ "a jump through a register",
	  CODE(PUSH_RBX, 0x48, 0x89, 0xf8, POP_RBX, 0xff, 0xe0),
	  0,
	  VERDICT_leaves_by_jump,
	  { 0 },
	  0 },
	{ "a table of jumps",
	  CODE(PUSH_RBX, 0xff, 0xe0, ADD_16, POP_RBX, RETURN),
	  0,
	  VERDICT_leaves_by_jump,
	  { 0 },
	  0 },
	{ "a conditional jump in place of a call",
	  CODE(TEST_RAX, 0x0f, 0x84, 0x00, 0x10, 0x00, 0x00, 0x48, 0x89, 0xf8, 0x48, 0x01, 0xc0, RETURN),
	  0,
	  VERDICT_leaves_by_jump,
	  { 0 },
	  0 },
	{ "a part moved away, with a frame",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, 0x0f, 0x84, 0x00, 0x10, 0x00, 0x00, ADD_16, POP_RBX, RETURN),
	  0,
	  VERDICT_ok,
	  { 16 },
	  1 },
	{ "a return that takes arguments off",
	  CODE(0x48, 0x89, 0xf8, 0x48, 0x01, 0xc0, 0xc2, 0x08, 0x00),
	  0,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 },
	{ "no return at all", CODE(PUSH_RBX, CALL_AWAY, 0x0f, 0x0b), 0, VERDICT_no_exit_point, { 0 }, 0 },
	{ "a call that ends the function",
	  CODE(PUSH_RBX, CALL_AWAY, TEST_RAX, 0x74, 0x06, 0x48, 0x89, 0xd8, 0x90, POP_RBX, RETURN, CALL_AWAY),
	  0,
	  VERDICT_ok,
	  { 11 },
	  1 },
	{ "a return behind a trap, from which a handler comes back",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, 0x74, 0x06, ADD_16, POP_RBX, RETURN, TRAP, ADD_16, POP_RBX,
	       RETURN),
	  0,
	  VERDICT_ok,
	  { 15, 22 },
	  2 },
	{ "a trap among what would be overwritten",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, ADD_16, TRAP, POP_RBX, RETURN),
	  0,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 },
	{ "a trap behind a call that ends the function",
	  CODE(PUSH_RBX, CALL_AWAY, TEST_RAX, 0x74, 0x06, 0x48, 0x89, 0xd8, 0x90, POP_RBX, RETURN, CALL_AWAY, TRAP),
	  0,
	  VERDICT_ok,
	  { 11 },
	  1 },
	{ "a return to elsewhere: mov %rax,8(%rsp)",
	  CODE(PUSH_RBX, 0x48, 0x89, 0x44, 0x24, 0x08, 0x48, 0x89, 0xd8, POP_RBX, RETURN),
	  0,
	  VERDICT_no_exit_point,
	  { 0 },
	  0 },
	{ "no instruction", CODE(PUSH_RBX, 0x06, ADD_16, POP_RBX, RETURN), 0, VERDICT_not_decodable, { 0 }, 0 },
	// jmp to the second byte of a mov: two readings of the same bytes
	{ "code within code",
	  CODE(0x74, 0x01, 0xb8, 0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0xf8, 0x48, 0x01, 0xc0, RETURN),
	  0,
	  VERDICT_not_decodable,
	  { 0 },
	  0 },
};

// What a survey sees.
static const struct survey_case {
	const char *what;
	uint8_t code[64];
	size_t size;
	bool is_complete, reaches_above;
} survey_cases[] = {
	{ "a frame", CODE(PUSH_RBX, SUB_16, CALL_AWAY, ADD_16, POP_RBX, RETURN), true, false },
	{ "its return address", CODE(0x48, 0x8b, 0x04, 0x24, RETURN), true, true }, // mov (%rsp),%rax
	{ "a frame with a base", CODE(0x55, 0x48, 0x89, 0xe5, CALL_AWAY, 0x5d, RETURN), true, false },
	{ "a local by its base", CODE(0x55, 0x48, 0x89, 0xe5, SUB_16, 0x48, 0x8d, 0x7d, 0xf8, CALL_AWAY, 0xc9, RETURN),
	  true, false }, // lea -8(%rbp),%rdi
	{ "an aligned stack",
	  CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x8d, 0x3c, 0x24, CALL_AWAY, 0xc9, RETURN), true,
	  false },
	{ "gcc's way to align it",
	  CODE(0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xe0, 0x41, 0xff, 0x72, 0xf8, CALL_AWAY, 0x0f, 0x0b),
	  true, false },
	{ "a table of jumps", CODE(PUSH_RBX, 0xff, 0xe0, ADD_16, POP_RBX, RETURN), false, false },
};

static enum call_outcome comes_back(uint64_t target, uint64_t slot, bool in_place, void *context)
{
	(void)in_place;
	(void)context;
	return target || slot ? OUTCOME_returns : OUTCOME_unknown;
}

static void check_survey(const struct survey_case *test)
{
	const struct whole_function function = {
		.code = test->code, .size = test->size, .seen = test->size, .address = ADDRESS
	};
	const struct code_survey seen = exit_points_survey(&function, comes_back, NULL, NULL);

	if (seen.is_complete != test->is_complete || seen.reaches_above != test->reaches_above)
		printf("%s: %d %d\n", test->what, seen.is_complete, seen.reaches_above);
	CHECK_EQUAL(seen.is_complete, test->is_complete);
	CHECK_EQUAL(seen.reaches_above, test->reaches_above);
}

// A part that a compiler has moved away runs with the function's frame, and may come back.
static bool find_moved(uint64_t target, struct whole_function *ret, void *context)
{
	*ret = *(const struct whole_function *)context;
	return target == ret->address;
}

static void check_moved_part(void)
{
	// push; je 0x402000; pop; ret
	static const uint8_t code[] = { PUSH_RBX, 0x0f, 0x84, 0xf9, 0x0f, 0x00, 0x00, POP_RBX, RETURN };
	// call; jmp to the pop
	static const uint8_t back[] = { CALL_AWAY, 0xe9, 0xfd, 0xef, 0xff, 0xff };
	// the return address, with what the frame is then
	static const uint8_t pops[] = { POP_RBX, 0x8b, 0x04, 0x24, RETURN };
	const struct whole_function function = {
		.code = code, .size = sizeof(code), .seen = sizeof(code), .address = ADDRESS
	};
	struct whole_function part = {
		.code = back, .size = sizeof(back), .seen = sizeof(back), .address = ADDRESS + 0x1000
	};
	struct code_survey seen = exit_points_survey(&function, comes_back, find_moved, &part);

	CHECK(seen.is_complete && seen.returns && !seen.reaches_above);
	CHECK(!exit_points_survey(&function, comes_back, NULL, NULL).is_complete);
	part.code = pops;
	part.size = part.seen = sizeof(pops);
	seen = exit_points_survey(&function, comes_back, find_moved, &part);
	CHECK(seen.is_complete && seen.reaches_above);
}

static void check_case(const struct test_case *test)
{
	struct whole_function function = {
		.code = test->code, .size = test->size, .seen = test->seen ? test->seen : test->size, .address = ADDRESS
	};
	struct exit_points points;

	exit_points_find(&function, &points);
	if (points.verdict != test->verdict)
		printf("%s: verdict %d, not %d\n", test->what, points.verdict, test->verdict);
	CHECK_EQUAL(points.verdict, test->verdict);
	if (points.verdict != VERDICT_ok)
		return;
	CHECK_EQUAL(points.count, test->point_count);
	for (size_t i = 0; i < points.count && i < test->point_count; i++)
		CHECK_EQUAL(points.offsets[i], test->points[i]);
}

// What is overwritten at the function's start is not free; and a jump does not cross pages.
static void check_places(void)
{
	const uint8_t code[] = { 0x48, 0x89, 0xf8, 0x48, 0x01, 0xc0, RETURN };
	struct whole_function function = {
		.code = code, .size = sizeof(code), .seen = sizeof(code), .address = ADDRESS
	};
	struct exit_points points;

	exit_points_find(&function, &points);
	CHECK_EQUAL(points.verdict, VERDICT_ok);
	CHECK_EQUAL(points.offsets[0], 0);
	function.taken = 3;
	exit_points_find(&function, &points);
	CHECK_EQUAL(points.verdict, VERDICT_no_exit_point);
	function.taken = 0;
	function.address = ADDRESS + 4096 - 2;
	exit_points_find(&function, &points);
	CHECK_EQUAL(points.verdict, VERDICT_no_exit_point);
}

static bool is_there(uint64_t target, uint64_t slot, void *context)
{
	(void)slot;
	return target == *(const uint64_t *)context;
}

static void check_passing(void)
{
	// call f; ret, and the same behind a test that may go by it
	const uint8_t always[] = { PUSH_RBX, CALL_AWAY, POP_RBX, RETURN },
		      sometimes[] = { PUSH_RBX, 0x74, 0x05, CALL_AWAY, POP_RBX, RETURN };
	struct whole_function function = {
		.code = always, .size = sizeof(always), .seen = sizeof(always), .address = ADDRESS
	};
	uint64_t there = ADDRESS + 6 + 0x1000, elsewhere = ADDRESS;

	CHECK(exit_points_all_pass(&function, is_there, &there));
	CHECK(!exit_points_all_pass(&function, is_there, &elsewhere));
	function.code = sometimes;
	function.size = function.seen = sizeof(sometimes);
	there = ADDRESS + 8 + 0x1000;
	CHECK(!exit_points_all_pass(&function, is_there, &there));
}

// Functions are judged by what they call: one at ADDRESS + 0x1000 + ..., which `outcome` is said of; all else is
// unknown.
struct judged {
	const char *what;
	uint8_t code[32];
	size_t size;
	enum call_outcome called, outcome;
};

static const struct judged judged[] = {
	{ "no call", CODE(PUSH_RBX, SUB_16, ADD_16, POP_RBX, RETURN), OUTCOME_unknown, OUTCOME_returns },
	{ "a call of what is unknown", CODE(PUSH_RBX, CALL_AWAY, POP_RBX, RETURN), OUTCOME_unknown, OUTCOME_unknown },
	{ "a call that returns", CODE(PUSH_RBX, CALL_AWAY, POP_RBX, RETURN), OUTCOME_returns, OUTCOME_returns },
	{ "a call that ends", CODE(PUSH_RBX, CALL_AWAY, 0x06), OUTCOME_ends, OUTCOME_ends },
	{ "a call at the end that returns: the next function follows", CODE(PUSH_RBX, CALL_AWAY), OUTCOME_returns,
	  OUTCOME_unknown },
	{ "a call through a register", CODE(PUSH_RBX, 0xff, 0xd0, POP_RBX, RETURN), OUTCOME_returns, OUTCOME_unknown },
	{ "a call through a word", CODE(PUSH_RBX, 0xff, 0x15, 0x00, 0x10, 0x00, 0x00, POP_RBX, RETURN), OUTCOME_returns,
	  OUTCOME_returns },
	{ "a jump in place of a call", CODE(0xe9, 0x00, 0x10, 0x00, 0x00), OUTCOME_returns, OUTCOME_returns },
	{ "a jump in place of a call, to what is unknown", CODE(0xe9, 0x00, 0x10, 0x00, 0x00), OUTCOME_unknown,
	  OUTCOME_unknown },
	{ "a jump that leaves a frame behind", CODE(PUSH_RBX, 0xe9, 0x00, 0x10, 0x00, 0x00), OUTCOME_returns,
	  OUTCOME_unknown },
	{ "a part moved away that ends", CODE(PUSH_RBX, 0x0f, 0x84, 0x00, 0x10, 0x00, 0x00, POP_RBX, RETURN),
	  OUTCOME_ends, OUTCOME_returns },
	{ "a jump through a register", CODE(0xff, 0xe0), OUTCOME_returns, OUTCOME_unknown },
	{ "a call of the kernel", CODE(0x0f, 0x05, RETURN), OUTCOME_returns, OUTCOME_unknown },
	{ "a stack pointer from elsewhere", CODE(0x48, 0x89, 0xcc, RETURN), OUTCOME_returns, OUTCOME_unknown },
	// mov %rax,0(%rsp) and so on
	{ "another return address", CODE(0x48, 0x89, 0x04, 0x24, RETURN), OUTCOME_returns, OUTCOME_unknown },
	{ "its upper half", CODE(0x89, 0x44, 0x24, 0x04, RETURN), OUTCOME_returns, OUTCOME_unknown },
	{ "a word right below it", CODE(PUSH_RBX, 0x48, 0x89, 0x04, 0x24, POP_RBX, RETURN), OUTCOME_returns,
	  OUTCOME_returns },
	{ "a vector that ends in it", CODE(PUSH_RBX, 0x0f, 0x11, 0x04, 0x24, POP_RBX, RETURN), OUTCOME_returns,
	  OUTCOME_unknown },
	{ "an argument behind it", CODE(0x48, 0x89, 0x44, 0x24, 0x08, RETURN), OUTCOME_returns, OUTCOME_returns },
	// push %rbp; mov %rsp,%rbp; mov %rax,8(%rbp); leave; ret
	{ "another return address, by the base", CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x45, 0x08, 0xc9, RETURN),
	  OUTCOME_returns, OUTCOME_unknown },
	// pop to (%rsp): the place is taken behind the increment
	{ "another return address, popped", CODE(0x50, 0x8f, 0x04, 0x24, RETURN), OUTCOME_returns, OUTCOME_unknown },
	{ "a word below it, popped", CODE(PUSH_RBX, 0x50, 0x8f, 0x04, 0x24, POP_RBX, RETURN), OUTCOME_returns,
	  OUTCOME_returns },
	{ "a trap, then a call of what is unknown", CODE(TRAP, CALL_AWAY, RETURN), OUTCOME_unknown, OUTCOME_unknown },
	{ "a trap, then a return", CODE(TRAP, RETURN), OUTCOME_returns, OUTCOME_returns },
	{ "a trap at the end: the next function follows", CODE(TRAP), OUTCOME_returns, OUTCOME_unknown },
	{ "a trap at which it stays", CODE(0x0f, 0x0b, 0x06), OUTCOME_returns, OUTCOME_ends },
	{ "padding behind a call that ends", CODE(PUSH_RBX, CALL_AWAY, TRAP, TRAP), OUTCOME_ends, OUTCOME_ends },
	{ "a local word, by the base", CODE(0x55, 0x48, 0x89, 0xe5, SUB_16, 0x48, 0x89, 0x45, 0xf8, 0xc9, RETURN),
	  OUTCOME_returns, OUTCOME_returns },
};

static enum call_outcome say_of_call(uint64_t target, uint64_t slot, bool in_place, void *context)
{
	(void)in_place;
	return (target & ~UINT64_C(0xff)) == ADDRESS + 0x1000 || (slot & ~UINT64_C(0xff)) == ADDRESS + 0x1000
		       ? *(const enum call_outcome *)context
		       : OUTCOME_unknown;
}

static void check_judged(const struct judged *test)
{
	struct whole_function function = {
		.code = test->code, .size = test->size, .seen = test->size, .address = ADDRESS
	};
	enum call_outcome called = test->called, outcome = exit_points_judge(&function, false, say_of_call, &called);

	if (outcome != test->outcome)
		printf("%s: %d, not %d\n", test->what, outcome, test->outcome);
	CHECK_EQUAL(outcome, test->outcome);
}

// Functions that return, and whether they may be called with another return address, and other things above it.
static const struct {
	const char *what;
	uint8_t code[32];
	size_t size;
	bool stays_below;
} below[] = {
	{ "its frame",
	  CODE(PUSH_RBX, SUB_16, 0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x8d, 0x7c, 0x24, 0x08, ADD_16, POP_RBX, RETURN),
	  true }, // mov, lea 8(%rsp)
	{ "its return address", CODE(0x48, 0x8b, 0x04, 0x24, RETURN), false },
	{ "its upper half", CODE(0x8b, 0x44, 0x24, 0x04, RETURN), false },
	{ "its return address, with a frame", CODE(PUSH_RBX, 0x48, 0x8b, 0x44, 0x24, 0x08, POP_RBX, RETURN), false },
	{ "its return address, pushed", CODE(0xff, 0x34, 0x24, POP_RBX, RETURN), false },
	{ "an argument", CODE(0x48, 0x8b, 0x44, 0x24, 0x08, RETURN), false },
	{ "an argument, in an addition", CODE(0x48, 0x03, 0x44, 0x24, 0x08, RETURN), false },
	{ "an argument, written", CODE(0x48, 0x89, 0x44, 0x24, 0x08, RETURN), false },
	{ "an argument, by an index", CODE(0x48, 0x8b, 0x44, 0xcc, 0x08, RETURN), false },
	{ "the address of the arguments", CODE(0x48, 0x8d, 0x44, 0x24, 0x08, RETURN), false },
	{ "the address of its return address", CODE(0x48, 0x89, 0xe0, RETURN), false },
	{ "the address of a local word", CODE(PUSH_RBX, 0x48, 0x89, 0xe0, POP_RBX, RETURN), true },
	{ "the red zone", CODE(0x48, 0x89, 0x44, 0x24, 0xf8, 0x48, 0x8b, 0x44, 0x24, 0xf8, RETURN), true },
	{ "a vector that ends in its return address", CODE(PUSH_RBX, 0x0f, 0x10, 0x04, 0x24, POP_RBX, RETURN), false },
	{ "an argument, by the base", CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x45, 0x10, 0x5d, RETURN), false },
	{ "the address of the arguments, by the base",
	  CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x45, 0x10, 0xc9, RETURN), false },
	{ "a local word, by the base", CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x45, 0xf8, 0xc9, RETURN), true },
	{ "rbp, which is something else", CODE(0x48, 0x8b, 0x45, 0x10, RETURN), true },
	{ "rbp, which has become something else",
	  CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xfd, 0x48, 0x8b, 0x45, 0x10, 0x5d, RETURN), true },
	// mov %fs:40,%rax; mov %rax,8(%rsp); ... sub %fs:40,%rax
	{ "a stack protector",
	  CODE(SUB_16, 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0x00, 0x00, 0x00, 0x48, 0x89, 0x44, 0x24, 0x08, 0x48, 0x8b,
	       0x44, 0x24, 0x08, 0x31, 0xc0, ADD_16, RETURN),
	  true },
};

static void check_below(void)
{
	enum call_outcome called = OUTCOME_returns;

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		struct whole_function function = {
			.code = below[i].code, .size = below[i].size, .seen = below[i].size, .address = ADDRESS
		};
		enum call_outcome outcome = exit_points_judge(&function, true, say_of_call, &called);

		if (outcome != (below[i].stays_below ? OUTCOME_returns : OUTCOME_unknown))
			printf("%s: %d\n", below[i].what, outcome);
		CHECK_EQUAL(outcome, below[i].stays_below ? OUTCOME_returns : OUTCOME_unknown);
		CHECK_EQUAL(exit_points_judge(&function, false, say_of_call, &called), OUTCOME_returns);
	}
}

static enum call_outcome note_place(uint64_t target, uint64_t slot, bool in_place, void *context)
{
	(void)target;
	(void)slot;
	*(int *)context = in_place;
	return OUTCOME_returns;
}

// Who runs with the same return address.
static void check_in_place(void)
{
	const uint8_t call[] = { PUSH_RBX, CALL_AWAY, POP_RBX, RETURN }, bare_call[] = { CALL_AWAY, RETURN },
		      jump[] = { 0xe9, 0x00, 0x10, 0x00, 0x00 };
	struct whole_function function = {
		.code = call, .size = sizeof(call), .seen = sizeof(call), .address = ADDRESS
	};
	int in_place = -1;

	exit_points_judge(&function, true, note_place, &in_place);
	CHECK_EQUAL(in_place, 0);
	function.code = bare_call;
	function.size = function.seen = sizeof(bare_call);
	in_place = -1;
	exit_points_judge(&function, true, note_place, &in_place);
	CHECK_EQUAL(in_place, 0);
	function.code = jump;
	function.size = function.seen = sizeof(jump);
	exit_points_judge(&function, true, note_place, &in_place);
	CHECK_EQUAL(in_place, 1);
}

// The copy of an exit point leads to the island's stub.
static void check_copy(void)
{
	const uint8_t code[] = { PUSH_RBX, SUB_16, CALL_AWAY, ADD_16, POP_RBX, RETURN };
	struct relocation_request request = {
		.code = code + 10,
		.code_size = 6,
		.address = ADDRESS + 10,
		.trampoline = 0x500000 + HS_ISLAND_TRAMPOLINE_OFFSET,
		.function_start = ADDRESS,
		.function_code = code,
		.function_size = sizeof(code),
		.jump_size = HS_JUMP_SIZE,
		.is_exit_point = true,
	};
	struct relocation_result result;
	int32_t distance;

	arch_relocate(&request, &result);
	CHECK_EQUAL(result.verdict, VERDICT_ok);
	CHECK_EQUAL(result.covered, 6);
	CHECK_EQUAL(result.size, 10);
	CHECK(memcmp(result.bytes, code + 10, 5) == 0);
	CHECK_EQUAL(result.bytes[5], 0xe9);
	memcpy(&distance, result.bytes + 6, sizeof(distance));
	CHECK_EQUAL((int)HS_ISLAND_TRAMPOLINE_OFFSET + 10 + distance, (int)HS_ISLAND_STUB_OFFSET);
	request.is_exit_point = false; // a function's beginning that returns at once is copied as it is
	arch_relocate(&request, &result);
	CHECK_EQUAL(result.covered, 5);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(&cases[i]);
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++)
		check_judged(&judged[i]);
	for (size_t i = 0; i < sizeof(survey_cases) / sizeof(survey_cases[0]); i++)
		check_survey(&survey_cases[i]);
	check_moved_part();
	check_places();
	check_passing();
	check_below();
	check_in_place();
	check_copy();
	return CHECK_RESULT();
}
