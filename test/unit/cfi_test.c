// SPDX-License-Identifier: Apache-2.0
// cfi_decode on arrays. The comments give what `readelf --debug-dump=frames` says of the bytes.
#include "unwind/cfi.h"

#include "cfi_image.h"

#include <stdlib.h>

// Decodes from an exact copy on the heap, so that a sanitizer sees a read outside.
static enum cfi_result decode_image(const struct image *image, size_t hdr_size, uint64_t pc, struct cfi_row *row)
{
	uint8_t *copy = malloc(image->size);
	struct memory_span span = { copy, BASE, image->size };
	enum cfi_result result;

	memcpy(copy, image->data, image->size);
	memset(row, 0xa5, sizeof *row);
	result = cfi_decode(&span, BASE, hdr_size, pc, row);
	free(copy);
	return result;
}

static enum cfi_result decode(struct cie_form cie, struct bytes cie_program, struct bytes fde_program,
			      unsigned pc_offset, struct cfi_row *row)
{
	struct image image;

	build(&image, cie, cie_program, fde_program);
	return decode_image(&image, HDR_SIZE, CODE + pc_offset, row);
}

// The usual CIE and the FDE's program.
#define RUN(pc_offset, row, ...) decode(USUAL_CIE, BYTES(USUAL_CIE_PROGRAM), BYTES(__VA_ARGS__), pc_offset, row)

#define CHECK_CFA(row, register_, offset_)                                                                             \
	do {                                                                                                           \
		CHECK(!(row).cfa_is_expression);                                                                       \
		CHECK_EQUAL((row).cfa_register, register_);                                                            \
		CHECK_EQUAL((row).cfa_offset, offset_);                                                                \
	} while (0)

#define CHECK_RULE(row, register_, kind_, offset_)                                                                     \
	do {                                                                                                           \
		CHECK_EQUAL((row).registers[register_].kind, kind_);                                                   \
		CHECK_EQUAL((row).registers[register_].offset, offset_);                                               \
	} while (0)

static void test_usual_function(void)
{
	// push %rbp; mov %rsp,%rbp; push %rbx ... as GCC writes it
	static const struct {
		unsigned pc;
		int cfa_register, cfa_offset, rbp_kind, rbp_offset, rbx_kind, rbx_offset;
	} expected[] = {
		{ 0x00, CFI_SP, 8, CFI_SAME, 0, CFI_SAME, 0 },
		{ 0x01, CFI_SP, 16, CFI_AT_OFFSET, -16, CFI_SAME, 0 },
		{ 0x03, CFI_SP, 16, CFI_AT_OFFSET, -16, CFI_SAME, 0 },
		{ 0x04, CFI_FP, 16, CFI_AT_OFFSET, -16, CFI_SAME, 0 },
		{ 0x09, CFI_FP, 16, CFI_AT_OFFSET, -16, CFI_AT_OFFSET, -24 },
		{ 0x28, CFI_FP, 16, CFI_AT_OFFSET, -16, CFI_AT_OFFSET, -24 },
		{ 0x29, CFI_SP, 8, CFI_SAME, 0, CFI_AT_OFFSET, -24 },
		{ 0x2a, CFI_FP, 16, CFI_AT_OFFSET, -16, CFI_AT_OFFSET, -24 },
		{ 0xff, CFI_FP, 16, CFI_AT_OFFSET, -16, CFI_AT_OFFSET, -24 },
	};

	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		struct cfi_row row;

		CHECK_EQUAL(RUN(expected[i].pc, &row,
				0x41,             // DW_CFA_advance_loc: 1
				0x0e, 0x10,       // DW_CFA_def_cfa_offset: 16
				0x86, 0x02,       // DW_CFA_offset: r6 (rbp) at cfa-16
				0x43,             // DW_CFA_advance_loc: 3
				0x0d, 0x06,       // DW_CFA_def_cfa_register: r6 (rbp)
				0x02, 0x05,       // DW_CFA_advance_loc1: 5
				0x83, 0x03,       // DW_CFA_offset: r3 (rbx) at cfa-24
				0x60,             // DW_CFA_advance_loc: 32
				0x0a,             // DW_CFA_remember_state
				0x0c, 0x07, 0x08, // DW_CFA_def_cfa: r7 (rsp) ofs 8
				0xc6,             // DW_CFA_restore: r6 (rbp)
				0x41,             // DW_CFA_advance_loc: 1
				0x0b),            // DW_CFA_restore_state
			    CFI_OK);
		CHECK_CFA(row, expected[i].cfa_register, expected[i].cfa_offset);
		CHECK_RULE(row, CFI_RA, CFI_AT_OFFSET, -8);
		CHECK_RULE(row, CFI_SP, CFI_SAME, 0);
		CHECK_RULE(row, CFI_FP, expected[i].rbp_kind, expected[i].rbp_offset);
		CHECK_RULE(row, CFI_RBX, expected[i].rbx_kind, expected[i].rbx_offset);
		CHECK(!row.is_signal_frame);
	}
}

static void test_locations(void)
{
	struct cfi_row row;

	CHECK_EQUAL(RUN(0x41, &row, 0x03, 0x42, 0x00, 0x0e, 0x10),
		    CFI_OK); // DW_CFA_advance_loc2: 66; def_cfa_offset: 16
	CHECK_CFA(row, CFI_SP, 8);
	CHECK_EQUAL(RUN(0x42, &row, 0x03, 0x42, 0x00, 0x0e, 0x10), CFI_OK);
	CHECK_CFA(row, CFI_SP, 16);
	CHECK_EQUAL(RUN(0x42, &row, 0x04, 0x42, 0x00, 0x00, 0x00, 0x0e, 0x10), CFI_OK); // DW_CFA_advance_loc4: 66
	CHECK_CFA(row, CFI_SP, 16);
	// A code alignment factor of 4: DW_CFA_advance_loc: 16
	struct cie_form cie = USUAL_CIE;
	cie.code_alignment = 4;
	CHECK_EQUAL(decode(cie, BYTES(USUAL_CIE_PROGRAM), BYTES(0x44, 0x0e, 0x10), 15, &row), CFI_OK);
	CHECK_CFA(row, CFI_SP, 8);
	CHECK_EQUAL(decode(cie, BYTES(USUAL_CIE_PROGRAM), BYTES(0x44, 0x0e, 0x10), 16, &row), CFI_OK);
	CHECK_CFA(row, CFI_SP, 16);
	// DW_CFA_set_loc: 0x401010, absolute in eight bytes
	cie = (struct cie_form){ 1, "", NO_BYTES, 0x00, 1, 0x78, 16 };
	CHECK_EQUAL(decode(cie, BYTES(USUAL_CIE_PROGRAM), BYTES(0x01, 0x10, 0x10, 0x40, 0, 0, 0, 0, 0, 0x0e, 0x10),
			   0x0f, &row),
		    CFI_OK);
	CHECK_CFA(row, CFI_SP, 8);
	CHECK_EQUAL(decode(cie, BYTES(USUAL_CIE_PROGRAM), BYTES(0x01, 0x10, 0x10, 0x40, 0, 0, 0, 0, 0, 0x0e, 0x10),
			   0x10, &row),
		    CFI_OK);
	CHECK_CFA(row, CFI_SP, 16);
}

static void test_rules(void)
{
	struct cfi_row row;

	CHECK_EQUAL(RUN(0, &row, 0x05, 0x0c, 0x03), CFI_OK); // DW_CFA_offset_extended: r12 at cfa-24
	CHECK_RULE(row, CFI_R12, CFI_AT_OFFSET, -24);
	CHECK_EQUAL(RUN(0, &row, 0x11, 0x0d, 0x7e), CFI_OK); // DW_CFA_offset_extended_sf: r13 at cfa+16
	CHECK_RULE(row, CFI_R13, CFI_AT_OFFSET, 16);
	CHECK_EQUAL(RUN(0, &row, 0x14, 0x0e, 0x02), CFI_OK); // DW_CFA_val_offset: r14 is cfa-16
	CHECK_RULE(row, CFI_R14, CFI_IS_OFFSET, -16);
	CHECK_EQUAL(RUN(0, &row, 0x15, 0x0f, 0x7f), CFI_OK); // DW_CFA_val_offset_sf: r15 is cfa+8
	CHECK_RULE(row, CFI_R15, CFI_IS_OFFSET, 8);
	CHECK_EQUAL(RUN(0, &row, 0x2f, 0x03, 0x02), CFI_OK); // DW_CFA_GNU_negative_offset_extended: r3 at cfa+16
	CHECK_RULE(row, CFI_RBX, CFI_AT_OFFSET, 16);
	CHECK_EQUAL(RUN(0, &row, 0x07, 0x10), CFI_OK); // DW_CFA_undefined: r16 (rip)
	CHECK_RULE(row, CFI_RA, CFI_UNDEFINED, 0);
	CHECK_EQUAL(RUN(0, &row, 0x86, 0x02, 0x08, 0x06), CFI_OK); // DW_CFA_offset: r6 at cfa-16; DW_CFA_same_value: r6
	CHECK_RULE(row, CFI_FP, CFI_SAME, 0);
	CHECK_EQUAL(RUN(0, &row, 0x09, 0x06, 0x0c), CFI_OK); // DW_CFA_register: r6 in r12
	CHECK_RULE(row, CFI_FP, CFI_IN_REGISTER, CFI_R12);
	CHECK_EQUAL(RUN(0, &row, 0x09, 0x06, 0x00), CFI_OK); // DW_CFA_register: r6 in r0 (rax): not followed
	CHECK_RULE(row, CFI_FP, CFI_UNDEFINED, 0);
	CHECK_EQUAL(RUN(0, &row, 0x09, 0x10, 0x05), CFI_UNSUPPORTED); // DW_CFA_register: r16 in r5 (rdi)
	CHECK_EQUAL(RUN(0, &row, 0x86, 0x02, 0xc6), CFI_OK);          // DW_CFA_offset: r6; DW_CFA_restore: r6
	CHECK_RULE(row, CFI_FP, CFI_SAME, 0);
	CHECK_EQUAL(RUN(0, &row, 0x07, 0x10, 0x06, 0x10),
		    CFI_OK); // DW_CFA_undefined: r16; DW_CFA_restore_extended: r16
	CHECK_RULE(row, CFI_RA, CFI_AT_OFFSET, -8);
	CHECK_EQUAL(RUN(0, &row, 0x80, 0x05, 0x07, 0x02, 0xc1), CFI_OK); // rules of rax, rcx, rdx: read and forgotten
	CHECK_EQUAL(RUN(0, &row, 0x2e, 0x20, 0x0e, 0x10), CFI_OK);       // DW_CFA_GNU_args_size: 32; def_cfa_offset: 16
	CHECK_CFA(row, CFI_SP, 16);
	CHECK_EQUAL(RUN(0, &row, 0x2d), CFI_UNSUPPORTED);                                     // DW_CFA_GNU_window_save
	CHECK_EQUAL(RUN(0, &row, 0x3f), CFI_UNSUPPORTED);                                     // DW_CFA_hi_user
	CHECK_EQUAL(RUN(0, &row, 0x05, 0x0c, 0x80, 0x80, 0x80, 0x80, 0x08), CFI_UNSUPPORTED); // offset beyond 32 bits
}

static void test_cfa(void)
{
	struct cfi_row row;

	CHECK_EQUAL(RUN(0, &row, 0x12, 0x06, 0x7d), CFI_OK); // DW_CFA_def_cfa_sf: r6 (rbp) ofs 24
	CHECK_CFA(row, CFI_FP, 24);
	CHECK_EQUAL(RUN(0, &row, 0x13, 0x7c), CFI_OK); // DW_CFA_def_cfa_offset_sf: 32
	CHECK_CFA(row, CFI_SP, 32);
	CHECK_EQUAL(RUN(0, &row, 0x0e, 0x80, 0x81, 0x01), CFI_OK); // DW_CFA_def_cfa_offset: 16512
	CHECK_CFA(row, CFI_SP, 16512);
	CHECK_EQUAL(RUN(0, &row, 0x0c, 0x03, 0x10), CFI_OK); // DW_CFA_def_cfa: r3 (rbx) ofs 16
	CHECK_CFA(row, CFI_RBX, 16);
	CHECK_EQUAL(RUN(0, &row, 0x0c, 0x0a, 0x00), CFI_UNSUPPORTED);          // DW_CFA_def_cfa: r10 ofs 0
	CHECK_EQUAL(RUN(0, &row, 0x0c, 0x0a, 0x00, 0x0c, 0x07, 0x10), CFI_OK); // the same, then r7 ofs 16
	CHECK_CFA(row, CFI_SP, 16);
	CHECK_EQUAL(RUN(0, &row, 0x0c, 0x87, 0x80, 0x04, 0x10), CFI_UNSUPPORTED);       // register 65543 is not rsp
	CHECK_EQUAL(RUN(0, &row, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x10), CFI_UNSUPPORTED); // offset 2^32

	// DW_CFA_def_cfa_expression (DW_OP_breg6 (rbp): -8; DW_OP_deref);
	// DW_CFA_expression: r6 (rbp) (DW_OP_breg6 (rbp): 0); DW_CFA_val_expression: r3 (rbx) (DW_OP_breg7 (rsp): 8)
	struct image image;
	build(&image, USUAL_CIE, BYTES(USUAL_CIE_PROGRAM),
	      BYTES(0x0f, 0x03, 0x76, 0x78, 0x06, 0x10, 0x06, 0x02, 0x76, 0x00, 0x16, 0x03, 0x02, 0x77, 0x08));
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE, &row), CFI_OK);
	CHECK(row.cfa_is_expression);
	CHECK_EQUAL(row.cfa_expression_size, 3);
	CHECK(memcmp(image.data + (row.cfa_expression - BASE), "\x76\x78\x06", 3) == 0);
	CHECK_EQUAL(row.registers[CFI_FP].kind, CFI_AT_EXPRESSION);
	CHECK_EQUAL(row.registers[CFI_FP].expression_size, 2);
	CHECK(memcmp(image.data + (row.registers[CFI_FP].expression - BASE), "\x76\x00", 2) == 0);
	CHECK_EQUAL(row.registers[CFI_RBX].kind, CFI_IS_EXPRESSION);
	CHECK(memcmp(image.data + (row.registers[CFI_RBX].expression - BASE), "\x77\x08", 2) == 0);

	// Half a CFA cannot be changed when it is an expression, nor when there is none.
	CHECK_EQUAL(RUN(0, &row, 0x0f, 0x01, 0x50, 0x0e, 0x10), CFI_MALFORMED);
	CHECK_EQUAL(RUN(0, &row, 0x0f, 0x01, 0x50, 0x0d, 0x06), CFI_MALFORMED);
	CHECK_EQUAL(decode(USUAL_CIE, BYTES(0x90, 0x01), BYTES(0x0e, 0x10), 0, &row), CFI_MALFORMED);
	CHECK_EQUAL(decode(USUAL_CIE, BYTES(0x90, 0x01), BYTES(0x00), 0, &row), CFI_MALFORMED);
	CHECK_EQUAL(RUN(0, &row, 0x0f, 0x7f, 0x50), CFI_MALFORMED); // expression longer than the entry
}

static void test_states(void)
{
	struct cfi_row row;

	// Six levels, each with its own offset, and back: the innermost first.
	static const uint8_t nested[] = {
		0x0a, 0x0e, 0x10, 0x0a, 0x0e, 0x18, 0x0a, 0x0e, 0x20, 0x0a, 0x0e, 0x28, 0x0a, 0x0e, 0x30,
		0x0a, 0x0e, 0x38, 0x41, 0x0b, 0x41, 0x0b, 0x41, 0x0b, 0x41, 0x0b, 0x41, 0x0b, 0x41, 0x0b,
	};
	for (unsigned pc = 0; pc <= 6; pc++) {
		CHECK_EQUAL(
			decode(USUAL_CIE, BYTES(USUAL_CIE_PROGRAM), (struct bytes){ nested, sizeof nested }, pc, &row),
			CFI_OK);
		CHECK_CFA(row, CFI_SP, 56 - 8 * (int)pc);
	}
	CHECK_EQUAL(RUN(0, &row, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a), CFI_UNSUPPORTED); // seven
	CHECK_EQUAL(RUN(0, &row, 0x0b), CFI_MALFORMED);
	// The whole state comes back: CFA, its register, and rules.
	CHECK_EQUAL(RUN(0, &row, 0x0a, 0x0c, 0x06, 0x20, 0x83, 0x04, 0x07, 0x10, 0x0b), CFI_OK);
	CHECK_CFA(row, CFI_SP, 8);
	CHECK_RULE(row, CFI_RBX, CFI_SAME, 0);
	CHECK_RULE(row, CFI_RA, CFI_AT_OFFSET, -8);
}

static void test_numbers(void)
{
	struct cfi_row row;

	// DW_CFA_def_cfa_offset with a ULEB128 padded to ten bytes: valid
	CHECK_EQUAL(RUN(0, &row, 0x0e, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00), CFI_OK);
	CHECK_CFA(row, CFI_SP, 16);
	// eleven bytes, and a 65th bit
	CHECK_EQUAL(RUN(0, &row, 0x0e, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00),
		    CFI_MALFORMED);
	CHECK_EQUAL(RUN(0, &row, 0x0e, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02), CFI_MALFORMED);
	CHECK_EQUAL(RUN(0, &row, 0x0e, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01),
		    CFI_MALFORMED); // 2^63 + 16
	// SLEB128 of ten bytes: -1, factored by -8; then one whose sign bits disagree; then the least number, whose
	// product overflows
	CHECK_EQUAL(RUN(0, &row, 0x13, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), CFI_OK);
	CHECK_CFA(row, CFI_SP, 8);
	CHECK_EQUAL(RUN(0, &row, 0x13, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), CFI_OK); // -1 in 9
	CHECK_CFA(row, CFI_SP, 8);
	CHECK_EQUAL(RUN(0, &row, 0x13, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), CFI_MALFORMED);
	CHECK_EQUAL(RUN(0, &row, 0x13, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f), CFI_MALFORMED);
	CHECK_EQUAL(RUN(0, &row, 0x13, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f), CFI_MALFORMED);
	// DW_CFA_advance_loc4 of the largest distance
	CHECK_EQUAL(RUN(0xff, &row, 0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 0x10), CFI_OK);
	CHECK_CFA(row, CFI_SP, 8);
	// An operand cut off by the end of the entry (17 bytes come before the program, so no padding follows)
	CHECK_EQUAL(RUN(0, &row, 0x00, 0x0e, 0x80), CFI_MALFORMED);
}

static void test_cie_forms(void)
{
	const struct {
		struct cie_form cie;
		enum cfi_result result;
	} cases[] = {
		{ { 1, "zR", BYTES(0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK },
		{ { 3, "zR", BYTES(0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK },
		{ { 4, "zR", BYTES(0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK },
		{ { 2, "zR", BYTES(0x1b), 0x1b, 1, 0x78, 16 }, CFI_UNSUPPORTED },
		{ { 1, "", NO_BYTES, 0x00, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "z", NO_BYTES, 0x00, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "eh", NO_BYTES, 0x00, 1, 0x78, 16 }, CFI_UNSUPPORTED },
		{ { 1, "zQ", NO_BYTES, 0x00, 1, 0x78, 16 }, CFI_UNSUPPORTED },
		// personality indirect|pcrel|sdata4, LSDA pcrel|sdata4, FDE pcrel|sdata4: as g++ writes for shared code
		{ { 1, "zPLR", BYTES(0x9b, 1, 2, 3, 4, 0x1b, 0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zPLR", BYTES(0x03, 1, 2, 3, 4, 0x03, 0x03), 0x03, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zRPL", BYTES(0x1b, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0xff), 0x1b, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zPR", BYTES(0x01, 0x81, 0x82, 0x03, 0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK }, // uleb128
		{ { 1, "zPR", BYTES(0x09, 0xff, 0x7f, 0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK },       // sleb128
		{ { 1, "zPR", BYTES(0x02, 1, 2, 0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK },             // udata2
		{ { 1, "zPR", BYTES(0xff, 0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK },                   // omitted
		{ { 1, "zPR", BYTES(0x05, 0x1b), 0x1b, 1, 0x78, 16 }, CFI_UNSUPPORTED },          // no such format
		{ { 1, "zPR", BYTES(0x1b, 1, 2), 0x1b, 1, 0x78, 16 }, CFI_MALFORMED },            // too little data
		{ { 1, "zR", BYTES(0x00), 0x00, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x04), 0x04, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x0c), 0x0c, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x0b), 0x0b, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x03), 0x03, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x12), 0x12, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x1a), 0x1a, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x1c), 0x1c, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x10), 0x10, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x01), 0x01, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x19), 0x19, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x50), 0x50, 1, 0x78, 16 }, CFI_OK },
		{ { 1, "zR", BYTES(0x2b), 0x0b, 1, 0x78, 16 }, CFI_UNSUPPORTED }, // textrel
		{ { 1, "zR", BYTES(0x3b), 0x0b, 1, 0x78, 16 }, CFI_UNSUPPORTED }, // datarel: nobody says to what
		{ { 1, "zR", BYTES(0x9b), 0x1b, 1, 0x78, 16 }, CFI_UNSUPPORTED }, // indirect
		{ { 1, "zR", BYTES(0x1b), 0x1b, 1, 0x78, 15 }, CFI_UNSUPPORTED }, // return address column
		{ { 1, "zLLLLLLLLLLLLR", BYTES(0x1b), 0x1b, 1, 0x78, 16 }, CFI_UNSUPPORTED },
		{ { 1, "zRSSSSSS", BYTES(0x1b), 0x1b, 1, 0x78, 16 }, CFI_OK }, // as long as there is room for
		{ { 1, "zRSSSSSSS", BYTES(0x1b), 0x1b, 1, 0x78, 16 }, CFI_UNSUPPORTED },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cfi_row row;
		enum cfi_result result;

		result = decode(cases[i].cie, BYTES(USUAL_CIE_PROGRAM), BYTES(0x41, 0x0e, 0x10), 1, &row);
		CHECK_EQUAL(result, cases[i].result);
		if (result != cases[i].result)
			fprintf(stderr, "  in case %zu, \"%s\"\n", i, cases[i].cie.augmentation);
		else if (result == CFI_OK)
			CHECK_CFA(row, CFI_SP, 16);
	}
}

static void test_signal_frame(void)
{
	struct cfi_row row;

	CHECK_EQUAL(decode((struct cie_form){ 1, "zRS", BYTES(0x1b), 0x1b, 1, 0x78, 16 }, BYTES(0x00),
			   BYTES(0x0f, 0x01, 0x50), 0, &row),
		    CFI_OK);
	CHECK(row.is_signal_frame);
	CHECK(row.cfa_is_expression);
	CHECK_RULE(row, CFI_RA, CFI_SAME, 0); // never named
}

static void test_coverage(void)
{
	struct image image;
	struct cfi_row row;

	build(&image, USUAL_CIE, BYTES(USUAL_CIE_PROGRAM), BYTES(0x00));
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE - 1, &row), CFI_NO_ENTRY);
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE, &row), CFI_OK);
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE + CODE_SIZE - 1, &row), CFI_OK);
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE + CODE_SIZE, &row), CFI_NO_ENTRY);
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, 0, &row), CFI_NO_ENTRY);
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, UINT64_MAX, &row), CFI_NO_ENTRY);
	// The table says that the FDE begins lower than it does.
	set_u32(&image, 12, CODE - BASE - 16);
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE - 1, &row), CFI_NO_ENTRY);
	// An FDE of no code: what is left when a linker threw the function away.
	build(&image, USUAL_CIE, BYTES(USUAL_CIE_PROGRAM), BYTES(0x00));
	set_u32(&image, image.fde + 12, 0);
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE, &row), CFI_NO_ENTRY);
}

static void test_header(void)
{
	struct image image, changed;
	struct cfi_row row;

	build(&image, USUAL_CIE, BYTES(USUAL_CIE_PROGRAM), BYTES(0x41, 0x0e, 0x10));

	changed = image;
	changed.data[0] = 2;
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_UNSUPPORTED);
	for (size_t size = 0; size < HDR_SIZE; size++)
		CHECK_EQUAL(decode_image(&image, size, CODE, &row), CFI_MALFORMED);
	CHECK_EQUAL(decode_image(&image, image.size + 1, CODE, &row), CFI_MALFORMED);

	changed = image;
	set_u32(&changed, 8, 2); // more entries than fit
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_MALFORMED);
	set_u32(&changed, 8, 0xffffffff);
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_MALFORMED);
	set_u32(&changed, 8, 0);
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_NO_ENTRY);

	changed = image;
	set_u32(&changed, 16, 0x7fffffff); // an FDE outside
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_MALFORMED);
	set_u32(&changed, 16, (uint64_t)-1);
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_MALFORMED);
	set_u32(&changed, 16, HDR_SIZE); // the CIE
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_MALFORMED);
	set_u32(&changed, 16, image.size - 4); // the terminator
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_MALFORMED);

	// .eh_frame at datarel|sdata4, absolute udata4
	changed = image;
	changed.data[1] = 0x3b;
	set_u32(&changed, 4, HDR_SIZE);
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_OK);
	changed.data[1] = 0x9b; // indirect
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE, &row), CFI_UNSUPPORTED);
}

static void test_scan(void)
{
	struct image image, changed;
	struct cfi_row row;

	build(&image, USUAL_CIE, BYTES(USUAL_CIE_PROGRAM), BYTES(0x41, 0x0e, 0x10));
	image.data[2] = image.data[3] = 0xff; // no count, no table
	CHECK_EQUAL(decode_image(&image, 8, CODE + 1, &row), CFI_OK);
	CHECK_CFA(row, CFI_SP, 16);
	CHECK_EQUAL(decode_image(&image, 8, CODE - 1, &row), CFI_NO_ENTRY);
	CHECK_EQUAL(decode_image(&image, 8, CODE + CODE_SIZE, &row), CFI_NO_ENTRY);
	changed = image;
	changed.data[3] = 0x03; // a table of another form
	changed.data[2] = 0x03;
	CHECK_EQUAL(decode_image(&changed, HDR_SIZE, CODE + 1, &row), CFI_OK);
	changed = image;
	add(&changed, 0x7fffffff, 4); // behind the terminator is nothing to look at
	CHECK_EQUAL(decode_image(&changed, 8, CODE - 1, &row), CFI_NO_ENTRY);
	changed = image;
	changed.size -= 4; // no terminator: the span's end
	CHECK_EQUAL(decode_image(&changed, 8, CODE + 1, &row), CFI_OK);
	CHECK_EQUAL(decode_image(&changed, 8, CODE - 1, &row), CFI_NO_ENTRY);
	changed.size -= 1; // cut off
	CHECK_EQUAL(decode_image(&changed, 8, CODE + 1, &row), CFI_MALFORMED);
	changed = image;
	set_u32(&changed, 4, 0x10000000); // .eh_frame outside
	CHECK_EQUAL(decode_image(&changed, 8, CODE, &row), CFI_MALFORMED);
	changed = image;
	changed.data[HDR_SIZE + 8] = 9; // the CIE's version: what its FDEs cover is not known
	CHECK_EQUAL(decode_image(&changed, 8, CODE + 1, &row), CFI_UNSUPPORTED);

	// An entry in the 64-bit form in front of the others is passed over.
	changed = image;
	memmove(changed.data + HDR_SIZE + 16, changed.data + HDR_SIZE, image.size - HDR_SIZE);
	changed.size += 16;
	memcpy(changed.data + HDR_SIZE, "\xff\xff\xff\xff\x04\0\0\0\0\0\0\0\0\0\0\0", 16);
	set_u32(&changed, image.fde + 16 + 8, CODE - (BASE + image.fde + 16 + 8));
	CHECK_EQUAL(decode_image(&changed, 8, CODE + 1, &row), CFI_OK);
	CHECK_EQUAL(decode_image(&changed, 8, CODE - 1, &row), CFI_UNSUPPORTED);
	changed.data[HDR_SIZE + 11] = 0x80; // a length that runs far out
	CHECK_EQUAL(decode_image(&changed, 8, CODE + 1, &row), CFI_MALFORMED);
}

// The span cut short at each byte: never an answer from bytes that are not there (the sanitizer sees to that).
static void test_every_length(void)
{
	struct image image;
	struct cfi_row row;

	build(&image, (struct cie_form){ 1, "zPLR", BYTES(0x9b, 1, 2, 3, 4, 0x1b, 0x1b), 0x1b, 1, 0x78, 16 },
	      BYTES(USUAL_CIE_PROGRAM), BYTES(0x41, 0x0f, 0x03, 0x76, 0x78, 0x06, 0x10, 0x06, 0x02, 0x76, 0x00));
	image.size -= 4;
	CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE + 1, &row), CFI_OK);
	for (size_t size = image.size; size-- > 0;) {
		image.size = size;
		CHECK_EQUAL(decode_image(&image, HDR_SIZE, CODE + 1, &row), CFI_MALFORMED);
	}
}

int main(void)
{
	test_usual_function();
	test_locations();
	test_rules();
	test_cfa();
	test_states();
	test_numbers();
	test_cie_forms();
	test_signal_frame();
	test_coverage();
	test_header();
	test_scan();
	test_every_length();
	return CHECK_RESULT();
}
