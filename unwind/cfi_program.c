// SPDX-License-Identifier: Apache-2.0
// The interpreter of call frame instructions (DWARF 5 §6.4.2). Runs in hooks, on the target's stacks, some of them 16
// KiB in all: so rules are kept in 8 bytes while it runs, and the stack of remembered states is short.
#include "unwind/cfi_entry.h"

// Numbers: DWARF 5 §7.24; the GNU ones: LSB, "DWARF Extensions", and GCC's unwind-dw2.c.
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0, // operand in the low 6 bits
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

// Nesting of remember_state. Compilers use one level, shrink-wrapped or hand-written code two.
#define REMEMBERED_MAX 6

// A rule while the program runs. kind: enum cfi_rule_kind.
//   AT_OFFSET, IS_OFFSET           value = the offset, as 32-bit pattern
//   IN_REGISTER                    value = DWARF number
//   AT_EXPRESSION, IS_EXPRESSION   value = offset of its first byte from the span's start, size = its bytes
// The CFA's own rule is IS_OFFSET with its DWARF register in `size`, or IS_EXPRESSION; SAME = not yet given.
struct small_rule {
	uint32_t value;
	uint16_t size;
	uint8_t kind;
};
_Static_assert(sizeof(struct small_rule) == 8, "small_rule is 8 bytes");
_Static_assert(CFI_SAME == 0, "a zeroed state means: every register keeps its value");

struct state {
	struct small_rule cfa;
	struct small_rule registers[CFI_REGISTERS];
};

struct program {
	const struct memory_span *span;
	const struct cfi_cie *cie;
	uint64_t location; // first pc of the row that `current` is
	uint64_t pc;       // the row that covers it is wanted
	struct state current;
	struct state initial; // what the CIE leaves, for restore
	unsigned remembered_count;
	struct state remembered[REMEMBERED_MAX];
};

// CFI_* index of a DWARF register number, or -1.
static int register_index(uint64_t dwarf_number)
{
	switch (dwarf_number) {
#define X(name, number)                                                                                                \
	case number:                                                                                                   \
		return CFI_##name;
		HS_CFI_REGISTERS(X)
#undef X
	default:
		return -1;
	}
}

static enum cfi_result to_int32(int64_t value, uint32_t *ret)
{
	*ret = (uint32_t)value;
	return value == (int32_t)value ? CFI_OK : CFI_UNSUPPORTED;
}

// offset * data alignment, which must be a 32-bit number.
static enum cfi_result factored(const struct program *program, int64_t offset, uint32_t *ret)
{
	int64_t product;

	if (__builtin_mul_overflow(offset, program->cie->data_alignment, &product))
		return CFI_MALFORMED;
	return to_int32(product, ret);
}

static void set_rule(struct program *program, uint64_t dwarf_number, uint8_t kind, uint32_t value, uint16_t size)
{
	int index = register_index(dwarf_number);

	if (index >= 0)
		program->current.registers[index] = (struct small_rule){ value, size, kind };
}

static enum cfi_result set_factored(struct program *program, uint64_t dwarf_number, uint8_t kind, int64_t offset)
{
	uint32_t value;
	enum cfi_result result = factored(program, offset, &value);

	if (result == CFI_OK)
		set_rule(program, dwarf_number, kind, value, 0);
	return result;
}

// Unsigned operands are also factored as signed numbers: one beyond 2^63 is nonsense.
static enum cfi_result set_factored_unsigned(struct program *program, uint64_t dwarf_number, uint8_t kind,
					     uint64_t offset)
{
	return offset <= INT64_MAX ? set_factored(program, dwarf_number, kind, (int64_t)offset) : CFI_MALFORMED;
}

static void set_cfa_register(struct program *program, uint64_t dwarf_number)
{
	program->current.cfa.kind = CFI_IS_OFFSET;
	program->current.cfa.size = dwarf_number < UINT16_MAX ? (uint16_t)dwarf_number : UINT16_MAX;
}

static enum cfi_result set_cfa_offset(struct program *program, uint64_t offset)
{
	return offset <= INT64_MAX ? to_int32((int64_t)offset, &program->current.cfa.value) : CFI_MALFORMED;
}

// Reads the operand of the expression instructions: a length and that many bytes.
static enum cfi_result read_block(struct span_reader *reader, uint8_t kind, struct small_rule *ret)
{
	uint64_t size = span_reader_uleb(reader);
	uint64_t offset = reader->offset;

	if (!span_reader_take(reader, size))
		return CFI_MALFORMED;
	if (size > UINT16_MAX || offset > UINT32_MAX)
		return CFI_UNSUPPORTED;
	*ret = (struct small_rule){ (uint32_t)offset, (uint16_t)size, kind };
	return CFI_OK;
}

static enum cfi_result set_expression(struct program *program, struct span_reader *reader, uint64_t dwarf_number,
				      uint8_t kind)
{
	int index = register_index(dwarf_number);
	struct small_rule rule;
	enum cfi_result result = read_block(reader, kind, &rule);

	if (result == CFI_OK && index >= 0)
		program->current.registers[index] = rule;
	return result;
}

static enum cfi_result advance(struct program *program, uint64_t delta)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, program->cie->code_alignment, &bytes) ||
	    __builtin_add_overflow(program->location, bytes, &program->location))
		return CFI_MALFORMED;
	return CFI_OK;
}

static enum cfi_result restore(struct program *program, uint64_t dwarf_number)
{
	int index = register_index(dwarf_number);

	if (index >= 0)
		program->current.registers[index] = program->initial.registers[index];
	return CFI_OK;
}

// The instructions whose first operand is a register number.
static enum cfi_result change_register(struct program *program, struct span_reader *reader, uint8_t opcode)
{
	uint64_t number = span_reader_uleb(reader);
	uint64_t operand;

	switch (opcode) {
	case CFA_OFFSET_EXTENDED:
		return set_factored_unsigned(program, number, CFI_AT_OFFSET, span_reader_uleb(reader));
	case CFA_OFFSET_EXTENDED_SF:
		return set_factored(program, number, CFI_AT_OFFSET, span_reader_sleb(reader));
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		operand = span_reader_uleb(reader);
		if (operand > INT64_MAX)
			return CFI_MALFORMED;
		return set_factored(program, number, CFI_AT_OFFSET, -(int64_t)operand);
	case CFA_VAL_OFFSET:
		return set_factored_unsigned(program, number, CFI_IS_OFFSET, span_reader_uleb(reader));
	case CFA_VAL_OFFSET_SF:
		return set_factored(program, number, CFI_IS_OFFSET, span_reader_sleb(reader));
	case CFA_UNDEFINED:
		set_rule(program, number, CFI_UNDEFINED, 0, 0);
		return CFI_OK;
	case CFA_SAME_VALUE:
		set_rule(program, number, CFI_SAME, 0, 0);
		return CFI_OK;
	case CFA_REGISTER:
		operand = span_reader_uleb(reader);
		set_rule(program, number, CFI_IN_REGISTER, operand < UINT32_MAX ? (uint32_t)operand : UINT32_MAX, 0);
		return CFI_OK;
	case CFA_EXPRESSION:
		return set_expression(program, reader, number, CFI_AT_EXPRESSION);
	case CFA_VAL_EXPRESSION:
		return set_expression(program, reader, number, CFI_IS_EXPRESSION);
	case CFA_RESTORE_EXTENDED:
		return restore(program, number);
	default:
		return CFI_UNSUPPORTED; // among them GNU_window_save, of SPARC and AArch64 only
	}
}

static enum cfi_result change_cfa(struct program *program, struct span_reader *reader, uint8_t opcode)
{
	struct small_rule *cfa = &program->current.cfa;

	switch (opcode) {
	case CFA_DEF_CFA:
		set_cfa_register(program, span_reader_uleb(reader));
		return set_cfa_offset(program, span_reader_uleb(reader));
	case CFA_DEF_CFA_SF:
		set_cfa_register(program, span_reader_uleb(reader));
		return factored(program, span_reader_sleb(reader), &cfa->value);
	case CFA_DEF_CFA_EXPRESSION:
		return read_block(reader, CFI_IS_EXPRESSION, cfa);
	}
	// The others change one half of a CFA that is register + offset (DWARF 5 §6.4.2.2: valid only then).
	if (cfa->kind != CFI_IS_OFFSET)
		return CFI_MALFORMED;
	switch (opcode) {
	case CFA_DEF_CFA_REGISTER:
		set_cfa_register(program, span_reader_uleb(reader));
		return CFI_OK;
	case CFA_DEF_CFA_OFFSET:
		return set_cfa_offset(program, span_reader_uleb(reader));
	default: // CFA_DEF_CFA_OFFSET_SF
		return factored(program, span_reader_sleb(reader), &cfa->value);
	}
}

// Runs [begin, end) until the location passes program->pc. Each turn uses up a byte, so it ends.
// Longer than 60 lines: a case for each opcode.
static enum cfi_result run(struct program *program, uint64_t begin, uint64_t end)
{
	struct span_reader reader = span_reader_make(program->span, begin, end);

	while (reader.offset < reader.end) {
		uint8_t opcode = span_reader_u8(&reader);
		uint8_t operand = opcode & 0x3f;
		enum cfi_result result = CFI_OK;

		if (opcode & 0xc0)
			opcode &= 0xc0;
		switch (opcode) {
		case CFA_NOP:
			break;
		case CFA_ADVANCE_LOC:
			result = advance(program, operand);
			break;
		case CFA_ADVANCE_LOC1:
			result = advance(program, span_reader_unsigned(&reader, 1));
			break;
		case CFA_ADVANCE_LOC2:
			result = advance(program, span_reader_unsigned(&reader, 2));
			break;
		case CFA_ADVANCE_LOC4:
			result = advance(program, span_reader_unsigned(&reader, 4));
			break;
		case CFA_SET_LOC:
			result = cfi_read_pointer(&reader, program->cie->pointer_encoding, 0, &program->location);
			break;
		case CFA_OFFSET:
			result = set_factored_unsigned(program, operand, CFI_AT_OFFSET, span_reader_uleb(&reader));
			break;
		case CFA_RESTORE:
			result = restore(program, operand);
			break;
		case CFA_REMEMBER_STATE:
			if (program->remembered_count == REMEMBERED_MAX)
				return CFI_UNSUPPORTED;
			program->remembered[program->remembered_count++] = program->current;
			break;
		case CFA_RESTORE_STATE: // the CFA too, as GCC's unwinder does and its code relies on
			if (program->remembered_count == 0)
				return CFI_MALFORMED;
			program->current = program->remembered[--program->remembered_count];
			break;
		case CFA_DEF_CFA:
		case CFA_DEF_CFA_SF:
		case CFA_DEF_CFA_REGISTER:
		case CFA_DEF_CFA_OFFSET:
		case CFA_DEF_CFA_OFFSET_SF:
		case CFA_DEF_CFA_EXPRESSION:
			result = change_cfa(program, &reader, opcode);
			break;
		case CFA_GNU_ARGS_SIZE: // bytes of pushed arguments: for landing pads, not for a walk
			span_reader_uleb(&reader);
			break;
		default:
			result = change_register(program, &reader, opcode);
		}
		if (reader.failed)
			return CFI_MALFORMED;
		if (result != CFI_OK)
			return result;
		if (program->location > program->pc)
			return CFI_OK;
	}
	return reader.failed ? CFI_MALFORMED : CFI_OK;
}

static enum cfi_result row_register(const struct memory_span *span, unsigned index, const struct small_rule *rule,
				    struct cfi_rule *ret)
{
	*ret = (struct cfi_rule){ .kind = rule->kind };
	if (rule->kind == CFI_IN_REGISTER) {
		int source = register_index(rule->value);

		// A register that no walk keeps: what was in it is lost to us.
		if (source < 0 && (index == CFI_RA || index == CFI_SP))
			return CFI_UNSUPPORTED;
		if (source < 0)
			ret->kind = CFI_UNDEFINED;
		else
			ret->offset = source;
	} else if (rule->kind == CFI_AT_EXPRESSION || rule->kind == CFI_IS_EXPRESSION) {
		ret->expression = span->address + rule->value;
		ret->expression_size = rule->size;
	} else {
		ret->offset = (int32_t)rule->value;
	}
	return CFI_OK;
}

static enum cfi_result row_from_state(const struct program *program, struct cfi_row *ret)
{
	const struct small_rule *cfa = &program->current.cfa;

	*ret = (struct cfi_row){ .is_signal_frame = program->cie->is_signal_frame };
	if (cfa->kind == CFI_IS_EXPRESSION) {
		ret->cfa_is_expression = true;
		ret->cfa_expression = program->span->address + cfa->value;
		ret->cfa_expression_size = cfa->size;
	} else if (cfa->kind == CFI_IS_OFFSET) {
		int index = register_index(cfa->size);

		if (index < 0)
			return CFI_UNSUPPORTED; // a scratch register, where GCC realigns a stack, for one
		ret->cfa_register = (uint8_t)index;
		ret->cfa_offset = (int32_t)cfa->value;
	} else {
		return CFI_MALFORMED;
	}
	for (unsigned i = 0; i < CFI_REGISTERS; i++) {
		enum cfi_result result =
			row_register(program->span, i, &program->current.registers[i], &ret->registers[i]);

		if (result != CFI_OK)
			return result;
	}
	return CFI_OK;
}

enum cfi_result cfi_program_run(const struct memory_span *span, const struct cfi_fde *fde, uint64_t pc,
				struct cfi_row *ret)
{
	struct program program; // not zeroed as a whole: most of it is `remembered`
	enum cfi_result result;

	program.span = span;
	program.cie = &fde->cie;
	program.location = fde->pc_begin;
	program.pc = pc;
	program.remembered_count = 0;
	program.current = (struct state){ 0 };
	program.initial = (struct state){ 0 };
	result = run(&program, fde->cie.program, fde->cie.program_end);
	if (result != CFI_OK)
		return result;
	program.initial = program.current;
	program.location = fde->pc_begin;
	result = run(&program, fde->program, fde->program_end);
	return result == CFI_OK ? row_from_state(&program, ret) : result;
}
