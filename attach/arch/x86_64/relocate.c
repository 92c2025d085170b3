// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/relocate.h"

#include "attach/arch/instruction.h"

#include <string.h>

#define FUNCTION_ALIGNMENT 16

// The instruction is never followed by the next one.
static bool ends_flow(const struct instruction *instruction)
{
	switch (instruction->decoded.meta.category) {
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return true;
	default:
		return instruction->decoded.mnemonic == ZYDIS_MNEMONIC_UD2 ||
		       instruction->decoded.mnemonic == ZYDIS_MNEMONIC_HLT;
	}
}

static bool is_padding(const struct instruction *instruction)
{
	return instruction->decoded.mnemonic == ZYDIS_MNEMONIC_NOP ||
	       instruction->decoded.mnemonic == ZYDIS_MNEMONIC_INT3;
}

static void extend_reach(struct relocation_result *result, uint64_t address)
{
	if (address < result->reach_low)
		result->reach_low = address;
	if (address > result->reach_high)
		result->reach_high = address;
}

// Appends bytes to the copy. Four instructions of one byte and one of 15, each branch grown by four bytes, and the
// longest jump back stay far below the room that there is; checked all the same.
static bool append(struct relocation_result *result, const void *bytes, size_t size)
{
	if (size > sizeof(result->bytes) - result->size)
		return false;
	memcpy(result->bytes + result->size, bytes, size);
	result->size += size;
	return true;
}

static bool fits_32(uint64_t distance) { return (int64_t)distance >= INT32_MIN && (int64_t)distance <= INT32_MAX; }

static enum hook_verdict copy_branch(const struct relocation_request *request, const struct instruction *instruction,
				     struct relocation_result *result)
{
	uint8_t code[6] = { OPCODE_JUMP_32 };
	size_t opcode_size = 1;
	uint64_t distance;
	uint32_t displacement;

	if (instruction->decoded.meta.category == ZYDIS_CATEGORY_COND_BR) {
		code[0] = OPCODE_ESCAPE;
		code[1] = (uint8_t)(OPCODE_CONDITION_32 | (instruction->decoded.opcode & 0x0f));
		opcode_size = 2;
	}
	extend_reach(result, instruction_branch_target(instruction));
	distance = instruction_branch_target(instruction) - (request->trampoline + result->size + opcode_size + 4);
	if (!fits_32(distance))
		return VERDICT_out_of_reach;
	displacement = (uint32_t)distance;
	memcpy(code + opcode_size, &displacement, 4);
	return append(result, code, opcode_size + 4) ? VERDICT_ok : VERDICT_not_relocatable;
}

static enum hook_verdict copy_instruction(const struct relocation_request *request,
					  const struct instruction *instruction, struct relocation_result *result)
{
	const ZydisDecodedInstruction *decoded = &instruction->decoded;
	uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];

	if (instruction_is_branch(instruction))
		return copy_branch(request, instruction, result);
	memcpy(code, request->code + instruction->offset, decoded->length);
	if (instruction_has_rip_operand(instruction)) {
		uint64_t distance =
			instruction_rip_target(instruction) - (request->trampoline + result->size + decoded->length);
		uint32_t displacement = (uint32_t)distance;

		extend_reach(result, instruction_rip_target(instruction));
		if (!fits_32(distance))
			return VERDICT_out_of_reach;
		memcpy(code + decoded->raw.disp.offset, &displacement, 4);
	}
	return append(result, code, decoded->length) ? VERDICT_ok : VERDICT_not_relocatable;
}

// jmp rel32, or jmp *0(%rip) with the address behind it.
static enum hook_verdict append_jump_back(const struct relocation_request *request, struct relocation_result *result)
{
	uint64_t target = request->address + result->covered;
	uint64_t distance = target - (request->trampoline + result->size + HS_JUMP_SIZE);
	uint32_t displacement = (uint32_t)distance;

	if (fits_32(distance))
		return append(result, (const uint8_t[]){ OPCODE_JUMP_32 }, 1) && append(result, &displacement, 4)
			       ? VERDICT_ok
			       : VERDICT_not_relocatable;
	return append(result, (const uint8_t[]){ 0xff, 0x25, 0, 0, 0, 0 }, 6) && append(result, &target, 8)
		       ? VERDICT_ok
		       : VERDICT_not_relocatable;
}

// Bytes of whole padding instructions from `offset` on, up to at least jump_size; 0 = there is something else. The
// padding must reach to where the next function would be aligned: nops that do not might be the patchable entry of a
// neighbour without a symbol.
static size_t measure_padding(const struct relocation_request *request, size_t offset)
{
	uint64_t aligned =
		(request->address + offset + FUNCTION_ALIGNMENT - 1) / FUNCTION_ALIGNMENT * FUNCTION_ALIGNMENT;
	size_t end = offset, covered = 0;
	struct instruction instruction;

	if (request->address + request->jump_size > aligned)
		return 0;
	while (request->address + end < aligned) {
		if (end >= request->code_size ||
		    !instruction_decode(request->code + end, request->code_size - end, request->address + end,
					&instruction) ||
		    !is_padding(&instruction))
			return 0;
		end += instruction.decoded.length;
		if (covered < request->jump_size)
			covered = end;
	}
	return covered - offset;
}

static bool is_inside(const struct relocation_request *request, const struct relocation_result *result,
		      uint64_t address)
{
	return address >= request->address && address - request->address < result->covered;
}

// Whether the instruction refers to bytes that will be another instruction's. A call of the function's own start is a
// call like any other. A jump there is not: it may be a loop, with live values in registers that a hook is free to
// change.
static bool refers_inside(const struct relocation_request *request, const struct relocation_result *result,
			  const struct instruction *instruction)
{
	if (instruction_is_branch(instruction))
		return is_inside(request, result, instruction_branch_target(instruction)) &&
		       !((request->is_exit_point || instruction->decoded.meta.category == ZYDIS_CATEGORY_CALL) &&
			 instruction_branch_target(instruction) == request->address);
	if (instruction_has_rip_operand(instruction))
		return is_inside(request, result, instruction_rip_target(instruction)) &&
		       !(instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA &&
			 instruction_rip_target(instruction) == request->address);
	return false;
}

// Looks at every instruction of the function. Bytes that are none (a table among the code) are stepped over, but not
// where a short branch could start that leads into the covered bytes.
static enum hook_verdict check_references(const struct relocation_request *request,
					  const struct relocation_result *result)
{
	const uint8_t *code = request->function_size ? request->function_code : request->code;
	size_t size = request->function_size ? request->function_size : request->code_size;
	uint64_t start = request->function_size ? request->function_start : request->address;
	struct instruction instruction;

	for (size_t offset = 0; offset < size;) {
		if (!instruction_decode(code + offset, size - offset, start + offset, &instruction)) {
			if (size - offset < ZYDIS_MAX_INSTRUCTION_LENGTH && !request->function_size)
				break; // an instruction that goes on behind the known bytes
			if (start + offset < request->address + result->covered + HS_SHORT_BRANCH_REACH)
				return VERDICT_not_decodable;
			offset++;
			continue;
		}
		if (refers_inside(request, result, &instruction))
			return VERDICT_branch_inside;
		offset += instruction.decoded.length;
	}
	return VERDICT_ok;
}

static enum hook_verdict relocate(const struct relocation_request *request, struct relocation_result *result)
{
	size_t lead = (size_t)(request->address - request->function_start); // the landing pad
	struct instruction instructions[16] = { 0 }; // jump_size is 5, and each has at least one byte
	bool ended = false;
	enum hook_verdict verdict;

	if (request->jump_size > 16 || (request->function_size && request->function_size <= lead))
		return VERDICT_too_short;
	while (!ended && (result->covered < request->jump_size || request->is_exit_point)) {
		struct instruction *instruction = &instructions[result->instruction_count];

		if (request->code_size <= result->covered || result->instruction_count == sizeof(result->from))
			return VERDICT_too_short;
		if (!instruction_decode(request->code + result->covered, request->code_size - result->covered,
					request->address + result->covered, instruction))
			return VERDICT_not_decodable;
		if (!instruction_is_movable(instruction))
			return VERDICT_not_relocatable;
		instruction->offset = result->covered;
		result->from[result->instruction_count++] = (uint8_t)result->covered;
		result->covered += instruction->decoded.length;
		ended = ends_flow(instruction);
	}
	if (request->function_size && result->covered > request->function_size - lead)
		return VERDICT_too_short;
	if (result->covered < request->jump_size) {
		// A shorter function: the jump may use the padding between it and the next one, if that is all there
		// is.
		size_t padding = 0;

		if (request->function_size && result->covered == request->function_size - lead)
			padding = measure_padding(request, result->covered);
		if (!padding)
			return VERDICT_too_short;
		result->covered += padding;
	}
	result->reach_low = request->address;
	result->reach_high = request->address + result->covered;
	verdict = check_references(request, result);
	for (size_t i = 0; i < result->instruction_count && verdict == VERDICT_ok; i++) {
		result->to[i] = (uint8_t)result->size;
		verdict = copy_instruction(request, &instructions[i], result);
	}
	return verdict == VERDICT_ok && !ended ? append_jump_back(request, result) : verdict;
}

// In place of the return, which is the last instruction of the copy, a jump to the island's stub. Both move together.
static enum hook_verdict lead_to_stub(struct relocation_result *result)
{
	size_t last = result->to[result->instruction_count - 1];
	struct instruction instruction;
	int32_t distance;

	if (!instruction_decode(result->bytes + last, result->size - last, 0, &instruction) ||
	    !instruction_is_plain_return(&instruction))
		return VERDICT_not_relocatable;
	result->size = last;
	distance = HS_ISLAND_STUB_OFFSET - (int32_t)(HS_ISLAND_TRAMPOLINE_OFFSET + last + HS_JUMP_SIZE);
	return append(result, (const uint8_t[]){ OPCODE_JUMP_32 }, 1) && append(result, &distance, sizeof(distance))
		       ? VERDICT_ok
		       : VERDICT_not_relocatable;
}

void arch_relocate(const struct relocation_request *request, struct relocation_result *ret)
{
	*ret = (struct relocation_result){ 0 };
	ret->verdict = relocate(request, ret);
	if (ret->verdict == VERDICT_ok && request->is_exit_point)
		ret->verdict = lead_to_stub(ret);
}

bool arch_is_bare_return(const struct relocation_result *relocation)
{
	struct instruction instruction;

	return relocation->verdict == VERDICT_ok && relocation->instruction_count == 1 &&
	       instruction_decode(relocation->bytes, relocation->size, 0, &instruction) &&
	       instruction.decoded.meta.category == ZYDIS_CATEGORY_RET &&
	       instruction.decoded.raw.imm[0].size == 0; // `ret imm16` also takes arguments off the stack
}
