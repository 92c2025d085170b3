// SPDX-License-Identifier: Apache-2.0
// The stack machine of DWARF expressions. Runs in hooks, on the target's stacks: no calls out, little stack, bounded
// time. All values are 64-bit; arithmetic wraps (DWARF 5 §2.5.1.4).
#include "unwind/expression.h"
#include "unwind/cfi.h"
#include "unwind/span_reader.h"
#include "unwind/stack_word.h"

// Numbers: DWARF 5 §7.7.1.
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

#define MACHINE_DEPTH  16
#define OPERATIONS_MAX 100

struct machine {
	struct span_reader reader;
	uint64_t begin; // offset of the expression's first byte, which no branch may pass
	const struct memory_span *stack;
	const struct full_registers *registers;
	unsigned depth;
	uint64_t values[MACHINE_DEPTH];
};

static enum step_result push(struct machine *machine, uint64_t value)
{
	if (machine->depth == MACHINE_DEPTH)
		return STEP_BAD;
	machine->values[machine->depth++] = value;
	return STEP_OK;
}

// The value `down` places below the top. pre: down < depth.
static uint64_t *value_at(struct machine *machine, unsigned down)
{
	return &machine->values[machine->depth - 1 - down];
}

static enum step_result push_register(struct machine *machine, uint64_t dwarf_number, int64_t offset)
{
#define X(name, number) [CFI_##name] = (number),
	static const uint8_t dwarf_numbers[CFI_REGISTERS] = { HS_CFI_REGISTERS(X) };
#undef X

	for (unsigned i = 0; i < CFI_REGISTERS; i++)
		if (dwarf_numbers[i] == dwarf_number && machine->registers->known & 1u << i)
			return push(machine, machine->registers->value[i] + (uint64_t)offset);
	return STEP_BAD;
}

// Replaces the address on top by the `size` bytes there.
static enum step_result dereference(struct machine *machine, unsigned size)
{
	uint64_t *top = value_at(machine, 0);
	uint64_t offset = *top - machine->stack->address;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return STEP_BAD;
	if (offset > machine->stack->size || machine->stack->size - offset < size)
		return STEP_OUT_OF_BOUNDS;
	*top = 0;
	for (unsigned i = 0; i < size; i++)
		*top |= (uint64_t)machine->stack->bytes[offset + i] << 8 * i;
	return STEP_OK;
}

static enum step_result branch(struct machine *machine, bool taken)
{
	// The distance is from the end of its own two bytes.
	uint64_t distance = span_reader_signed(&machine->reader, 2);
	uint64_t target = machine->reader.offset + distance;

	if (!taken)
		return STEP_OK;
	if (target < machine->begin || target > machine->reader.end)
		return STEP_BAD;
	machine->reader.offset = target;
	return STEP_OK;
}

// Arithmetic right shift; what is shifted out completely leaves copies of the sign.
static uint64_t shift_right_signed(uint64_t value, uint64_t count)
{
	return (uint64_t)((int64_t)value >> (count < 63 ? count : 63));
}

// Replaces the two values on top by one. Comparisons are signed.
static enum step_result combine(struct machine *machine, uint8_t opcode)
{
	uint64_t right = *value_at(machine, 0), left = *value_at(machine, 1);
	int64_t signed_right = (int64_t)right, signed_left = (int64_t)left;
	uint64_t value;

	switch (opcode) {
	case OP_AND:
		value = left & right;
		break;
	case OP_OR:
		value = left | right;
		break;
	case OP_XOR:
		value = left ^ right;
		break;
	case OP_PLUS:
		value = left + right;
		break;
	case OP_MINUS:
		value = left - right;
		break;
	case OP_MUL:
		value = left * right;
		break;
	case OP_SHL:
		value = right < 64 ? left << right : 0;
		break;
	case OP_SHR:
		value = right < 64 ? left >> right : 0;
		break;
	case OP_SHRA:
		value = shift_right_signed(left, right);
		break;
	case OP_EQ:
		value = left == right;
		break;
	case OP_NE:
		value = left != right;
		break;
	case OP_GE:
		value = signed_left >= signed_right;
		break;
	case OP_GT:
		value = signed_left > signed_right;
		break;
	case OP_LE:
		value = signed_left <= signed_right;
		break;
	case OP_LT:
		value = signed_left < signed_right;
		break;
	default:
		return STEP_BAD;
	}
	machine->depth--;
	*value_at(machine, 0) = value;
	return STEP_OK;
}

// Operations that take nothing from the machine. *done_ret is false when `opcode` is none of them.
static enum step_result step_constant(struct machine *machine, uint8_t opcode, bool *done_ret)
{
	struct span_reader *reader = &machine->reader;

	*done_ret = true;
	if (opcode >= OP_LIT0 && opcode <= OP_LIT31)
		return push(machine, opcode - OP_LIT0);
	if (opcode >= OP_BREG0 && opcode <= OP_BREG31)
		return push_register(machine, opcode - OP_BREG0, span_reader_sleb(reader));
	switch (opcode) {
	case OP_CONST1U:
		return push(machine, span_reader_unsigned(reader, 1));
	case OP_CONST1S:
		return push(machine, span_reader_signed(reader, 1));
	case OP_CONST2U:
		return push(machine, span_reader_unsigned(reader, 2));
	case OP_CONST2S:
		return push(machine, span_reader_signed(reader, 2));
	case OP_CONST4U:
		return push(machine, span_reader_unsigned(reader, 4));
	case OP_CONST4S:
		return push(machine, span_reader_signed(reader, 4));
	case OP_CONST8U:
	case OP_CONST8S:
		return push(machine, span_reader_unsigned(reader, 8));
	case OP_CONSTU:
		return push(machine, span_reader_uleb(reader));
	case OP_CONSTS:
		return push(machine, (uint64_t)span_reader_sleb(reader));
	case OP_BREGX: {
		uint64_t dwarf_number = span_reader_uleb(reader);

		return push_register(machine, dwarf_number, span_reader_sleb(reader));
	}
	case OP_SKIP:
		return branch(machine, true);
	case OP_NOP:
		return STEP_OK;
	default:
		*done_ret = false;
		return STEP_OK;
	}
}

// How many values the other operations need; 0 for those that this machine does not know.
static unsigned operands_of(uint8_t opcode)
{
	switch (opcode) {
	case OP_DEREF:
	case OP_DEREF_SIZE:
	case OP_DUP:
	case OP_DROP:
	case OP_PICK:
	case OP_NEG:
	case OP_NOT:
	case OP_PLUS_UCONST:
	case OP_BRA:
		return 1;
	case OP_ROT:
		return 3;
	case OP_OVER:
	case OP_SWAP:
	case OP_AND:
	case OP_MINUS:
	case OP_MUL:
	case OP_OR:
	case OP_PLUS:
	case OP_SHL:
	case OP_SHR:
	case OP_SHRA:
	case OP_XOR:
	case OP_EQ:
	case OP_GE:
	case OP_GT:
	case OP_LE:
	case OP_LT:
	case OP_NE:
		return 2;
	default:
		return 0;
	}
}

static enum step_result step(struct machine *machine, uint8_t opcode)
{
	struct span_reader *reader = &machine->reader;
	bool done;
	enum step_result result = step_constant(machine, opcode, &done);
	unsigned operands;
	uint64_t saved;

	if (done)
		return result;
	operands = operands_of(opcode);
	if (operands == 0 || machine->depth < operands)
		return STEP_BAD;
	switch (opcode) {
	case OP_DEREF:
		return dereference(machine, 8);
	case OP_DEREF_SIZE:
		return dereference(machine, span_reader_u8(reader));
	case OP_DUP:
		return push(machine, *value_at(machine, 0));
	case OP_DROP:
		machine->depth--;
		return STEP_OK;
	case OP_OVER:
		return push(machine, *value_at(machine, 1));
	case OP_PICK: {
		unsigned down = span_reader_u8(reader);

		return down < machine->depth ? push(machine, *value_at(machine, down)) : STEP_BAD;
	}
	case OP_SWAP:
		saved = *value_at(machine, 0);
		*value_at(machine, 0) = *value_at(machine, 1);
		*value_at(machine, 1) = saved;
		return STEP_OK;
	case OP_ROT: // the top goes below the two others
		saved = *value_at(machine, 0);
		*value_at(machine, 0) = *value_at(machine, 1);
		*value_at(machine, 1) = *value_at(machine, 2);
		*value_at(machine, 2) = saved;
		return STEP_OK;
	case OP_NEG:
		*value_at(machine, 0) = -*value_at(machine, 0);
		return STEP_OK;
	case OP_NOT:
		*value_at(machine, 0) = ~*value_at(machine, 0);
		return STEP_OK;
	case OP_PLUS_UCONST:
		*value_at(machine, 0) += span_reader_uleb(reader);
		return STEP_OK;
	case OP_BRA:
		saved = *value_at(machine, 0);
		machine->depth--;
		return branch(machine, saved != 0);
	default:
		return combine(machine, opcode);
	}
}

enum step_result expression_evaluate(const struct memory_span *code, uint64_t expression, uint64_t size,
				     const struct memory_span *stack, const struct full_registers *registers,
				     const uint64_t *initial, uint64_t *ret)
{
	uint64_t begin = expression - code->address;
	struct machine machine; // values above depth stay unset

	if (begin > code->size || size > code->size - begin)
		return STEP_BAD;
	machine.reader = span_reader_make(code, begin, begin + size);
	machine.begin = begin;
	machine.stack = stack;
	machine.registers = registers;
	machine.depth = 0;
	if (initial)
		push(&machine, *initial);
	for (unsigned count = 0; machine.reader.offset < machine.reader.end; count++) {
		enum step_result result;

		if (count == OPERATIONS_MAX)
			return STEP_BAD;
		result = step(&machine, span_reader_u8(&machine.reader));
		if (machine.reader.failed)
			return STEP_BAD;
		if (result != STEP_OK)
			return result;
	}
	if (machine.depth == 0)
		return STEP_BAD;
	*ret = *value_at(&machine, 0);
	return STEP_OK;
}
