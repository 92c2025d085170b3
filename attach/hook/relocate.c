// SPDX-License-Identifier: Apache-2.0
// The only file that includes Zydis. Encodings: Intel SDM volume 2, "JMP", "Jcc" and table 2-7 (RIP-relative
// addressing).
#include "attach/hook/relocate.h"

#include <Zydis/Zydis.h>
#include <string.h>

// Furthest byte from the end of the covered bytes that a branch of 8 bits can start at and still lead into them.
#define SHORT_BRANCH_REACH 130

#define FUNCTION_ALIGNMENT 16

enum {
	OPCODE_JUMP_32 = 0xe9,
	OPCODE_JUMP_8 = 0xeb,
	OPCODE_ESCAPE = 0x0f,
	OPCODE_CONDITION_32 = 0x80, // after OPCODE_ESCAPE; the low four bits are the condition
};

struct instruction {
	ZydisDecodedInstruction decoded;
	uint64_t address;
	size_t offset; // from the first covered byte
};

static bool decode(const uint8_t *code, size_t size, uint64_t address, struct instruction *ret)
{
	ZydisDecoder decoder;

	ret->address = address;
	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, size, &ret->decoded));
}

static bool is_branch(const struct instruction *instruction) { return instruction->decoded.raw.imm[0].is_relative; }

static bool has_rip_operand(const struct instruction *instruction)
{
	return (instruction->decoded.attributes & ZYDIS_ATTRIB_IS_RELATIVE) && !is_branch(instruction);
}

static uint64_t next_address(const struct instruction *instruction)
{
	return instruction->address + instruction->decoded.length;
}

static uint64_t branch_target(const struct instruction *instruction)
{
	return next_address(instruction) + (uint64_t)instruction->decoded.raw.imm[0].value.s;
}

static uint64_t rip_target(const struct instruction *instruction)
{
	return next_address(instruction) + (uint64_t)instruction->decoded.raw.disp.value;
}

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

// Whether the instruction may run at another address, once its operand is adapted.
static bool is_movable(const struct instruction *instruction)
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
	if (has_rip_operand(
		    instruction)) // all forms have a displacement of 32 bits; with prefix 67 it would count from eip
		return decoded->address_width == 64 && decoded->raw.disp.size == 32;
	if (!is_branch(instruction))
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
	extend_reach(result, branch_target(instruction));
	distance = branch_target(instruction) - (request->trampoline + result->size + opcode_size + 4);
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

	if (is_branch(instruction))
		return copy_branch(request, instruction, result);
	memcpy(code, request->code + instruction->offset, decoded->length);
	if (has_rip_operand(instruction)) {
		uint64_t distance = rip_target(instruction) - (request->trampoline + result->size + decoded->length);
		uint32_t displacement = (uint32_t)distance;

		extend_reach(result, rip_target(instruction));
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
		    !decode(request->code + end, request->code_size - end, request->address + end, &instruction) ||
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
	if (is_branch(instruction))
		return is_inside(request, result, branch_target(instruction)) &&
		       !((request->is_exit_point || instruction->decoded.meta.category == ZYDIS_CATEGORY_CALL) &&
			 branch_target(instruction) == request->address);
	if (has_rip_operand(instruction))
		return is_inside(request, result, rip_target(instruction)) &&
		       !(instruction->decoded.mnemonic == ZYDIS_MNEMONIC_LEA &&
			 rip_target(instruction) == request->address);
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
		if (!decode(code + offset, size - offset, start + offset, &instruction)) {
			if (size - offset < ZYDIS_MAX_INSTRUCTION_LENGTH && !request->function_size)
				break; // an instruction that goes on behind the known bytes
			if (start + offset < request->address + result->covered + SHORT_BRANCH_REACH)
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
	struct instruction instructions[16]; // jump_size is 5, and each has at least one byte
	bool ended = false;
	enum hook_verdict verdict;

	if (request->jump_size > 16 || (request->function_size && request->function_size <= lead))
		return VERDICT_too_short;
	while (!ended && (result->covered < request->jump_size || request->is_exit_point)) {
		struct instruction *instruction = &instructions[result->instruction_count];

		if (request->code_size <= result->covered || result->instruction_count == sizeof(result->from))
			return VERDICT_too_short;
		if (!decode(request->code + result->covered, request->code_size - result->covered,
			    request->address + result->covered, instruction))
			return VERDICT_not_decodable;
		if (!is_movable(instruction))
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

static bool is_plain_return(const struct instruction *instruction)
{
	return instruction->decoded.meta.category == ZYDIS_CATEGORY_RET && instruction->decoded.raw.imm[0].size == 0 &&
	       instruction->decoded.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR &&
	       instruction->decoded.mnemonic == ZYDIS_MNEMONIC_RET;
}

// In place of the return, which is the last instruction of the copy, a jump to the island's stub. Both move together.
static enum hook_verdict lead_to_stub(struct relocation_result *result)
{
	size_t last = result->to[result->instruction_count - 1];
	struct instruction instruction;
	int32_t distance;

	if (!decode(result->bytes + last, result->size - last, 0, &instruction) || !is_plain_return(&instruction))
		return VERDICT_not_relocatable;
	result->size = last;
	distance = HS_ISLAND_STUB_OFFSET - (int32_t)(HS_ISLAND_TRAMPOLINE_OFFSET + last + HS_JUMP_SIZE);
	return append(result, (const uint8_t[]){ OPCODE_JUMP_32 }, 1) && append(result, &distance, sizeof(distance))
		       ? VERDICT_ok
		       : VERDICT_not_relocatable;
}

void hook_relocate(const struct relocation_request *request, struct relocation_result *ret)
{
	*ret = (struct relocation_result){ 0 };
	ret->verdict = relocate(request, ret);
	if (ret->verdict == VERDICT_ok && request->is_exit_point)
		ret->verdict = lead_to_stub(ret);
}

bool hook_is_bare_return(const struct relocation_result *relocation)
{
	struct instruction instruction;

	return relocation->verdict == VERDICT_ok && relocation->instruction_count == 1 &&
	       decode(relocation->bytes, relocation->size, 0, &instruction) &&
	       instruction.decoded.meta.category == ZYDIS_CATEGORY_RET &&
	       instruction.decoded.raw.imm[0].size == 0; // `ret imm16` also takes arguments off the stack
}

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
		step->flow = is_plain_return(instruction) ? FLOW_RETURN : FLOW_UNKNOWN;
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
		if (is_branch(instruction))
			step->target = branch_target(instruction);
		else if (has_rip_operand(instruction))
			step->slot = rip_target(instruction);
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

void hook_decode_step(const uint8_t *code, size_t size, uint64_t address, struct code_step *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct instruction instruction = { .address = address };
	ZydisDecoder decoder;

	*ret = (struct code_step){ 0 };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &instruction.decoded, operands)))
		return;
	ret->size = instruction.decoded.length;
	ret->movable = is_movable(&instruction);
	ret->calls_kernel = instruction.decoded.meta.category == ZYDIS_CATEGORY_SYSCALL;
	read_flow(&instruction, ret);
	if (ret->flow != FLOW_CALL && ret->flow != FLOW_RETURN)
		read_stack(&instruction.decoded, operands, ret);
	read_place(&instruction.decoded, operands, ret);
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

void hook_scan_branches(const uint8_t *code, size_t size, uint64_t address, bool first_only,
			bool (*visit)(const struct code_branch *branch, void *context), void *context)
{
	struct instruction instruction;

	for (size_t offset = hook_landing_pad(code, size);
	     offset < size && decode(code + offset, size - offset, address + offset, &instruction);
	     offset += instruction.decoded.length) {
		struct code_branch branch = { 0 };

		if (first_only && instruction.decoded.meta.category != ZYDIS_CATEGORY_UNCOND_BR)
			return;
		if (is_transfer(&instruction)) {
			if (is_branch(&instruction))
				branch.target = branch_target(&instruction);
			else if (has_rip_operand(&instruction))
				branch.slot = rip_target(&instruction);
			if (!visit(&branch, context))
				return;
		}
		if (first_only)
			return;
	}
}

size_t hook_landing_pad(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
}

// lea -23(%rip),%r11 (the start of this island) ; jmp *(%r11) (its field `entry`).
static const uint8_t stub[] = { 0x4c, 0x8d, 0x1d, 0xe9, 0xff, 0xff, 0xff, 0x41, 0xff, 0x23 };
// mov %r11,-120(%rsp) ; lea -28(%rip),%r11 ; jmp *(%r11).
static const uint8_t keeping_stub[] = { 0x4c, 0x89, 0x5c, 0x24, 0x88, 0x4c, 0x8d, 0x1d,
					0xe4, 0xff, 0xff, 0xff, 0x41, 0xff, 0x23 };

bool hook_island_has_stub(const struct hook_island *island)
{
	if (island->kind < HOOK_KIND_COUNT && hook_kind_keeps_registers((enum hook_kind)island->kind))
		return memcmp(island->stub, keeping_stub, sizeof(keeping_stub)) == 0;
	return memcmp(island->stub, stub, sizeof(stub)) == 0;
}

void hook_fill_island(uint64_t entry, uint32_t hook_index, enum hook_kind kind,
		      const struct relocation_result *relocation, struct hook_island *ret)
{
	_Static_assert(HS_ISLAND_STUB_OFFSET + 7 == 23 && HS_ISLAND_STUB_OFFSET + 12 == 28,
		       "the displacement leads back over the stub's offset and what stands in it up to the lea's end");
	_Static_assert(sizeof(stub) <= sizeof(ret->stub) && sizeof(keeping_stub) <= sizeof(ret->stub),
		       "the stub has room");
	_Static_assert(offsetof(struct hook_island, entry) == 0, "jmp *(%r11)");
	*ret = (struct hook_island){ .entry = entry, .hook_index = hook_index, .kind = kind };
	ret->begin = HS_ISLAND_STUB_OFFSET;
	memset(ret->stub, 0xcc, sizeof(ret->stub));
	memset(ret->inline_fast_path, 0xcc, sizeof(ret->inline_fast_path));
	memset(ret->trampoline, 0xcc, sizeof(ret->trampoline));
	if (hook_kind_keeps_registers(kind))
		memcpy(ret->stub, keeping_stub, sizeof(keeping_stub));
	else
		memcpy(ret->stub, stub, sizeof(stub));
	memcpy(ret->trampoline, relocation->bytes, relocation->size);
}
