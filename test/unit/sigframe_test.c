// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/sigframe.h"

#include "check.h"

#include <stddef.h>
#include <stdlib.h>

// Offsets of the kernel's struct rt_sigframe, counted from the restorer's word.
enum {
	UC_FLAGS = 8,
	UC_LINK = 16,
	STACK_FLAGS = 32,
	R8 = 48,
	RDI = 112,
	RAX = 152,
	RSP = 168,
	RIP = 176,
	EFLAGS = 184,
	CS = 192,
	SS = 198,
	FPSTATE = 232,
	SIGNAL_MASK = 304,
	FRAME_SIZE = 440,
};

static const struct extended_layout layout = {
	.offset = { [2] = 576, [5] = 1088, [6] = 1152, [7] = 1664, [9] = 2688, [17] = 2752, [18] = 2816, [19] = 960 },
	.size = { [2] = 256, [5] = 64, [6] = 512, [7] = 1024, [9] = 8, [17] = 64, [18] = 8192, [19] = 128 },
	.total = 11008,
};

static uint64_t u64(const uint8_t *bytes)
{
	uint64_t value;
	memcpy(&value, bytes, 8);
	return value;
}
static uint32_t u32(const uint8_t *bytes)
{
	uint32_t value;
	memcpy(&value, bytes, 4);
	return value;
}
static uint16_t u16(const uint8_t *bytes)
{
	uint16_t value;
	memcpy(&value, bytes, 2);
	return value;
}

static void put_u64(uint8_t *bytes, uint64_t value) { memcpy(bytes, &value, 8); }

static const struct user_regs_struct registers = {
	.r8 = 8,
	.rdi = 0xd1,
	.rax = 0xaa,
	.rsp = 0x7fff0000,
	.rip = 0x401234,
	.eflags = 0x246,
	.cs = 0x33,
	.ss = 0x2b,
};

// Longer than 60 lines: one frame, and each of its areas.
static void test_areas(void)
{
	// Features in use, features enabled -> features claimed, bytes of the area.
	static const struct {
		uint64_t used, enabled, claimed;
		uint32_t size;
	} cases[] = {
		{ 0x0, 0x3, 0x3, 576 },
		{ 0x3, 0x7, 0x3, 576 },
		{ 0x7, 0x7, 0x7, 832 },
		{ 0xe7, 0xe7, 0xe7, 2688 },
		{ 0xa7, 0xe7, 0xa7, 2688 },
		{ 0x7, 0x2e7, 0x207, 2696 },    // protection keys are always claimed where they are enabled
		{ 0xe7, 0x602e7, 0x2e7, 2696 }, // AMX allowed, not in use
		{ 0x600e7, 0x602e7, 0x602e7, 11008 },
		{ 0x80007, 0x80007, 0x80007, 1088 }, // a component that lies below another
	};
	static uint8_t xstate[11008];
	static struct sigframe frame;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sigframe_request request = { .registers = &registers,
						    .signal_mask = 0x1122334455667788,
						    .extended = xstate,
						    .extended_size = sizeof(xstate),
						    .layout = &layout,
						    .restorer = 0xabcdef,
						    .top = 0x7ffeff83 };
		const uint8_t *area;
		uint64_t fpstate;

		for (size_t j = 0; j < sizeof(xstate); j++)
			xstate[j] = (uint8_t)(j * 7);
		put_u64(xstate + 464, cases[i].enabled);
		put_u64(xstate + 512, cases[i].used);
		struct hs_error *error = sigframe_build(&request, &frame);

		CHECK(!error);
		hs_error_destroy(error);
		fpstate = u64(frame.bytes + FPSTATE);
		CHECK_EQUAL(fpstate % 64, 0);
		CHECK_EQUAL(frame.address % 16, 8);
		CHECK(fpstate >= frame.address + FRAME_SIZE);
		CHECK(frame.address + frame.size <= request.top);
		CHECK(request.top - frame.address < frame.size + 128);
		CHECK_EQUAL(frame.size, fpstate - frame.address + cases[i].size + 4);

		CHECK_EQUAL(u64(frame.bytes), 0xabcdef);
		CHECK_EQUAL(u64(frame.bytes + UC_FLAGS), 7);
		CHECK_EQUAL(u64(frame.bytes + UC_LINK), 0);
		CHECK_EQUAL(u32(frame.bytes + STACK_FLAGS), 3);
		CHECK_EQUAL(u64(frame.bytes + R8), 8);
		CHECK_EQUAL(u64(frame.bytes + RDI), 0xd1);
		CHECK_EQUAL(u64(frame.bytes + RAX), 0xaa);
		CHECK_EQUAL(u64(frame.bytes + RSP), 0x7fff0000);
		CHECK_EQUAL(u64(frame.bytes + RIP), 0x401234);
		CHECK_EQUAL(u64(frame.bytes + EFLAGS), 0x246);
		CHECK_EQUAL(u16(frame.bytes + CS), 0x33);
		CHECK_EQUAL(u16(frame.bytes + SS), 0x2b);
		CHECK_EQUAL(u64(frame.bytes + SIGNAL_MASK), 0x1122334455667788);

		area = frame.bytes + (fpstate - frame.address);
		CHECK(memcmp(area, xstate, 464) == 0);
		CHECK_EQUAL(u32(area + 464), 0x46505853);
		CHECK_EQUAL(u32(area + 468), cases[i].size + 4);
		CHECK_EQUAL(u64(area + 472), cases[i].claimed);
		CHECK_EQUAL(u32(area + 480), cases[i].size);
		CHECK(memcmp(area + 512, xstate + 512, cases[i].size - 512) == 0);
		CHECK_EQUAL(u32(area + cases[i].size), 0x46505845);
	}
}

static void test_bad(void)
{
	static uint8_t xstate[11008];
	static struct sigframe frame;
	// A size too small for its header, a feature in use beyond the size, a feature that the layout does not know.
	static const struct {
		size_t size;
		uint64_t used;
	} cases[] = { { 0, 0x3 }, { 575, 0x3 }, { 576, 0x7 }, { 2688, 0x20007 }, { 11008, 0x103 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sigframe_request request = { .registers = &registers,
						    .extended = xstate,
						    .extended_size = cases[i].size,
						    .layout = &layout,
						    .top = 0x7fff0000 };
		struct hs_error *error;

		put_u64(xstate + 512, cases[i].used);
		error = sigframe_build(&request, &frame);
		CHECK(error && error->code == HS_ERROR_BAD_DATA);
		hs_error_destroy(error);
	}
}

// A frame is found again wherever it lies, and nothing else is taken for one.
static void test_find(void)
{
	static uint8_t xstate[11008], bytes[3 * 4096];
	static struct sigframe frame;
	const uint64_t low = 0x7fff0000;
	size_t begin, end, at;

	for (uint64_t top = low + 6000; top < low + sizeof(bytes); top += 1000) {
		struct sigframe_request request = { .registers = &registers,
						    .extended = xstate,
						    .extended_size = 2696,
						    .layout = &layout,
						    .top = top,
						    .restorer = 0x401000 };
		struct hs_error *error = sigframe_build(&request, &frame);

		CHECK(!error);
		hs_error_destroy(error);
		at = (size_t)(frame.address - low);
		memset(bytes, 0, sizeof(bytes));
		CHECK(!sigframe_find(bytes, sizeof(bytes), low, &begin, &end));
		memcpy(bytes + at, frame.bytes, frame.size);
		CHECK(sigframe_is_ours(bytes + at));
		CHECK(sigframe_find(bytes, sizeof(bytes), low, &begin, &end));
		CHECK_EQUAL(begin, at - HS_SIGFRAME_WORDS_BELOW);
		CHECK_EQUAL(end, at + frame.size);
		CHECK(!sigframe_find(bytes, end - 1, low, &begin, &end)); // cut off
		bytes[at + 32] = 2;                                       // SS_DISABLE, as the kernel writes it
		CHECK(!sigframe_find(bytes, sizeof(bytes), low, &begin, &end));
	}
}

// A frame's saved stack pointer counts wherever in the bytes it lies, also where the first word of the frame is before
// them; not the ends of the range.
static void test_returns_to(void)
{
	static uint8_t bytes[4096];
	const uint64_t low = 0x7fff0000, high = 0x7fff8000;
	static const struct {
		uint64_t rsp;
		uint16_t cs;
		bool expected;
	} cases[] = {
		{ 0x7fff4000, 0x33, true },   { 0x7fff0000, 0x33, true },  { 0x7fff7fff, 0x33, true },
		{ 0x7ffeffff, 0x33, false },  { 0x7fff8000, 0x33, false }, { 0x7fff4000, 0x23, false },
		{ 0x7fff4000, 0x133, false }, { 0, 0x33, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned wrong = 0;

		for (size_t frame = 0; frame + CS + 2 <= sizeof(bytes); frame += 8) {
			memset(bytes, 0, sizeof(bytes));
			memcpy(bytes + frame + RSP, &cases[i].rsp, 8);
			memcpy(bytes + frame + CS, &cases[i].cs, 2);
			wrong += sigframe_returns_to(bytes, sizeof(bytes), low, high) != cases[i].expected;
			wrong += sigframe_returns_to(bytes, frame + CS + 1, low, high); // cut
			wrong += sigframe_returns_to(bytes + frame + RSP, CS - RSP + 2, low, high) != cases[i].expected;
		}
		CHECK_EQUAL(wrong, 0);
	}
	CHECK(!sigframe_returns_to(bytes, 0, low, high));
}

// Protection keys that keep the thread from memory of key 0 would make each call of ours a SIGSEGV; those of other keys
// are the usual case.
static void test_keys(void)
{
	static uint8_t xstate[11008];
	const struct extended_layout without = { .total = sizeof(xstate) };

	CHECK(sigframe_is_allowed(xstate, sizeof(xstate), &layout));
	put_u64(xstate + layout.offset[9], 0x55555554); // the kernel's own
	CHECK(sigframe_is_allowed(xstate, sizeof(xstate), &layout));
	for (uint64_t bits = 1; bits < 4; bits++) {
		put_u64(xstate + layout.offset[9], 0x55555554 | bits);
		CHECK(!sigframe_is_allowed(xstate, sizeof(xstate), &layout));
		CHECK(sigframe_is_allowed(xstate, sizeof(xstate), &without));
		CHECK(sigframe_is_allowed(xstate, layout.offset[9] + 2, &layout)); // cut
	}
}

int main(void)
{
	test_returns_to();
	test_keys();
	test_areas();
	test_find();
	test_bad();
	return CHECK_RESULT();
}
