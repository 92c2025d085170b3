// SPDX-License-Identifier: Apache-2.0
// Operands: Intel SDM volume 2; what Zydis says of them.
#include "attach/arch/value_step.h"

#include "attach/arch/instruction.h"

// The number that encodes a general register; REGISTER_NONE = it is none.
static uint8_t number_of(ZydisRegister name)
{
	const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? (uint8_t)ZydisRegisterGetId(whole)
								    : REGISTER_NONE;
}

static bool is_register(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && number_of(operand->reg.value) != REGISTER_NONE;
}

static bool is_constant(const ZydisDecodedOperand *operand) { return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE; }

static bool is_memory(const ZydisDecodedOperand *operand) { return operand->type == ZYDIS_OPERAND_TYPE_MEMORY; }

static register_bits bit_of(uint8_t number) { return (register_bits)(number == REGISTER_NONE ? 0u : 1u << number); }

static void read_memory(const ZydisDecodedOperand *operand, struct value_step *step)
{
	step->has_memory = true;
	step->memory_is_written = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	step->base = number_of(operand->mem.base);
	step->is_indexed = operand->mem.index != ZYDIS_REGISTER_NONE;
	step->displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	step->memory_size = (uint8_t)(operand->size / 8 < 255 ? operand->size / 8 : 255);
	// Of a segment: thread-local, at a place that is not this function's.
	if (operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS) {
		step->base = REGISTER_NONE;
		step->is_indexed = false;
	}
}

static void read_operands(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
			  struct value_step *step)
{
	for (unsigned i = 0; i < decoded->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (is_register(operand)) {
			const register_bits bit = bit_of(number_of(operand->reg.value));

			step->reads |= operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? bit : 0;
			step->writes |= operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? bit : 0;
		} else if (is_memory(operand) && operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
			   (!step->has_memory || operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
			read_memory(operand, step);
		}
	}
}

// A whole register, or its lower half, which clears the other.
static bool is_wide(const ZydisDecodedOperand *operand) { return operand->size >= 32; }

static void set(struct value_step *step, enum value_effect effect, uint8_t to, uint8_t from, int64_t constant)
{
	step->effect = effect;
	step->to = to;
	step->from = from;
	step->constant = constant;
}

static void read_move(const ZydisDecodedOperand *operands, struct value_step *step)
{
	const ZydisDecodedOperand *to = &operands[0], *from = &operands[1];

	if (is_register(to) && is_wide(to)) {
		if (is_register(from) && is_wide(from))
			set(step, EFFECT_COPY, number_of(to->reg.value), number_of(from->reg.value), 0);
		else if (is_constant(from))
			set(step, EFFECT_CONSTANT, number_of(to->reg.value), REGISTER_NONE, from->imm.value.s);
		else if (is_memory(from))
			set(step, EFFECT_LOAD, number_of(to->reg.value), REGISTER_NONE, 0);
	} else if (is_memory(to) && is_register(from)) {
		set(step, EFFECT_STORE, REGISTER_NONE, number_of(from->reg.value), 0);
	} else if (is_memory(to) && is_constant(from)) {
		set(step, EFFECT_STORE, REGISTER_NONE, REGISTER_NONE, from->imm.value.s);
	}
}

// lea: a sum of registers, the first of them perhaps with a constant.
static void read_address(const ZydisDecodedOperand *operands, struct value_step *step)
{
	const ZydisDecodedOperand *address = &operands[1];
	const uint8_t to = number_of(operands[0].reg.value), base = number_of(address->mem.base),
		      index = number_of(address->mem.index);

	step->reads = (register_bits)(bit_of(base) | bit_of(index));
	step->has_memory = false;
	step->is_scaled = index != REGISTER_NONE && (address->mem.scale > 1 || index == base);
	if (base == REGISTER_NONE && index == REGISTER_NONE)
		set(step, EFFECT_CONSTANT, to, REGISTER_NONE, INT64_MIN); // an address in the module
	else if (index == REGISTER_NONE)
		set(step, EFFECT_COPY, to, base, address->mem.disp.value);
	else if (base == REGISTER_NONE && address->mem.scale == 1)
		set(step, EFFECT_COPY, to, index, address->mem.disp.value);
}

// add, sub, inc, dec of a register by a constant.
static void read_sum(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
		     struct value_step *step)
{
	const bool is_step = decoded->mnemonic == ZYDIS_MNEMONIC_INC || decoded->mnemonic == ZYDIS_MNEMONIC_DEC;
	const bool is_less = decoded->mnemonic == ZYDIS_MNEMONIC_SUB || decoded->mnemonic == ZYDIS_MNEMONIC_DEC;
	const int64_t constant = is_step ? 1 : is_constant(&operands[1]) ? operands[1].imm.value.s : 0;
	const uint8_t to = is_register(&operands[0]) ? number_of(operands[0].reg.value) : REGISTER_NONE;

	if (to == REGISTER_NONE || !is_wide(&operands[0]))
		return;
	if (is_step || is_constant(&operands[1]))
		set(step, EFFECT_COPY, to, to, is_less ? -constant : constant);
	else if (is_register(&operands[1]) && number_of(operands[1].reg.value) == to && is_less)
		set(step, EFFECT_CONSTANT, to, REGISTER_NONE, 0);
	else if (is_register(&operands[1]) && number_of(operands[1].reg.value) == to)
		step->is_scaled = true;
}

static bool is_same_register(const ZydisDecodedOperand *operands)
{
	return is_register(&operands[0]) && is_register(&operands[1]) && operands[0].reg.value == operands[1].reg.value;
}

static void read_test(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
		      struct value_step *step)
{
	const bool is_compared =
		decoded->mnemonic == ZYDIS_MNEMONIC_CMP && is_constant(&operands[1]) && operands[1].imm.value.s == 0;

	set(step, EFFECT_NONE, REGISTER_NONE, REGISTER_NONE, 0);
	step->is_test = operands[0].size == 64 &&
			(is_compared || (decoded->mnemonic == ZYDIS_MNEMONIC_TEST && is_same_register(operands)));
	if (step->is_test && is_register(&operands[0]))
		step->from = number_of(operands[0].reg.value);
}

static void read_product(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
			 struct value_step *step)
{
	for (unsigned i = 0; i < decoded->operand_count_visible; i++)
		step->is_scaled |= is_constant(&operands[i]);
}

static void read_effect(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
			struct value_step *step)
{
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
		read_move(operands, step);
		break;
	case ZYDIS_MNEMONIC_LEA:
		read_address(operands, step);
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		read_sum(decoded, operands, step);
		break;
	case ZYDIS_MNEMONIC_XOR:
		if (is_same_register(operands) && is_wide(&operands[0]))
			set(step, EFFECT_CONSTANT, number_of(operands[0].reg.value), REGISTER_NONE, 0);
		break;
	case ZYDIS_MNEMONIC_CDQE:
		set(step, EFFECT_COPY, REGISTER_RESULT, REGISTER_RESULT, 0);
		break;
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_CMP:
		read_test(decoded, operands, step);
		break;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_IMUL:
		read_product(decoded, operands, step);
		break;
	case ZYDIS_MNEMONIC_PUSH:
		set(step, EFFECT_PUSH, REGISTER_NONE,
		    is_register(&operands[0]) ? number_of(operands[0].reg.value) : REGISTER_NONE, 0);
		break;
	case ZYDIS_MNEMONIC_POP:
		set(step, EFFECT_POP, is_register(&operands[0]) ? number_of(operands[0].reg.value) : REGISTER_NONE,
		    REGISTER_NONE, 0);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		set(step, EFFECT_LEAVE, REGISTER_NONE, REGISTER_NONE, 0);
		break;
	default:
		break;
	}
}

static void read_condition(const ZydisDecodedInstruction *decoded, struct value_step *step)
{
	step->jumps_if_zero = decoded->mnemonic == ZYDIS_MNEMONIC_JZ;
	step->jumps_unless_zero = decoded->mnemonic == ZYDIS_MNEMONIC_JNZ;
}

static bool keeps_flags(const ZydisDecodedInstruction *decoded)
{
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_CMOV:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return true;
	default:
		return decoded->mnemonic == ZYDIS_MNEMONIC_LEA || decoded->mnemonic == ZYDIS_MNEMONIC_LEAVE;
	}
}

bool value_step_decode(const uint8_t *code, size_t size, struct value_step *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;

	*ret = (struct value_step){ .to = REGISTER_NONE, .from = REGISTER_NONE, .base = REGISTER_NONE };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &decoded, operands)))
		return false;
	read_operands(&decoded, operands, ret);
	ret->keeps_flags = keeps_flags(&decoded);
	read_condition(&decoded, ret);
	if (decoded.meta.category == ZYDIS_CATEGORY_NOP || decoded.meta.category == ZYDIS_CATEGORY_WIDENOP) {
		ret->writes = ret->reads = 0;
		ret->has_memory = false;
		return true;
	}
	ret->effect = EFFECT_MIX;
	read_effect(&decoded, operands, ret);
	if (decoded.meta.category == ZYDIS_CATEGORY_CMOV && is_register(&operands[1]))
		set(ret, EFFECT_JOIN, number_of(operands[0].reg.value), number_of(operands[1].reg.value), 0);
	return true;
}
