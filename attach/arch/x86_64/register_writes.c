// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/register_writes.h"

#include <Zydis/Zydis.h>

static bool is_vector(ZydisRegister name)
{
	switch (ZydisRegisterGetClass(name)) {
	case ZYDIS_REGCLASS_INVALID:
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
	case ZYDIS_REGCLASS_FLAGS:
	case ZYDIS_REGCLASS_IP:
	case ZYDIS_REGCLASS_SEGMENT:
		return false;
	default:
		return true;
	}
}

// Instructions of these have such state as operands that the decoder does not name (vzeroupper, fxrstor, emms).
static bool has_vector_state(ZydisInstructionCategory category)
{
	switch (category) {
	case ZYDIS_CATEGORY_AVX:
	case ZYDIS_CATEGORY_MMX:
	case ZYDIS_CATEGORY_SSE:
	case ZYDIS_CATEGORY_X87_ALU:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
		return true;
	default:
		return false;
	}
}

// The number that encodes a general register; -1 = it is none.
static int number_of(ZydisRegister name)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(whole) : -1;
}

void register_writes_decode(const uint8_t *code, size_t size, struct register_writes *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;

	*ret = (struct register_writes){ 0 };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &decoded, operands)))
		return;
	ret->has_vectors = has_vector_state(decoded.meta.category);
	for (unsigned i = 0; i < decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		int number;

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		ret->has_vectors |= is_vector(operand->reg.value);
		number = number_of(operand->reg.value);
		if (number < 0)
			continue;
		if (decoded.mnemonic == ZYDIS_MNEMONIC_PUSH && i == 0)
			ret->pushed |= (uint16_t)(1u << number);
		if (decoded.mnemonic == ZYDIS_MNEMONIC_POP && i == 0)
			ret->popped |= (uint16_t)(1u << number);
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			ret->general |= (uint16_t)(1u << number);
	}
	// The memory operand of a gather has vectors for an index; so does whatever else the decoder says of memory.
	for (unsigned i = 0; i < decoded.operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			ret->has_vectors |= is_vector(operands[i].mem.index);
}
