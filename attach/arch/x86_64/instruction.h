// SPDX-License-Identifier: Apache-2.0
// One decoded instruction, for the files of this folder that look into one. They alone include Zydis. All is pure.
#ifndef HEAPSNAP_ATTACH_ARCH_INSTRUCTION_H
#define HEAPSNAP_ATTACH_ARCH_INSTRUCTION_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

// False: these bytes, which run at `address`, are no instruction. Leaves `offset` alone.
bool instruction_decode(const uint8_t *code, size_t size, uint64_t address, struct instruction *ret);

// Whether its operand is an address, counted from its end: a direct call or jump, a loop, xbegin.
bool instruction_is_branch(const struct instruction *instruction);
// pre: instruction_is_branch.
uint64_t instruction_branch_target(const struct instruction *instruction);

// Whether it has an operand in memory whose address is counted from its end.
bool instruction_has_rip_operand(const struct instruction *instruction);
// pre: instruction_has_rip_operand.
uint64_t instruction_rip_target(const struct instruction *instruction);

// Whether it may run at another address, once its operand is adapted.
bool instruction_is_movable(const struct instruction *instruction);

// A near return that takes no arguments off the stack.
bool instruction_is_plain_return(const struct instruction *instruction);

#endif
