// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: tables of cases.
// Packing of rows and execution of packed rules, on arrays.
#include "unwind/unwind_rule.h"

#include "check.h"

#define STACK UINT64_C(0x7ffe0000)
#define CODE  UINT64_C(0x400000)
#define PC    UINT64_C(0x401234)

static struct cfi_row row_of(uint8_t cfa_register, int32_t cfa_offset)
{
	struct cfi_row row = { .cfa_register = cfa_register, .cfa_offset = cfa_offset };

	row.registers[CFI_RA] = (struct cfi_rule){ .kind = CFI_AT_OFFSET, .offset = -8 };
	return row;
}

static uint64_t pack_row(struct cfi_row row)
{
	static const struct memory_span nothing = { (const uint8_t *)"", CODE, 0 };

	return unwind_rule_pack(CFI_OK, &row, &nothing, 5);
}

static void test_pack_registers(void)
{
	struct cfi_row row = row_of(CFI_SP, 48);
	uint64_t rule = pack_row(row);

	CHECK_EQUAL(UNWIND_KIND(rule), UNWIND_SP);
	CHECK_EQUAL(UNWIND_MODULE(rule), 5);
	CHECK_EQUAL(unwind_rule_offset(rule), 48);
	CHECK_EQUAL(unwind_rule_slot(rule), 0);
	CHECK_EQUAL(rule & 0xff, 0);

	row.registers[CFI_FP] = (struct cfi_rule){ .kind = CFI_AT_OFFSET, .offset = -16 };
	CHECK_EQUAL(unwind_rule_slot(pack_row(row)), 2);
	row.registers[CFI_FP].offset = -8 * 65535;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SP);
	CHECK_EQUAL(unwind_rule_slot(pack_row(row)), 65535);
	row.registers[CFI_FP].offset = -8 * 65536;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
	row.registers[CFI_FP].offset = -8; // the return address's place
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
	row.registers[CFI_FP].offset = -20;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
	row.registers[CFI_FP].offset = 16;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
	row.registers[CFI_FP].offset = INT32_MIN;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
	row.registers[CFI_FP] = (struct cfi_rule){ .kind = CFI_UNDEFINED };
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);

	// Other callee-saved registers do not matter to the three.
	row = row_of(CFI_FP, 16);
	row.registers[CFI_RBX] = (struct cfi_rule){ .kind = CFI_AT_OFFSET, .offset = -24 };
	row.registers[CFI_R12] = (struct cfi_rule){ .kind = CFI_UNDEFINED };
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_FP);
	CHECK_EQUAL(unwind_rule_offset(pack_row(row)), 16);

	CHECK_EQUAL(UNWIND_KIND(pack_row(row_of(CFI_RBX, 16))), UNWIND_SLOW);
	CHECK_EQUAL(UNWIND_KIND(pack_row(row_of(CFI_SP, 12))), UNWIND_SLOW);

	// The offset's 22 bits.
	CHECK_EQUAL(unwind_rule_offset(pack_row(row_of(CFI_SP, 16777208))), 16777208);
	CHECK_EQUAL(UNWIND_KIND(pack_row(row_of(CFI_SP, 16777216))), UNWIND_SLOW);
	CHECK_EQUAL(UNWIND_MODULE(pack_row(row_of(CFI_SP, -16777216))), 5);
	CHECK_EQUAL((int64_t)unwind_rule_offset(pack_row(row_of(CFI_SP, -16777216))), -16777216);
	CHECK_EQUAL(UNWIND_KIND(pack_row(row_of(CFI_SP, -16777224))), UNWIND_SLOW);
	CHECK_EQUAL((int64_t)unwind_rule_offset(pack_row(row_of(CFI_FP, -8))), -8);
}

static void test_pack_return_address(void)
{
	struct cfi_row row = row_of(CFI_SP, 8);

	row.registers[CFI_RA].offset = -16;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
	row.registers[CFI_RA] = (struct cfi_rule){ .kind = CFI_IN_REGISTER, .offset = CFI_RBX };
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
	row.registers[CFI_RA] = (struct cfi_rule){ .kind = CFI_UNDEFINED };
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_END);
	row.cfa_is_expression = true;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_END);
	row = row_of(CFI_SP, 8);
	row.registers[CFI_RA] = (struct cfi_rule){ .kind = CFI_SAME };
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_BAD);

	row = row_of(CFI_SP, 8);
	row.registers[CFI_SP] = (struct cfi_rule){ .kind = CFI_IS_OFFSET, .offset = 0 };
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SP);
	row.registers[CFI_SP].offset = 8;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
	row = row_of(CFI_SP, 8);
	row.is_signal_frame = true;
	CHECK_EQUAL(UNWIND_KIND(pack_row(row)), UNWIND_SLOW);
}

static void test_pack_results(void)
{
	struct cfi_row row = row_of(CFI_SP, 8);

	CHECK_EQUAL(UNWIND_KIND(unwind_rule_pack(CFI_NO_ENTRY, NULL, NULL, 7)), UNWIND_FRAME_POINTER);
	CHECK_EQUAL(UNWIND_MODULE(unwind_rule_pack(CFI_NO_ENTRY, NULL, NULL, 7)), 7);
	CHECK_EQUAL(UNWIND_KIND(unwind_rule_pack(CFI_UNSUPPORTED, NULL, NULL, 7)), UNWIND_BAD);
	CHECK_EQUAL(UNWIND_KIND(unwind_rule_pack(CFI_MALFORMED, NULL, NULL, 7)), UNWIND_BAD);
	CHECK_EQUAL(UNWIND_MODULE(unwind_rule_pack(CFI_OK, &row, NULL, 0x3fff)), 0x3fff);
	CHECK_EQUAL(UNWIND_KIND(unwind_rule_pack(CFI_OK, &row, NULL, 0x3fff)), UNWIND_SP);
}

// A row whose CFA is the bytes at CODE, and rbp, rsp and the return address those that follow.
struct expressions {
	const char *cfa;
	size_t cfa_size;
	const char *rbp, *rsp, *ra; // NULL = not an expression
	size_t rbp_size, rsp_size, ra_size;
	bool is_signal_frame;
};

static struct cfi_rule place(uint8_t *code, size_t *used, const char *bytes, size_t size, struct cfi_rule otherwise)
{
	if (!bytes)
		return otherwise;
	memcpy(code + *used, bytes, size);
	*used += size;
	return (struct cfi_rule){ .kind = CFI_AT_EXPRESSION,
				  .expression = CODE + *used - size,
				  .expression_size = (uint16_t)size };
}

static uint64_t pack_expressions(struct expressions from)
{
	uint8_t code[64];
	size_t used = from.cfa_size;
	struct cfi_row row = row_of(CFI_SP, 8);
	struct memory_span span = { code, CODE, 0 };

	memcpy(code, from.cfa, from.cfa_size);
	row.cfa_is_expression = true;
	row.cfa_expression = CODE;
	row.cfa_expression_size = (uint16_t)from.cfa_size;
	row.registers[CFI_FP] = place(code, &used, from.rbp, from.rbp_size, row.registers[CFI_FP]);
	row.registers[CFI_SP] = place(code, &used, from.rsp, from.rsp_size, row.registers[CFI_SP]);
	row.registers[CFI_RA] = place(code, &used, from.ra, from.ra_size, row.registers[CFI_RA]);
	row.is_signal_frame = from.is_signal_frame;
	span.size = used;
	return unwind_rule_pack(CFI_OK, &row, &span, 9);
}

#define CFA_BYTES(literal) .cfa = literal, .cfa_size = sizeof(literal) - 1
#define PACK_CFA(literal)  pack_expressions((struct expressions){ CFA_BYTES(literal) })

static void test_pack_realigned(void)
{
	// DW_OP_breg6 (rbp): -8; DW_OP_deref, rbp: DW_OP_breg6 (rbp): 0
	struct expressions realigned = { CFA_BYTES("\x76\x78\x06"), .rbp = "\x76\x00", .rbp_size = 2 };
	uint64_t rule = pack_expressions(realigned);

	CHECK_EQUAL(UNWIND_KIND(rule), UNWIND_FP_DEREF);
	CHECK_EQUAL((int64_t)unwind_rule_offset(rule), -8);
	CHECK_EQUAL(UNWIND_MODULE(rule), 9);
	realigned.rbp = "\x76\x08"; // rbp elsewhere
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(realigned)), UNWIND_SLOW);
	realigned.rbp = NULL; // rbp unchanged
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(realigned)), UNWIND_SLOW);
	realigned = (struct expressions){ CFA_BYTES("\x76\x78\x06\x96"), .rbp = "\x76\x00",
					  .rbp_size = 2 }; // something follows
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(realigned)), UNWIND_SLOW);
	realigned = (struct expressions){ CFA_BYTES("\x76\x79\x06"), .rbp = "\x76\x00", .rbp_size = 2 }; // -7
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(realigned)), UNWIND_SLOW);
	realigned = (struct expressions){ CFA_BYTES("\x76\x78"), .rbp = "\x76\x00", .rbp_size = 2 };
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(realigned)), UNWIND_SLOW);
	realigned = (struct expressions){ CFA_BYTES("\x76\xf8"), .rbp = "\x76\x00", .rbp_size = 2 }; // cut off
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(realigned)), UNWIND_SLOW);
}

static void test_pack_plt(void)
{
	// DW_OP_breg7 (rsp): 8; DW_OP_breg16 (rip): 0; DW_OP_lit15; DW_OP_and; DW_OP_lit11; DW_OP_ge; DW_OP_lit3;
	// DW_OP_shl; DW_OP_plus
	uint64_t rule = PACK_CFA("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");

	CHECK_EQUAL(UNWIND_KIND(rule), UNWIND_PLT);
	CHECK_EQUAL(unwind_rule_offset(rule), 8);
	CHECK_EQUAL(unwind_rule_slot(rule), 11);
	// the same with DW_OP_lit9: entries that begin with endbr64
	rule = PACK_CFA("\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22");
	CHECK_EQUAL(UNWIND_KIND(rule), UNWIND_PLT);
	CHECK_EQUAL(unwind_rule_slot(rule), 9);
	// lit16, lit4 as shift, breg16 1, no plus
	CHECK_EQUAL(UNWIND_KIND(PACK_CFA("\x77\x08\x80\x00\x3f\x1a\x40\x2a\x33\x24\x22")), UNWIND_SLOW);
	CHECK_EQUAL(UNWIND_KIND(PACK_CFA("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x34\x24\x22")), UNWIND_SLOW);
	CHECK_EQUAL(UNWIND_KIND(PACK_CFA("\x77\x08\x80\x01\x3f\x1a\x3b\x2a\x33\x24\x22")), UNWIND_SLOW);
	CHECK_EQUAL(UNWIND_KIND(PACK_CFA("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24")), UNWIND_SLOW);
}

static void test_pack_signal(void)
{
	// glibc's __restore_rt. CFA: DW_OP_breg7 (rsp): 160; DW_OP_deref. rbp: breg7 120; rsp: breg7 160; rip: breg7
	// 168.
	struct expressions restore = {
		.cfa = "\x77\xa0\x01\x06",
		.cfa_size = 4,
		.rbp = "\x77\xf8\x00",
		.rbp_size = 3,
		.rsp = "\x77\xa0\x01",
		.rsp_size = 3,
		.ra = "\x77\xa8\x01",
		.ra_size = 3,
		.is_signal_frame = true,
	};
	uint64_t rule = pack_expressions(restore);

	CHECK_EQUAL(UNWIND_KIND(rule), UNWIND_SIGNAL);
	CHECK_EQUAL(unwind_rule_offset(rule), 0);
	restore.rsp = NULL;
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(restore)), UNWIND_SIGNAL);
	restore.is_signal_frame = false;
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(restore)), UNWIND_SLOW);
	restore.is_signal_frame = true;
	restore.ra = "\x77\xb0\x01"; // rip elsewhere
	CHECK_EQUAL(UNWIND_KIND(pack_expressions(restore)), UNWIND_SLOW);
	// The whole context 8 bytes further up.
	restore = (struct expressions){
		.cfa = "\x77\xa8\x01\x06",
		.cfa_size = 4,
		.rbp = "\x77\x80\x01",
		.rbp_size = 3,
		.ra = "\x77\xb0\x01",
		.ra_size = 3,
		.is_signal_frame = true,
	};
	rule = pack_expressions(restore);
	CHECK_EQUAL(UNWIND_KIND(rule), UNWIND_SIGNAL);
	CHECK_EQUAL(unwind_rule_offset(rule), 8);
}

// A stack of words; word i is at STACK + 8 i.
struct fixture {
	uint64_t words[64];
	struct memory_span stack;
	struct walk_registers registers;
	uint64_t cfa;
	bool exact;
};

static struct fixture fixture;

static void set_up(uint64_t sp_word, uint64_t rbp)
{
	fixture = (struct fixture){ .registers = { PC, STACK + 8 * sp_word, rbp }, .cfa = 77, .exact = true };
	for (size_t i = 0; i < 64; i++)
		fixture.words[i] = 0x1000 + i;
	fixture.stack = (struct memory_span){ (const uint8_t *)fixture.words, STACK, sizeof fixture.words };
}

static enum step_result step(uint64_t rule)
{
	return unwind_step(rule, &fixture.stack, &fixture.registers, &fixture.cfa, &fixture.exact);
}

// The step must fail and change nothing.
#define CHECK_REFUSED(rule, result)                                                                                    \
	do {                                                                                                           \
		struct fixture before = fixture;                                                                       \
		CHECK_EQUAL(step(rule), result);                                                                       \
		CHECK(memcmp(&before.registers, &fixture.registers, sizeof before.registers) == 0);                    \
		CHECK(before.cfa == fixture.cfa && before.exact == fixture.exact);                                     \
	} while (0)

#define CHECK_CALLER(pc_, sp_, rbp_)                                                                                   \
	do {                                                                                                           \
		CHECK_EQUAL(fixture.registers.pc, pc_);                                                                \
		CHECK_EQUAL(fixture.registers.sp, sp_);                                                                \
		CHECK_EQUAL(fixture.registers.fp, rbp_);                                                               \
		CHECK_EQUAL(fixture.cfa, sp_);                                                                         \
	} while (0)

static uint64_t rule_of(uint8_t cfa_register, int32_t offset, int32_t rbp_offset)
{
	struct cfi_row row = row_of(cfa_register, offset);

	if (rbp_offset)
		row.registers[CFI_FP] = (struct cfi_rule){ .kind = CFI_AT_OFFSET, .offset = rbp_offset };
	return pack_row(row);
}

static void test_step_sp_and_bp(void)
{
	set_up(2, 0x55);
	CHECK_EQUAL(step(rule_of(CFI_SP, 48, 0)), STEP_OK);
	CHECK_CALLER(0x1000 + 7, STACK + 8 * 8, 0x55);
	CHECK(!fixture.exact);

	set_up(2, 0x55);
	CHECK_EQUAL(step(rule_of(CFI_SP, 48, -24)), STEP_OK);
	CHECK_CALLER(0x1000 + 7, STACK + 8 * 8, 0x1000 + 5);

	set_up(2, STACK + 8 * 10);
	CHECK_EQUAL(step(rule_of(CFI_FP, 16, -16)), STEP_OK);
	CHECK_CALLER(0x1000 + 11, STACK + 8 * 12, 0x1000 + 10);

	// up to the very end, and one word further
	set_up(2, 0);
	CHECK_EQUAL(step(rule_of(CFI_SP, 8 * 62, 0)), STEP_OK);
	CHECK_CALLER(0x1000 + 63, STACK + 8 * 64, 0);
	set_up(2, 0);
	CHECK_REFUSED(rule_of(CFI_SP, 8 * 63, 0), STEP_OUT_OF_BOUNDS);
	// rbp saved at the span's first word, and below it
	set_up(2, 0);
	CHECK_EQUAL(step(rule_of(CFI_SP, 16, -32)), STEP_OK);
	CHECK_EQUAL(fixture.registers.fp, 0x1000);
	set_up(2, 0);
	CHECK_REFUSED(rule_of(CFI_SP, 16, -40), STEP_OUT_OF_BOUNDS);
	// no way down, none sideways
	set_up(2, 0);
	CHECK_REFUSED(rule_of(CFI_SP, 0, 0), STEP_NO_PROGRESS);
	CHECK_REFUSED(rule_of(CFI_SP, -8, 0), STEP_NO_PROGRESS);
	set_up(9, STACK + 8);
	CHECK_REFUSED(rule_of(CFI_FP, 16, -16), STEP_NO_PROGRESS);
	// a frame pointer that is none: below, above, near the top of the address space, not aligned
	set_up(2, STACK - 0x1000);
	CHECK_REFUSED(rule_of(CFI_FP, 16, -16), STEP_OUT_OF_BOUNDS);
	set_up(2, STACK + 0x1000);
	CHECK_REFUSED(rule_of(CFI_FP, 16, -16), STEP_OUT_OF_BOUNDS);
	set_up(2, UINT64_MAX - 7);
	CHECK_REFUSED(rule_of(CFI_FP, 16, -16), STEP_OUT_OF_BOUNDS);
	set_up(2, 0);
	CHECK_REFUSED(rule_of(CFI_FP, 16, -16), STEP_OUT_OF_BOUNDS);
	set_up(2, STACK + 41);
	CHECK_REFUSED(rule_of(CFI_FP, 16, -16), STEP_BAD);
	// the stack pointer itself outside
	set_up(2, 0);
	fixture.registers.sp = STACK - 64;
	CHECK_REFUSED(rule_of(CFI_SP, 8, 0), STEP_OUT_OF_BOUNDS);
	CHECK_REFUSED(rule_of(CFI_SP, 64, 0), STEP_OUT_OF_BOUNDS); // the CFA is the span's start: its word is below
	// a return address of 0
	set_up(2, 0);
	fixture.words[2] = 0;
	CHECK_REFUSED(rule_of(CFI_SP, 8, 0), STEP_END);
	// an empty span
	set_up(0, 0);
	fixture.stack.size = 0;
	CHECK_REFUSED(rule_of(CFI_SP, 8, 0), STEP_OUT_OF_BOUNDS);
	fixture.stack.size = 7;
	CHECK_REFUSED(rule_of(CFI_SP, 8, 0), STEP_OUT_OF_BOUNDS);
}

static void test_step_realigned(void)
{
	uint64_t rule =
		pack_expressions((struct expressions){ CFA_BYTES("\x76\x78\x06"), .rbp = "\x76\x00", .rbp_size = 2 });

	set_up(2, STACK + 8 * 10);
	fixture.words[9] = STACK + 8 * 20; // the CFA, spilled
	CHECK_EQUAL(step(rule), STEP_OK);
	CHECK_CALLER(0x1000 + 19, STACK + 8 * 20, 0x1000 + 10);
	set_up(2, STACK + 8 * 10);
	fixture.words[9] = STACK + 8 * 2;
	CHECK_REFUSED(rule, STEP_NO_PROGRESS);
	fixture.words[9] = STACK + 8 * 65;
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
	fixture.words[9] = STACK + 8 * 20 + 4;
	CHECK_REFUSED(rule, STEP_BAD);
	set_up(2, STACK); // the spilled CFA below the span
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
	set_up(2, STACK + 8 * 64); // the saved rbp above it
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
}

static void test_step_plt(void)
{
	uint64_t rule = PACK_CFA("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");

	set_up(2, 0x55);
	fixture.registers.pc = 0x401020 + 10;
	CHECK_EQUAL(step(rule), STEP_OK);
	CHECK_CALLER(0x1000 + 2, STACK + 8 * 3, 0x55);
	set_up(2, 0x55);
	fixture.registers.pc = 0x401020 + 11; // behind the push
	CHECK_EQUAL(step(rule), STEP_OK);
	CHECK_CALLER(0x1000 + 3, STACK + 8 * 4, 0x55);
	set_up(64, 0x55);
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
}

static void test_step_signal(void)
{
	uint64_t rule = pack_expressions((struct expressions){
		.cfa = "\x77\xa0\x01\x06",
		.cfa_size = 4,
		.rbp = "\x77\xf8\x00",
		.rbp_size = 3,
		.ra = "\x77\xa8\x01",
		.ra_size = 3,
		.is_signal_frame = true,
	});

	set_up(2, 0);
	fixture.words[2 + 20] = STACK + 8 * 40; // uc_mcontext.gregs[REG_RSP], at byte 160 of the ucontext
	CHECK_EQUAL(step(rule), STEP_OK);
	CHECK_CALLER(0x1000 + 2 + 21, STACK + 8 * 40, 0x1000 + 2 + 15);
	CHECK(fixture.exact);

	set_up(2, 0); // interrupted on another stack, above or below
	fixture.words[2 + 20] = STACK + 8 * 65;
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
	fixture.words[2 + 20] = STACK - 8;
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
	fixture.words[2 + 20] = STACK + 8 * 2; // the same place
	CHECK_REFUSED(rule, STEP_NO_PROGRESS);
	fixture.words[2 + 20] = STACK + 8;
	CHECK_REFUSED(rule, STEP_NO_PROGRESS);
	fixture.words[2 + 20] = STACK + 8 * 40 + 1;
	CHECK_REFUSED(rule, STEP_BAD);
	fixture.words[2 + 20] = STACK + 8 * 40;
	fixture.words[2 + 21] = 0; // a call through a null pointer
	CHECK_REFUSED(rule, STEP_END);
	set_up(43, 0); // a context cut off by the end
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
	set_up(42, 0);
	fixture.words[42 + 20] = STACK + 8 * 64;
	CHECK_EQUAL(step(rule), STEP_OK);
	set_up(2, 0);
	fixture.registers.sp = STACK - 64;
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
}

static void test_step_frame_pointer(void)
{
	uint64_t rule = unwind_rule_pack(CFI_NO_ENTRY, NULL, NULL, 0);

	set_up(2, STACK + 8 * 5);
	CHECK_EQUAL(step(rule), STEP_OK);
	CHECK_CALLER(0x1000 + 6, STACK + 8 * 7, 0x1000 + 5);
	set_up(2, STACK + 8 * 2); // at the stack pointer
	CHECK_EQUAL(step(rule), STEP_OK);
	CHECK_CALLER(0x1000 + 3, STACK + 8 * 4, 0x1000 + 2);
	set_up(2, STACK + 8); // below it
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
	set_up(2, STACK + 8 * 63);
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
	set_up(2, UINT64_MAX - 7);
	CHECK_REFUSED(rule, STEP_OUT_OF_BOUNDS);
	set_up(2, STACK + 8 * 5 + 1);
	CHECK_REFUSED(rule, STEP_BAD);
	set_up(2, 0); // the outermost frame, says the ABI
	CHECK_REFUSED(rule, STEP_END);
}

static void test_step_others(void)
{
	set_up(2, 0);
	CHECK_REFUSED(0, STEP_BAD);
	CHECK_REFUSED((uint64_t)UNWIND_END << 60, STEP_END);
	CHECK_REFUSED((uint64_t)UNWIND_SLOW << 60, STEP_SLOW);
	CHECK_REFUSED((uint64_t)UNWIND_NO_INFO << 60, STEP_BAD);
	CHECK_REFUSED((uint64_t)UNWIND_BAD << 60, STEP_BAD);
	CHECK_REFUSED(UINT64_C(0xf) << 60, STEP_BAD);
}

// Whatever rule and registers are: no read outside (the sanitizer sees to that), and the stack pointer only moves up.
static void test_any_rule(void)
{
	uint64_t state = 88172645463325252u;

	for (unsigned i = 0; i < 1000000; i++) {
		uint64_t rule, old_sp;

		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		if (i % 64 == 0)
			set_up(state % 70, STACK + (state >> 32) % 600);
		// kind; offset from -16 to 15 words, or any; slot from 0 to 15, or any
		rule = (state >> 60) << 60 | (state & 0xf) << 8 |
		       ((state & 0x10) ? state >> 20 & 0xf : 0x3ffff0 | (state >> 20 & 0xf)) << 24;
		if (state % 61 == 0)
			rule = state;
		fixture.words[state % 64] = STACK + (state >> 20) % 640;
		old_sp = fixture.registers.sp;
		if (step(rule) == STEP_OK) {
			CHECK(fixture.registers.sp > old_sp && fixture.registers.sp <= STACK + sizeof fixture.words);
			CHECK(fixture.registers.pc != 0);
		}
	}
}

int main(void)
{
	test_pack_registers();
	test_pack_return_address();
	test_pack_results();
	test_pack_realigned();
	test_pack_plt();
	test_pack_signal();
	test_step_sp_and_bp();
	test_step_realigned();
	test_step_plt();
	test_step_signal();
	test_step_frame_pointer();
	test_step_others();
	test_any_rule();
	return CHECK_RESULT();
}
