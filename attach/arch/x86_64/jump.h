// SPDX-License-Identifier: Apache-2.0
// The jump that takes the place of a function's first bytes: E9 rel32 (Intel SDM volume 2, JMP).
#ifndef HEAPSNAP_ATTACH_ARCH_JUMP_H
#define HEAPSNAP_ATTACH_ARCH_JUMP_H

#include <stdint.h>
#include <string.h>

#define HS_JUMP_SIZE 5 // bytes

// How far an island may lie from what it serves, bytes: such a jump reaches 2 GiB, and so does a moved operand that
// counts from the instruction; with a margin.
#define HS_JUMP_REACH ((UINT64_C(2) << 30) - (UINT64_C(16) << 20))

// Furthest byte from the end of the covered bytes that a branch of 8 bits can start at and still lead into them.
#define HS_SHORT_BRANCH_REACH 130u

// What nobody may run into: a trap (INT3).
#define HS_TRAP_BYTE 0xcc

// Writes a jump that stands at `address` and leads to `target`. pre: |target - address| <= HS_JUMP_REACH
static inline void jump_encode(uint8_t code[HS_JUMP_SIZE], uint64_t address, uint64_t target)
{
	uint32_t displacement = (uint32_t)(target - (address + HS_JUMP_SIZE));

	code[0] = 0xe9;
	memcpy(code + 1, &displacement, sizeof(displacement));
}

#endif
