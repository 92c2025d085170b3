// SPDX-License-Identifier: Apache-2.0
// Which bytes are taken for a branch into a range, and which instructions.
#include "check.h"

#include "attach/arch/branch_scan.h"

static void test_branch_scan(void)
{
	uint8_t code[64] = { 0 };
	struct branch_range ranges[2] = { { 0x1011, 0x1015, 0x1011, false }, { 0x2001, 0x2005, 0x2003, false } };

	branch_scan(code, sizeof(code), 0x1000, ranges, 2);
	CHECK(!ranges[0].hit && !ranges[1].hit);
	// 0x1021: 0f 84 ea ff ff ff  je 0x1011, at an odd place
	memcpy(code + 0x21, (const uint8_t[]){ 0x0f, 0x84, 0xea, 0xff, 0xff, 0xff }, 6);
	branch_scan(code, sizeof(code), 0x1000, ranges, 2);
	CHECK(ranges[0].hit && !ranges[1].hit);
	// je 0x1010 and je 0x1015: the ends are exclusive
	ranges[0].hit = false;
	code[0x23] = 0xe9;
	branch_scan(code, sizeof(code), 0x1000, ranges, 2);
	code[0x23] = 0xee;
	branch_scan(code, sizeof(code), 0x1000, ranges, 2);
	CHECK(!ranges[0].hit);
	// 0x103b: e9 c4 0f 00 00  jmp 0x2004, in the last five bytes
	memcpy(code + 0x3b, (const uint8_t[]){ 0xe9, 0xc4, 0x0f, 0x00, 0x00 }, 5);
	branch_scan(code, sizeof(code), 0x1000, ranges, 2);
	CHECK(!ranges[0].hit && ranges[1].hit);
	ranges[1].hit = false;
	branch_scan(code, sizeof(code) - 1, 0x1000, ranges, 2);
	CHECK(!ranges[1].hit);
	// call 0x2004, and call 0x2002, which is a function's start, say
	code[0x3b] = 0xe8;
	branch_scan(code, sizeof(code), 0x1000, ranges, 2);
	CHECK(!ranges[0].hit && ranges[1].hit);
	ranges[1].hit = false;
	code[0x3c] = 0xc2;
	branch_scan(code, sizeof(code), 0x1000, ranges, 2);
	CHECK(!ranges[1].hit);
}

// lea of 64 bits from rip, with each register; but no other instruction with these bytes.
static void test_lea(void)
{
	for (unsigned byte = 0; byte < 256; byte++) {
		uint8_t code[7] = { 0x48, 0x8d, (uint8_t)byte, 0x09, 0, 0, 0 }; // 0x1010
		struct branch_range range = { 0x100e, 0x1015, 0x1010, false };
		bool is_lea = (byte & 0xc7) == 5;

		if (byte == 0xe8 || byte == 0xe9)
			continue;
		branch_scan(code, sizeof(code), 0x1000, &range, 1);
		CHECK_EQUAL(range.hit, is_lea);
		range.hit = false;
		range.call_low++;
		branch_scan(code, sizeof(code), 0x1000, &range, 1);
		CHECK(!range.hit);
		range.call_low--;
		code[0] = 0x4c;
		branch_scan(code, sizeof(code), 0x1000, &range, 1);
		CHECK_EQUAL(range.hit, is_lea);
		range.hit = false;
		code[0] = 0x66;
		branch_scan(code, sizeof(code), 0x1000, &range, 1);
		CHECK(!range.hit);
	}
}

// Whether the instructions of `code`, at 0x1000, lead into [0x1011, 0x1015).
static bool leads(const uint8_t *code, size_t size)
{
	struct branch_range range = { 0x1011, 0x1015, 0x1012, false };

	branch_scan_decoded(code, size, 0x1000, &range);
	return range.hit;
}
#define LEADS(...) leads((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void test_short_branches(void)
{
	CHECK(LEADS(0xeb, 0x0f)); // jmp 0x1011
	CHECK(!LEADS(0xeb, 0x0e));
	CHECK(LEADS(0xeb, 0x12));
	CHECK(!LEADS(0xeb, 0x13));
	for (unsigned condition = 0; condition < 16; condition++)
		CHECK(LEADS((uint8_t)(0x70 + condition), 0x10));
	for (unsigned loop = 0; loop < 4; loop++) // loopne, loope, loop, jrcxz
		CHECK(LEADS((uint8_t)(0xe0 + loop), 0x10));
	CHECK(LEADS(0x67, 0xe3, 0x0f)); // jecxz
	CHECK(LEADS(0xf2, 0xeb, 0x0f)); // bnd jmp
	CHECK(LEADS(0x90, 0x90, 0xeb, 0x0d));
	// What only looks like one: in the immediate of mov $0x90900feb,%eax
	CHECK(!LEADS(0xb8, 0xeb, 0x0f, 0x90, 0x90));
	// Bytes that are none: the next one may begin an instruction.
	CHECK(LEADS(0x06, 0xeb, 0x0e));
	CHECK(!LEADS(0xeb));
	// call 0x1011, which may be a function's start, and call 0x1012
	CHECK(!LEADS(0xe8, 0x0c, 0, 0, 0));
	CHECK(LEADS(0xe8, 0x0d, 0, 0, 0));
	CHECK(LEADS(0xe9, 0x0c, 0, 0, 0));
}

static bool is_constant(uint64_t address, size_t size, uint64_t table, uint8_t prefix, uint8_t opcode)
{
	// at 0x3: movabs $0x1122334455667788,%r
	const uint8_t code[] = { 0, 0, 0, prefix, opcode, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11 };
	struct branch_range ranges[] = { { address, 0, address, false }, { address, address + 1, address, false } };

	branch_scan_constants(code, size, table, ranges, 2);
	CHECK(!ranges[0].hit); // it is not looked for
	return ranges[1].hit;
}

static void test_constants(void)
{
	const uint64_t value = UINT64_C(0x1122334455667788);

	for (unsigned prefix = 0; prefix < 256; prefix++)
		CHECK_EQUAL(is_constant(value, 13, 0, (uint8_t)prefix, 0xb8), prefix == 0x48 || prefix == 0x49);
	for (unsigned opcode = 0; opcode < 256; opcode++)
		CHECK_EQUAL(is_constant(value, 13, 0, 0x48, (uint8_t)opcode), opcode >= 0xb8 && opcode <= 0xbf);
	CHECK(!is_constant(value, 12, 0, 0x48, 0xb8)); // its last byte is not there
	CHECK(!is_constant(value + 1, 13, 0, 0x48, 0xb8));
	CHECK(is_constant(value + 0x4000, 13, 0x4000, 0x48, 0xb8));
	CHECK(is_constant(value, 13, 0x4000, 0x48, 0xb8));
	CHECK(!is_constant(value - 0x4000, 13, 0x4000, 0x48, 0xb8));
}

int main(void)
{
	test_branch_scan();
	test_lea();
	test_short_branches();
	test_constants();
	return CHECK_RESULT();
}
