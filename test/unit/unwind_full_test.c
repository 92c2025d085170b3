// SPDX-License-Identifier: Apache-2.0
// Steps with all registers, and the expressions that they evaluate, on arrays.
#include "unwind/expression.h"

#include "check.h"

#include <stdlib.h>

#define STACK UINT64_C(0x7ffe0000)
#define CODE  UINT64_C(0x400000)
#define ALL   ((1u << CFI_REGISTERS) - 1)

static uint64_t words[64]; // word i is at STACK + 8 i
static const struct memory_span stack = { (const uint8_t *)words, STACK, sizeof words };

static struct full_registers fast_registers(void)
{
	struct full_registers registers = { .known = ALL };

	for (unsigned i = 0; i < CFI_REGISTERS; i++)
		registers.value[i] = 0x5000 + i;
	registers.value[CFI_SP] = STACK + 8 * 4;
	registers.value[CFI_FP] = STACK + 8 * 20;
	registers.value[CFI_RA] = 0x40123b;
	for (size_t i = 0; i < 64; i++)
		words[i] = 0x1000 + i;
	return registers;
}

// From an exact copy on the heap, so that a sanitizer sees a read outside.
static enum step_result evaluate(const uint8_t *bytes, size_t size, const struct full_registers *registers,
				 const uint64_t *initial, uint64_t *ret)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct memory_span code = { copy, CODE, size };
	enum step_result result;

	memcpy(copy, bytes, size);
	result = expression_evaluate(&code, CODE, size, &stack, registers, initial, ret);
	free(copy);
	return result;
}

struct expression_case {
	const char *text;
	uint8_t bytes[24];
	uint8_t size;
	enum step_result result;
	uint64_t value;
};

#define B(...) { __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static const struct expression_case cases[] = {
	{ "lit0", B(0x30), STEP_OK, 0 },
	{ "lit31", B(0x4f), STEP_OK, 31 },
	{ "const1u 255", B(0x08, 0xff), STEP_OK, 255 },
	{ "const1s -1", B(0x09, 0xff), STEP_OK, UINT64_MAX },
	{ "const2u 0x8001", B(0x0a, 0x01, 0x80), STEP_OK, 0x8001 },
	{ "const2s 0x8001", B(0x0b, 0x01, 0x80), STEP_OK, (uint64_t)-32767 },
	{ "const4u 0x80000001", B(0x0c, 0x01, 0, 0, 0x80), STEP_OK, 0x80000001 },
	{ "const4s 0x80000001", B(0x0d, 0x01, 0, 0, 0x80), STEP_OK, UINT64_C(0xffffffff80000001) },
	{ "const8u", B(0x0e, 1, 2, 3, 4, 5, 6, 7, 8), STEP_OK, UINT64_C(0x0807060504030201) },
	{ "const8s -1", B(0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), STEP_OK, UINT64_MAX },
	{ "constu 128", B(0x10, 0x80, 0x01), STEP_OK, 128 },
	{ "consts -128", B(0x11, 0x80, 0x7f), STEP_OK, (uint64_t)-128 },
	{ "breg3 (rbx): 1", B(0x73, 0x01), STEP_OK, 0x5000 + CFI_RBX + 1 },
	{ "breg6 (rbp): -8", B(0x76, 0x78), STEP_OK, STACK + 8 * 19 },
	{ "breg7 (rsp): 0", B(0x77, 0x00), STEP_OK, STACK + 8 * 4 },
	{ "breg12", B(0x7c, 0x00), STEP_OK, 0x5000 + CFI_R12 },
	{ "breg13", B(0x7d, 0x00), STEP_OK, 0x5000 + CFI_R13 },
	{ "breg14", B(0x7e, 0x00), STEP_OK, 0x5000 + CFI_R14 },
	{ "breg15", B(0x7f, 0x00), STEP_OK, 0x5000 + CFI_R15 },
	{ "breg16 (rip): 0", B(0x80, 0x00), STEP_OK, 0x40123b },
	{ "breg0 (rax): not kept", B(0x70, 0x00), STEP_BAD, 0 },
	{ "bregx 12: 2", B(0x92, 0x0c, 0x02), STEP_OK, 0x5000 + CFI_R12 + 2 },
	{ "bregx 99", B(0x92, 0x63, 0x02), STEP_BAD, 0 },
	{ "breg7 0; deref", B(0x77, 0x00, 0x06), STEP_OK, 0x1004 },
	{ "breg7 0; deref_size 1", B(0x77, 0x00, 0x94, 0x01), STEP_OK, 0x04 },
	{ "breg7 0; deref_size 2", B(0x77, 0x00, 0x94, 0x02), STEP_OK, 0x1004 },
	{ "breg7 1; deref_size 4", B(0x77, 0x01, 0x94, 0x04), STEP_OK, 0x10 },
	{ "breg7 0; deref_size 8", B(0x77, 0x00, 0x94, 0x08), STEP_OK, 0x1004 },
	{ "breg7 0; deref_size 3", B(0x77, 0x00, 0x94, 0x03), STEP_BAD, 0 },
	{ "breg7 -32; deref: the first word", B(0x77, 0x60, 0x06), STEP_OK, 0x1000 },
	{ "breg7 -33; deref: below", B(0x77, 0x5f, 0x06), STEP_OUT_OF_BOUNDS, 0 },
	{ "breg7 472; deref: the last word", B(0x77, 0xd8, 0x03, 0x06), STEP_OK, 0x103f },
	{ "breg7 473; deref: above", B(0x77, 0xd9, 0x03, 0x06), STEP_OUT_OF_BOUNDS, 0 },
	{ "breg7 479; deref_size 1: the last byte", B(0x77, 0xdf, 0x03, 0x94, 0x01), STEP_OK, 0 },
	{ "breg7 480; deref_size 1: above", B(0x77, 0xe0, 0x03, 0x94, 0x01), STEP_OUT_OF_BOUNDS, 0 },
	{ "lit0; deref", B(0x30, 0x06), STEP_OUT_OF_BOUNDS, 0 },
	{ "const1s -1; deref", B(0x09, 0xff, 0x06), STEP_OUT_OF_BOUNDS, 0 },
	{ "lit6; lit3; plus", B(0x36, 0x33, 0x22), STEP_OK, 9 },
	{ "lit6; lit3; minus", B(0x36, 0x33, 0x1c), STEP_OK, 3 },
	{ "lit3; lit6; minus", B(0x33, 0x36, 0x1c), STEP_OK, (uint64_t)-3 },
	{ "lit6; lit3; mul", B(0x36, 0x33, 0x1e), STEP_OK, 18 },
	{ "lit6; lit3; and", B(0x36, 0x33, 0x1a), STEP_OK, 2 },
	{ "lit6; lit3; or", B(0x36, 0x33, 0x21), STEP_OK, 7 },
	{ "lit6; lit3; xor", B(0x36, 0x33, 0x27), STEP_OK, 5 },
	{ "lit6; lit3; shl", B(0x36, 0x33, 0x24), STEP_OK, 48 },
	{ "lit6; const1u 64; shl", B(0x36, 0x08, 0x40, 0x24), STEP_OK, 0 },
	{ "consts -8; lit1; shr", B(0x11, 0x78, 0x31, 0x25), STEP_OK, (UINT64_MAX - 7) >> 1 },
	{ "consts -8; const1u 200; shr", B(0x11, 0x78, 0x08, 0xc8, 0x25), STEP_OK, 0 },
	{ "consts -8; lit1; shra", B(0x11, 0x78, 0x31, 0x26), STEP_OK, (uint64_t)-4 },
	{ "consts -8; const1u 64; shra", B(0x11, 0x78, 0x08, 0x40, 0x26), STEP_OK, UINT64_MAX },
	{ "lit6; neg", B(0x36, 0x1f), STEP_OK, (uint64_t)-6 },
	{ "lit6; not", B(0x36, 0x20), STEP_OK, ~UINT64_C(6) },
	{ "lit6; plus_uconst 200", B(0x36, 0x23, 0xc8, 0x01), STEP_OK, 206 },
	{ "lit1; lit2; eq", B(0x31, 0x32, 0x29), STEP_OK, 0 },
	{ "lit1; lit2; ne", B(0x31, 0x32, 0x2e), STEP_OK, 1 },
	{ "consts -1; lit2; lt: signed", B(0x11, 0x7f, 0x32, 0x2d), STEP_OK, 1 },
	{ "consts -1; lit2; gt", B(0x11, 0x7f, 0x32, 0x2b), STEP_OK, 0 },
	{ "lit2; lit2; le", B(0x32, 0x32, 0x2c), STEP_OK, 1 },
	{ "lit2; lit2; ge", B(0x32, 0x32, 0x2a), STEP_OK, 1 },
	{ "lit2; consts -1; ge", B(0x32, 0x11, 0x7f, 0x2a), STEP_OK, 1 },
	{ "lit4; dup; plus", B(0x34, 0x12, 0x22), STEP_OK, 8 },
	{ "lit4; lit5; drop", B(0x34, 0x35, 0x13), STEP_OK, 4 },
	{ "lit4; lit5; over", B(0x34, 0x35, 0x14), STEP_OK, 4 },
	{ "lit4; lit5; lit6; pick 2", B(0x34, 0x35, 0x36, 0x15, 0x02), STEP_OK, 4 },
	{ "lit4; lit5; lit6; pick 3", B(0x34, 0x35, 0x36, 0x15, 0x03), STEP_BAD, 0 },
	{ "lit4; lit5; swap", B(0x34, 0x35, 0x16), STEP_OK, 4 },
	{ "lit4; lit5; lit6; rot: 6 4 5", B(0x34, 0x35, 0x36, 0x17), STEP_OK, 5 },
	{ "lit4; lit5; lit6; rot; drop: 6 4", B(0x34, 0x35, 0x36, 0x17, 0x13), STEP_OK, 4 },
	{ "lit4; lit5; lit6; rot; drop; drop: 6", B(0x34, 0x35, 0x36, 0x17, 0x13, 0x13), STEP_OK, 6 },
	{ "nop; lit4", B(0x96, 0x34), STEP_OK, 4 },
	{ "lit4; skip 1; lit5", B(0x34, 0x2f, 0x01, 0x00, 0x35), STEP_OK, 4 },
	{ "lit4; lit1; bra 1; lit5", B(0x34, 0x31, 0x28, 0x01, 0x00, 0x35), STEP_OK, 4 },
	{ "lit4; lit0; bra 1; lit5", B(0x34, 0x30, 0x28, 0x01, 0x00, 0x35), STEP_OK, 5 },
	{ "lit4; skip 2: beyond the end", B(0x34, 0x2f, 0x02, 0x00, 0x35), STEP_BAD, 0 },
	{ "lit4; skip -5: before the begin", B(0x34, 0x2f, 0xfb, 0xff), STEP_BAD, 0 },
	{ "skip -3: for ever", B(0x2f, 0xfd, 0xff), STEP_BAD, 0 },
	{ "lit4; skip -4: until the machine is full", B(0x34, 0x2f, 0xfc, 0xff), STEP_BAD, 0 },
	{ "const1u 30; lit1; minus; dup; bra -6: 30 rounds of 4 are too many",
	  B(0x08, 0x1e, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff), STEP_BAD, 0 },
	{ "lit10; lit1; minus; dup; bra -6; lit7: 10 rounds are not", B(0x3a, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff, 0x37),
	  STEP_OK, 7 },
	{ "plus of one", B(0x36, 0x22), STEP_BAD, 0 },
	{ "deref of none", B(0x06), STEP_BAD, 0 },
	{ "drop; nothing is left", B(0x36, 0x13), STEP_BAD, 0 },
	{ "const4u cut off", B(0x0c, 0x01, 0x02), STEP_BAD, 0 },
	{ "constu cut off", B(0x10, 0x80), STEP_BAD, 0 },
	{ "reg6", B(0x56), STEP_BAD, 0 },
	{ "addr", B(0x03, 0, 0, 0, 0, 0, 0, 0, 0), STEP_BAD, 0 },
	{ "lit6; lit3; div", B(0x36, 0x33, 0x1b), STEP_BAD, 0 },
	{ "call_frame_cfa", B(0x9c), STEP_BAD, 0 },
	{ "call2", B(0x98, 0, 0), STEP_BAD, 0 },
};

static void test_expressions(void)
{
	struct full_registers registers = fast_registers();
	uint8_t many[101];
	uint64_t value, initial = STACK;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum step_result result = evaluate(cases[i].bytes, cases[i].size, &registers, NULL, &value);

		CHECK_EQUAL(result, cases[i].result);
		if (result == STEP_OK && cases[i].result == STEP_OK)
			CHECK_EQUAL(value, cases[i].value);
		if (result != cases[i].result || (result == STEP_OK && value != cases[i].value))
			fprintf(stderr, "  in \"%s\"\n", cases[i].text);
	}
	CHECK_EQUAL(evaluate(many, 0, &registers, NULL, &value), STEP_BAD);
	// The CFA is there at the beginning of a register's expression.
	CHECK_EQUAL(evaluate((const uint8_t[]){ 0x06 }, 1, &registers, &initial, &value), STEP_OK);
	CHECK_EQUAL(value, 0x1000);
	CHECK_EQUAL(evaluate(many, 0, &registers, &initial, &value), STEP_OK);
	CHECK_EQUAL(value, STACK);
	// 16 values, 17 values; 100 operations, 101 operations
	memset(many, 0x31, sizeof many);
	CHECK_EQUAL(evaluate(many, 16, &registers, NULL, &value), STEP_OK);
	CHECK_EQUAL(evaluate(many, 17, &registers, NULL, &value), STEP_BAD);
	memset(many + 1, 0x96, sizeof many - 1);
	CHECK_EQUAL(evaluate(many, 100, &registers, NULL, &value), STEP_OK);
	CHECK_EQUAL(evaluate(many, 101, &registers, NULL, &value), STEP_BAD);
	// A register that is not known.
	registers.known &= ~(1u << CFI_RBX);
	CHECK_EQUAL(evaluate((const uint8_t[]){ 0x73, 0x00 }, 2, &registers, NULL, &value), STEP_BAD);
}

static void test_expression_outside(void)
{
	static const uint8_t bytes[4] = { 0x31, 0x31, 0x31, 0x31 };
	struct memory_span code = { bytes, CODE, sizeof bytes };
	struct full_registers registers = fast_registers();
	uint64_t value;

	CHECK_EQUAL(expression_evaluate(&code, CODE + 3, 1, &stack, &registers, NULL, &value), STEP_OK);
	CHECK_EQUAL(expression_evaluate(&code, CODE + 3, 2, &stack, &registers, NULL, &value), STEP_BAD);
	CHECK_EQUAL(expression_evaluate(&code, CODE + 5, 0, &stack, &registers, NULL, &value), STEP_BAD);
	CHECK_EQUAL(expression_evaluate(&code, CODE - 1, 2, &stack, &registers, NULL, &value), STEP_BAD);
	// skip 4 | lit4; skip -7: a branch out to the bytes in front, which would lead back to the end
	static const uint8_t branches[] = { 0x2f, 0x04, 0x00, 0x34, 0x2f, 0xf9, 0xff };
	struct memory_span branch_code = { branches, CODE, sizeof branches };

	CHECK_EQUAL(expression_evaluate(&branch_code, CODE + 3, 4, &stack, &registers, NULL, &value), STEP_BAD);
	CHECK_EQUAL(expression_evaluate(&code, 0, UINT64_MAX, &stack, &registers, NULL, &value), STEP_BAD);
}

static struct cfi_row usual_row(void)
{
	struct cfi_row row = { .cfa_register = CFI_SP, .cfa_offset = 48 };

	row.registers[CFI_RA] = (struct cfi_rule){ .kind = CFI_AT_OFFSET, .offset = -8 };
	return row;
}

static const struct memory_span no_code = { (const uint8_t *)"", CODE, 0 };
static uint64_t cfa;

static enum step_result step(struct cfi_row row, struct full_registers *registers)
{
	return unwind_step_full(&row, &no_code, &stack, registers, &cfa);
}

// The step must fail and change nothing.
#define CHECK_REFUSED(row, registers, result)                                                                          \
	do {                                                                                                           \
		struct full_registers after = registers;                                                               \
		uint64_t cfa_before = cfa;                                                                             \
		CHECK_EQUAL(step(row, &after), result);                                                                \
		CHECK(memcmp(after.value, (registers).value, sizeof after.value) == 0);                                \
		CHECK(after.known == (registers).known && cfa == cfa_before);                                          \
	} while (0)

static void test_step(void)
{
	struct full_registers registers = fast_registers();
	struct cfi_row row = usual_row();

	row.registers[CFI_RBX] = (struct cfi_rule){ .kind = CFI_AT_OFFSET, .offset = -24 };
	row.registers[CFI_FP] = (struct cfi_rule){ .kind = CFI_AT_OFFSET, .offset = -16 };
	row.registers[CFI_R12] = (struct cfi_rule){ .kind = CFI_UNDEFINED };
	row.registers[CFI_R13] = (struct cfi_rule){ .kind = CFI_IS_OFFSET, .offset = -32 };
	row.registers[CFI_R14] = (struct cfi_rule){ .kind = CFI_IN_REGISTER, .offset = CFI_RBX };
	registers.pc_is_exact = true;
	CHECK_EQUAL(step(row, &registers), STEP_OK);
	CHECK_EQUAL(cfa, STACK + 8 * 10);
	CHECK_EQUAL(registers.value[CFI_SP], STACK + 8 * 10);
	CHECK_EQUAL(registers.value[CFI_RA], 0x1009);
	CHECK_EQUAL(registers.value[CFI_FP], 0x1008);
	CHECK_EQUAL(registers.value[CFI_RBX], 0x1007);
	CHECK_EQUAL(registers.value[CFI_R13], STACK + 8 * 6);
	CHECK_EQUAL(registers.value[CFI_R14], 0x5000 + CFI_RBX); // the callee's, not the caller's
	CHECK_EQUAL(registers.value[CFI_R15], 0x5000 + CFI_R15);
	CHECK_EQUAL(registers.known, ALL & ~(1u << CFI_R12));
	CHECK(!registers.pc_is_exact);
	// What is not known stays so.
	CHECK_EQUAL(step(usual_row(), &registers), STEP_OK);
	CHECK_EQUAL(registers.known, ALL & ~(1u << CFI_R12));
}

static void test_step_cfa(void)
{
	struct full_registers registers = fast_registers();
	struct cfi_row row = usual_row();

	row.cfa_register = CFI_R15;
	registers.value[CFI_R15] = STACK + 8 * 30;
	CHECK_EQUAL(step(row, &registers), STEP_OK);
	CHECK_EQUAL(cfa, STACK + 8 * 36);
	CHECK_EQUAL(registers.value[CFI_RA], 0x1000 + 35);

	registers = fast_registers();
	registers.known &= ~(1u << CFI_R15);
	CHECK_REFUSED(row, registers, STEP_BAD);
	registers = fast_registers();
	registers.known &= ~(1u << CFI_SP);
	CHECK_REFUSED(row, registers, STEP_BAD);
	registers = fast_registers();
	row = usual_row();
	row.cfa_offset = 12;
	CHECK_REFUSED(row, registers, STEP_BAD);
	row.cfa_offset = 0;
	CHECK_REFUSED(row, registers, STEP_NO_PROGRESS);
	row.cfa_offset = -8;
	CHECK_REFUSED(row, registers, STEP_NO_PROGRESS);
	row.cfa_offset = 8 * 60;
	CHECK_EQUAL(step(row, &registers), STEP_OK);
	registers = fast_registers();
	row.cfa_offset = 8 * 61;
	CHECK_REFUSED(row, registers, STEP_OUT_OF_BOUNDS);
	row.cfa_offset = INT32_MIN;
	CHECK_REFUSED(row, registers, STEP_OUT_OF_BOUNDS);
	row.cfa_register = 200;
	CHECK_REFUSED(row, registers, STEP_BAD);
}

static void test_step_return_address(void)
{
	struct full_registers registers = fast_registers();
	struct cfi_row row = usual_row();

	row.registers[CFI_RA] = (struct cfi_rule){ .kind = CFI_UNDEFINED };
	CHECK_REFUSED(row, registers, STEP_END);
	row.registers[CFI_RA] = (struct cfi_rule){ .kind = CFI_SAME };
	CHECK_REFUSED(row, registers, STEP_BAD);
	row.registers[CFI_RA] = (struct cfi_rule){ .kind = CFI_IN_REGISTER, .offset = CFI_R12 };
	CHECK_EQUAL(step(row, &registers), STEP_OK);
	CHECK_EQUAL(registers.value[CFI_RA], 0x5000 + CFI_R12);
	registers = fast_registers();
	registers.known &= ~(1u << CFI_R12);
	CHECK_REFUSED(row, registers, STEP_BAD);
	registers = fast_registers();
	row = usual_row();
	words[9] = 0;
	CHECK_REFUSED(row, registers, STEP_END);
	// A callee-saved register's place outside ends the walk: the row cannot be this frame's.
	registers = fast_registers();
	row.registers[CFI_RBX] = (struct cfi_rule){ .kind = CFI_AT_OFFSET, .offset = -800 };
	CHECK_REFUSED(row, registers, STEP_OUT_OF_BOUNDS);
	// One in an expression of a register that is not kept is lost, no more.
	row.registers[CFI_RBX] =
		(struct cfi_rule){ .kind = CFI_IS_EXPRESSION, .expression = CODE, .expression_size = 2 };
	struct memory_span code = { (const uint8_t *)"\x70", CODE, 2 }; // breg0 (rax): 0
	CHECK_EQUAL(unwind_step_full(&row, &code, &stack, &registers, &cfa), STEP_OK);
	CHECK_EQUAL(registers.known, ALL & ~(1u << CFI_RBX));
	row.registers[CFI_SP] = row.registers[CFI_RBX];
	registers = fast_registers();
	CHECK_EQUAL(unwind_step_full(&row, &code, &stack, &registers, &cfa), STEP_BAD);
}

// The realigned stack, the PLT and the signal frame, as the packed rules do them too.
static void test_step_expressions(void)
{
	// breg6 -8; deref. breg6 0. breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus. breg7 160; deref. breg7
	// 120, 160, 168, 128.
	static const uint8_t bytes[] = {
		0x76, 0x78, 0x06, 0x76, 0x00, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
		0x77, 0xa0, 0x01, 0x06, 0x77, 0xf8, 0x00, 0x77, 0xa0, 0x01, 0x77, 0xa8, 0x01, 0x77, 0x80, 0x01,
	};
	struct memory_span code = { bytes, CODE, sizeof bytes };
	struct full_registers registers = fast_registers();
	struct cfi_row row = usual_row();

	row.cfa_is_expression = true;
	row.cfa_expression = CODE;
	row.cfa_expression_size = 3;
	row.registers[CFI_FP] =
		(struct cfi_rule){ .kind = CFI_AT_EXPRESSION, .expression = CODE + 3, .expression_size = 2 };
	words[19] = STACK + 8 * 40;
	CHECK_EQUAL(unwind_step_full(&row, &code, &stack, &registers, &cfa), STEP_OK);
	CHECK_EQUAL(cfa, STACK + 8 * 40);
	CHECK_EQUAL(registers.value[CFI_RA], 0x1000 + 39);
	CHECK_EQUAL(registers.value[CFI_FP], 0x1000 + 20);

	row = usual_row();
	row.cfa_is_expression = true;
	row.cfa_expression = CODE + 5;
	row.cfa_expression_size = 11;
	registers = fast_registers(); // pc & 15 = 11
	CHECK_EQUAL(unwind_step_full(&row, &code, &stack, &registers, &cfa), STEP_OK);
	CHECK_EQUAL(cfa, STACK + 8 * 6);
	registers = fast_registers();
	registers.value[CFI_RA]--;
	CHECK_EQUAL(unwind_step_full(&row, &code, &stack, &registers, &cfa), STEP_OK);
	CHECK_EQUAL(cfa, STACK + 8 * 5);

	row = (struct cfi_row){ .cfa_is_expression = true,
				.cfa_expression = CODE + 16,
				.cfa_expression_size = 4,
				.is_signal_frame = true };
	row.registers[CFI_FP] =
		(struct cfi_rule){ .kind = CFI_AT_EXPRESSION, .expression = CODE + 20, .expression_size = 3 };
	row.registers[CFI_SP] =
		(struct cfi_rule){ .kind = CFI_AT_EXPRESSION, .expression = CODE + 23, .expression_size = 3 };
	row.registers[CFI_RA] =
		(struct cfi_rule){ .kind = CFI_AT_EXPRESSION, .expression = CODE + 26, .expression_size = 3 };
	row.registers[CFI_RBX] =
		(struct cfi_rule){ .kind = CFI_AT_EXPRESSION, .expression = CODE + 29, .expression_size = 3 };
	registers = fast_registers();
	words[4 + 20] = STACK + 8 * 50;
	CHECK_EQUAL(unwind_step_full(&row, &code, &stack, &registers, &cfa), STEP_OK);
	CHECK_EQUAL(registers.value[CFI_SP], STACK + 8 * 50);
	CHECK_EQUAL(registers.value[CFI_RA], 0x1000 + 4 + 21);
	CHECK_EQUAL(registers.value[CFI_FP], 0x1000 + 4 + 15);
	CHECK_EQUAL(registers.value[CFI_RBX], 0x1000 + 4 + 16);
	CHECK(registers.pc_is_exact);
	// The interrupted code was on another stack; then at the same place.
	registers = fast_registers();
	words[4 + 20] = STACK + 8 * 70;
	CHECK_EQUAL(unwind_step_full(&row, &code, &stack, &registers, &cfa), STEP_OUT_OF_BOUNDS);
	words[4 + 20] = STACK + 8 * 4;
	CHECK_EQUAL(unwind_step_full(&row, &code, &stack, &registers, &cfa), STEP_NO_PROGRESS);
}

int main(void)
{
	test_expressions();
	test_expression_outside();
	test_step();
	test_step_cfa();
	test_step_return_address();
	test_step_expressions();
	return CHECK_RESULT();
}
