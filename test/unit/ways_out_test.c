// SPDX-License-Identifier: Apache-2.0
// Where functions return, by their bytes: each case is a function, what is expected of it, and why.
#include "attach/ways_out.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

#define ADDRESS UINT64_C(0x401000)

struct test_case {
	const char *what;
	uint8_t code[64];
	size_t size;           // of the function; the rest of `seen` is what is behind it
	size_t seen;
	enum hook_verdict verdict;
	uint32_t ways[4];      // offsets, ascending
	size_t way_count;
};

#define CODE(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })
#define PUSH_RBX 0x53
#define POP_RBX 0x5b
#define SUB_16 0x48, 0x83, 0xec, 0x10 // sub $16,%rsp
#define ADD_16 0x48, 0x83, 0xc4, 0x10
#define CALL_AWAY 0xe8, 0x00, 0x10, 0x00, 0x00
#define TEST_RAX 0x48, 0x85, 0xc0
#define RETURN 0xc3

static const struct test_case cases[] = {
	{ "a frame and one return", CODE(PUSH_RBX, SUB_16, CALL_AWAY, ADD_16, POP_RBX, RETURN), 0, VERDICT_ok, { 10 }, 1 },
	// je to the first return's start: it may be reached from elsewhere, what is behind it not
	{ "a branch to where it begins to return",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, 0x74, 0x02, 0x31, 0xc0, ADD_16, POP_RBX, RETURN), 0, VERDICT_ok, { 17 }, 1 },
	{ "a branch into the middle of what would be overwritten",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, ADD_16, 0x74, 0x02, 0x31, 0xc0, POP_RBX, RETURN), 0, VERDICT_no_way_out, { 0 }, 0 },
	{ "a branch into the middle, with room before it",
	  CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, ADD_16, 0x74, 0x05, 0xb8, 0x00, 0x00, 0x00, 0x00, POP_RBX, RETURN), 0, VERDICT_no_way_out, { 0 }, 0 },
	{ "two returns", CODE(PUSH_RBX, SUB_16, CALL_AWAY, TEST_RAX, 0x74, 0x06, ADD_16, POP_RBX, RETURN, 0x31, 0xc0, ADD_16, POP_RBX, RETURN), 0,
	  VERDICT_ok, { 15, 23 }, 2 },
	{ "the second return lacks room", CODE(PUSH_RBX, SUB_16, ADD_16, POP_RBX, CALL_AWAY, TEST_RAX, 0x74, 0x04, 0x48, 0x89, 0xd8, RETURN, 0x90, RETURN, 0x0f, 0x0b), 0,
	  VERDICT_no_way_out, { 0 }, 0 },
	{ "a return behind a call, and padding", { PUSH_RBX, SUB_16, CALL_AWAY, 0xc9, RETURN }, 12, 32, VERDICT_no_way_out, { 0 }, 0 }, // leave without a base
	{ "a base pointer: leave, and padding behind the function",
	  { 0x55, 0x48, 0x89, 0xe5, SUB_16, CALL_AWAY, 0xc9, RETURN, 0x0f, 0x1f, 0x44, 0x00, 0x00 }, 15, 24, VERDICT_ok, { 13 }, 1 },
	{ "a stack pointer that is not back where it was", CODE(SUB_16, 0x48, 0x83, 0xc4, 0x08, 0x31, 0xc0, RETURN), 0, VERDICT_no_way_out, { 0 }, 0 },
	{ "an aligned stack pointer", CODE(PUSH_RBX, 0x48, 0x83, 0xe4, 0xf0, CALL_AWAY, ADD_16, POP_RBX, RETURN), 0, VERDICT_no_way_out, { 0 }, 0 },
	{ "a jump to another function", CODE(0x48, 0x89, 0xf8, 0xe9, 0x00, 0x10, 0x00, 0x00), 0, VERDICT_leaves_by_jump, { 0 }, 0 },
	{ "a jump through a register", CODE(PUSH_RBX, 0x48, 0x89, 0xf8, POP_RBX, 0xff, 0xe0), 0, VERDICT_leaves_by_jump, { 0 }, 0 },
	{ "a table of jumps", CODE(PUSH_RBX, 0xff, 0xe0, ADD_16, POP_RBX, RETURN), 0, VERDICT_leaves_by_jump, { 0 }, 0 },
	{ "a conditional jump in place of a call",
	  CODE(TEST_RAX, 0x0f, 0x84, 0x00, 0x10, 0x00, 0x00, 0x48, 0x89, 0xf8, 0x48, 0x01, 0xc0, RETURN), 0, VERDICT_leaves_by_jump, { 0 }, 0 },
	{ "a part moved away, with a frame", CODE(PUSH_RBX, SUB_16, CALL_AWAY, 0x0f, 0x84, 0x00, 0x10, 0x00, 0x00, ADD_16, POP_RBX, RETURN), 0,
	  VERDICT_ok, { 16 }, 1 },
	{ "a return that takes arguments off", CODE(0x48, 0x89, 0xf8, 0x48, 0x01, 0xc0, 0xc2, 0x08, 0x00), 0, VERDICT_no_way_out, { 0 }, 0 },
	{ "no return at all", CODE(PUSH_RBX, CALL_AWAY, 0x0f, 0x0b), 0, VERDICT_no_way_out, { 0 }, 0 },
	{ "a call that ends the function", CODE(PUSH_RBX, CALL_AWAY, TEST_RAX, 0x74, 0x06, 0x48, 0x89, 0xd8, 0x90, POP_RBX, RETURN, CALL_AWAY), 0,
	  VERDICT_ok, { 11 }, 1 },
	{ "no instruction", CODE(PUSH_RBX, 0x06, ADD_16, POP_RBX, RETURN), 0, VERDICT_not_decodable, { 0 }, 0 },
	// jmp to the second byte of a mov: two readings of the same bytes
	{ "code within code", CODE(0x74, 0x01, 0xb8, 0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0xf8, 0x48, 0x01, 0xc0, RETURN), 0, VERDICT_not_decodable, { 0 }, 0 },
};

static void check_case(const struct test_case *test)
{
	struct whole_function function = { .code = test->code, .size = test->size, .seen = test->seen ? test->seen : test->size, .address = ADDRESS };
	struct ways_out ways;

	ways_out_find(&function, &ways);
	if (ways.verdict != test->verdict)
		printf("%s: verdict %d, not %d\n", test->what, ways.verdict, test->verdict);
	CHECK_EQUAL(ways.verdict, test->verdict);
	if (ways.verdict != VERDICT_ok)
		return;
	CHECK_EQUAL(ways.count, test->way_count);
	for (size_t i = 0; i < ways.count && i < test->way_count; i++)
		CHECK_EQUAL(ways.offsets[i], test->ways[i]);
}

// What is overwritten at the function's start is not free; and a jump does not cross pages.
static void check_places(void)
{
	const uint8_t code[] = { 0x48, 0x89, 0xf8, 0x48, 0x01, 0xc0, RETURN };
	struct whole_function function = { .code = code, .size = sizeof(code), .seen = sizeof(code), .address = ADDRESS };
	struct ways_out ways;

	ways_out_find(&function, &ways);
	CHECK_EQUAL(ways.verdict, VERDICT_ok);
	CHECK_EQUAL(ways.offsets[0], 0);
	function.taken = 3;
	ways_out_find(&function, &ways);
	CHECK_EQUAL(ways.verdict, VERDICT_no_way_out);
	function.taken = 0;
	function.address = ADDRESS + 4096 - 2;
	ways_out_find(&function, &ways);
	CHECK_EQUAL(ways.verdict, VERDICT_no_way_out);
}

static bool is_there(uint64_t target, uint64_t slot, void *context)
{
	(void)slot;
	return target == *(const uint64_t *)context;
}

static void check_passing(void)
{
	// call f; ret, and the same behind a test that may go by it
	const uint8_t always[] = { PUSH_RBX, CALL_AWAY, POP_RBX, RETURN }, sometimes[] = { PUSH_RBX, 0x74, 0x05, CALL_AWAY, POP_RBX, RETURN };
	struct whole_function function = { .code = always, .size = sizeof(always), .seen = sizeof(always), .address = ADDRESS };
	uint64_t there = ADDRESS + 6 + 0x1000, elsewhere = ADDRESS;

	CHECK(ways_out_all_pass(&function, is_there, &there));
	CHECK(!ways_out_all_pass(&function, is_there, &elsewhere));
	function.code = sometimes;
	function.size = function.seen = sizeof(sometimes);
	there = ADDRESS + 8 + 0x1000;
	CHECK(!ways_out_all_pass(&function, is_there, &there));
}

// The copy of a way out leads to the island's stub.
static void check_copy(void)
{
	const uint8_t code[] = { PUSH_RBX, SUB_16, CALL_AWAY, ADD_16, POP_RBX, RETURN };
	struct relocation_request request = {
		.code = code + 10, .code_size = 6, .address = ADDRESS + 10, .trampoline = 0x500000 + HS_ISLAND_TRAMPOLINE_OFFSET,
		.function_start = ADDRESS, .function_code = code, .function_size = sizeof(code), .jump_size = HS_JUMP_SIZE, .is_way_out = true,
	};
	struct relocation_result result;
	int32_t distance;

	hook_relocate(&request, &result);
	CHECK_EQUAL(result.verdict, VERDICT_ok);
	CHECK_EQUAL(result.covered, 6);
	CHECK_EQUAL(result.size, 10);
	CHECK(memcmp(result.bytes, code + 10, 5) == 0);
	CHECK_EQUAL(result.bytes[5], 0xe9);
	memcpy(&distance, result.bytes + 6, sizeof(distance));
	CHECK_EQUAL((int)HS_ISLAND_TRAMPOLINE_OFFSET + 10 + distance, (int)HS_ISLAND_STUB_OFFSET);
	request.is_way_out = false; // a function's beginning that returns at once is copied as it is
	hook_relocate(&request, &result);
	CHECK_EQUAL(result.covered, 5);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(&cases[i]);
	check_places();
	check_passing();
	check_copy();
	return CHECK_RESULT();
}
