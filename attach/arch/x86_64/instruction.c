// SPDX-License-Identifier: Apache-2.0
// Encodings: Intel SDM volume 2, "JMP", "Jcc" and table 2-7 (RIP-relative addressing).
#include "attach/arch/instruction.h"

bool instruction_decode(const uint8_t *code, size_t size, uint64_t address, struct instruction *ret)
{
	ZydisDecoder decoder;

	ret->address = address;
	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, size, &ret->decoded));
}

bool instruction_is_branch(const struct instruction *instruction)
{
	return instruction->decoded.raw.imm[0].is_relative;
}

bool instruction_has_rip_operand(const struct instruction *instruction)
{
	return (instruction->decoded.attributes & ZYDIS_ATTRIB_IS_RELATIVE) && !instruction_is_branch(instruction);
}

static uint64_t next_address(const struct instruction *instruction)
{
	return instruction->address + instruction->decoded.length;
}

uint64_t instruction_branch_target(const struct instruction *instruction)
{
	return next_address(instruction) + (uint64_t)instruction->decoded.raw.imm[0].value.s;
}

uint64_t instruction_rip_target(const struct instruction *instruction)
{
	return next_address(instruction) + (uint64_t)instruction->decoded.raw.disp.value;
}

// Only branch hints and `bnd` may stand before a branch that is rewritten: both may be left out. An operand size
// prefix, say, changes what the branch does.
static bool has_plain_prefixes(const struct instruction *instruction)
{
	for (unsigned i = 0; i < instruction->decoded.raw.prefix_count; i++) {
		uint8_t prefix = instruction->decoded.raw.prefixes[i].value;

		if (prefix != 0x2e && prefix != 0x3e && prefix != 0xf2)
			return false;
	}
	return true;
}

bool instruction_is_movable(const struct instruction *instruction)
{
	const ZydisDecodedInstruction *decoded = &instruction->decoded;

	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_CALL:      // would leave a return address inside the trampoline on the stack
	case ZYDIS_CATEGORY_INTERRUPT: // somebody's breakpoint
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
		return false;
	default:
		break;
	}
	if (decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return false;
	if (instruction_has_rip_operand(
		    instruction)) // all forms have a displacement of 32 bits; with prefix 67 it would count from eip
		return decoded->address_width == 64 && decoded->raw.disp.size == 32;
	if (!instruction_is_branch(instruction))
		return true;
	if (!has_plain_prefixes(instruction))
		return false;
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_UNCOND_BR:
		return decoded->opcode == OPCODE_JUMP_8 || decoded->opcode == OPCODE_JUMP_32;
	case ZYDIS_CATEGORY_COND_BR: // not loop, jrcxz, xbegin
		return (decoded->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (decoded->opcode & 0xf0) == 0x70) ||
		       (decoded->opcode_map == ZYDIS_OPCODE_MAP_0F && (decoded->opcode & 0xf0) == OPCODE_CONDITION_32);
	default:
		return false;
	}
}

bool instruction_is_plain_return(const struct instruction *instruction)
{
	return instruction->decoded.meta.category == ZYDIS_CATEGORY_RET && instruction->decoded.raw.imm[0].size == 0 &&
	       instruction->decoded.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR &&
	       instruction->decoded.mnemonic == ZYDIS_MNEMONIC_RET;
}
