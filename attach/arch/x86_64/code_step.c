// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/code_step.h"

#include "attach/arch/instruction.h"

#include <string.h>

static void read_flow(const struct instruction *instruction, struct code_step *step)
{
	const ZydisDecodedInstruction *decoded = &instruction->decoded;

	step->flow = FLOW_NEXT;
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		step->flow = FLOW_CALL;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		step->flow = FLOW_JUMP;
		break;
	case ZYDIS_CATEGORY_COND_BR:
		step->flow = FLOW_CONDITION;
		break;
	case ZYDIS_CATEGORY_RET:
		step->flow = instruction_is_plain_return(instruction) ? FLOW_RETURN : FLOW_UNKNOWN;
		break;
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
		step->flow = decoded->mnemonic == ZYDIS_MNEMONIC_INT3 ? FLOW_TRAP : FLOW_UNKNOWN;
		break;
	default:
		if (decoded->mnemonic == ZYDIS_MNEMONIC_UD2 || decoded->mnemonic == ZYDIS_MNEMONIC_HLT)
			step->flow = FLOW_END;
		break;
	}
	if (decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		step->flow = FLOW_UNKNOWN;
	if (step->flow == FLOW_CALL || step->flow == FLOW_JUMP || step->flow == FLOW_CONDITION) {
		if (instruction_is_branch(instruction))
			step->target = instruction_branch_target(instruction);
		else if (instruction_has_rip_operand(instruction))
			step->slot = instruction_rip_target(instruction);
	}
}

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister name)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value) == name;
}

static bool writes(const ZydisDecodedOperand *operands, unsigned count, ZydisRegister name)
{
	for (unsigned i = 0; i < count; i++)
		if (is_register(&operands[i], name) && operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return true;
	return false;
}

// Longer than 60 lines: a case for each instruction that moves the stack pointer.
static void read_stack(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
		       struct code_step *step)
{
	bool writes_rbp = writes(operands, decoded->operand_count, ZYDIS_REGISTER_RBP);
	bool writes_rsp = writes(operands, decoded->operand_count, ZYDIS_REGISTER_RSP);

	step->stack = STACK_MOVES;
	step->changes_base = writes_rbp;
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		step->stack_change = -8;
		break;
	case ZYDIS_MNEMONIC_POP:
		step->stack_change = 8;
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		step->stack = STACK_FROM_BASE;
		step->stack_change = 8;
		return;
	case ZYDIS_MNEMONIC_MOV:
		step->sets_base =
			is_register(&operands[0], ZYDIS_REGISTER_RBP) && is_register(&operands[1], ZYDIS_REGISTER_RSP);
		if (is_register(&operands[0], ZYDIS_REGISTER_RSP)) {
			step->stack = is_register(&operands[1], ZYDIS_REGISTER_RBP) ? STACK_FROM_BASE : STACK_UNKNOWN;
			return;
		}
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (is_register(&operands[0], ZYDIS_REGISTER_RSP)) {
			bool is_plain = operands[1].mem.index == ZYDIS_REGISTER_NONE;

			step->stack = is_plain && operands[1].mem.base == ZYDIS_REGISTER_RBP   ? STACK_FROM_BASE
				      : is_plain && operands[1].mem.base == ZYDIS_REGISTER_RSP ? STACK_MOVES
											       : STACK_UNKNOWN;
			step->stack_change = operands[1].mem.disp.value;
			return;
		}
		break;
	case ZYDIS_MNEMONIC_AND:
		if (is_register(&operands[0], ZYDIS_REGISTER_RSP)) {
			bool is_known = operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
					operands[1].imm.value.s < 0 && decoded->operand_width == 64;

			step->stack = is_known ? STACK_ALIGNS : STACK_UNKNOWN;
			step->stack_change = is_known ? operands[1].imm.value.s + 1 : 0;
			return;
		}
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (is_register(&operands[0], ZYDIS_REGISTER_RSP)) {
			bool is_known = operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

			step->stack = is_known ? STACK_MOVES : STACK_UNKNOWN;
			step->stack_change = decoded->mnemonic == ZYDIS_MNEMONIC_ADD ? operands[1].imm.value.s
										     : -operands[1].imm.value.s;
			return;
		}
		break;
	default:
		if (writes_rsp)
			step->stack = STACK_UNKNOWN;
		return;
	}
	if ((step->stack_change && decoded->operand_width != 64) || is_register(&operands[0], ZYDIS_REGISTER_RSP))
		step->stack = STACK_UNKNOWN;
}

// A copy of rsp is the address of what it points to. A pop counts from the rsp behind it (Intel SDM, "POP").
static void read_place(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
		       struct code_step *step)
{
	for (unsigned i = 0; i < decoded->operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (is_register(operand, ZYDIS_REGISTER_RSP) && !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
			step->place_from = PLACE_BY_STACK;
			step->place_size = 1;
		}
		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    (operand->mem.base != ZYDIS_REGISTER_RSP && operand->mem.base != ZYDIS_REGISTER_RBP))
			continue;
		step->place_from = operand->mem.base == ZYDIS_REGISTER_RSP ? PLACE_BY_STACK : PLACE_BY_BASE;
		step->place = operand->mem.disp.value;
		if (decoded->mnemonic == ZYDIS_MNEMONIC_POP && step->place_from == PLACE_BY_STACK)
			step->place += operand->size / 8;
		step->place_size = decoded->mnemonic == ZYDIS_MNEMONIC_LEA ? 1 : operand->size / 8;
		step->place_is_indexed = operand->mem.index != ZYDIS_REGISTER_NONE;
		step->place_is_written = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		return;
	}
}

void arch_decode_step(const uint8_t *code, size_t size, uint64_t address, struct code_step *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct instruction instruction = { .address = address };
	ZydisDecoder decoder;

	*ret = (struct code_step){ 0 };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &instruction.decoded, operands)))
		return;
	ret->size = instruction.decoded.length;
	ret->movable = instruction_is_movable(&instruction);
	ret->calls_kernel = instruction.decoded.meta.category == ZYDIS_CATEGORY_SYSCALL;
	read_flow(&instruction, ret);
	if (ret->flow != FLOW_CALL && ret->flow != FLOW_RETURN)
		read_stack(&instruction.decoded, operands, ret);
	read_place(&instruction.decoded, operands, ret);
}

// As gcc does: lea 8(%rsp),%r10; and $-N,%rsp.
bool arch_realigns_stack(const uint8_t *code, size_t size)
{
	static const uint8_t lea_and[] = { 0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4 };

	return size >= sizeof(lea_and) && memcmp(code, lea_and, sizeof(lea_and)) == 0;
}

static bool is_transfer(const struct instruction *instruction)
{
	switch (instruction->decoded.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
		return true;
	default:
		return false;
	}
}

void arch_scan_branches(const uint8_t *code, size_t size, uint64_t address, bool first_only,
			bool (*visit)(const struct code_branch *branch, void *context), void *context)
{
	struct instruction instruction;

	for (size_t offset = arch_landing_pad(code, size);
	     offset < size && instruction_decode(code + offset, size - offset, address + offset, &instruction);
	     offset += instruction.decoded.length) {
		struct code_branch branch = { 0 };

		if (first_only && instruction.decoded.meta.category != ZYDIS_CATEGORY_UNCOND_BR)
			return;
		if (is_transfer(&instruction)) {
			if (instruction_is_branch(&instruction))
				branch.target = instruction_branch_target(&instruction);
			else if (instruction_has_rip_operand(&instruction))
				branch.slot = instruction_rip_target(&instruction);
			if (!visit(&branch, context))
				return;
		}
		if (first_only)
			return;
	}
}

size_t arch_landing_pad(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
}
