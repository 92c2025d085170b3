// SPDX-License-Identifier: Apache-2.0
// As of aarch64: B reaches 128 MiB.
#ifndef HEAPSNAP_ATTACH_ARCH_JUMP_H
#define HEAPSNAP_ATTACH_ARCH_JUMP_H

#include <stdint.h>
#include <string.h>

#define HS_JUMP_SIZE          4
#define HS_JUMP_REACH         (UINT64_C(127) << 20)
#define HS_SHORT_BRANCH_REACH (1u << 20)
#define HS_TRAP_BYTE          0x00 // UDF

static inline void jump_encode(uint8_t code[HS_JUMP_SIZE], uint64_t address, uint64_t target)
{
	uint32_t instruction = 0x14000000u | ((uint32_t)((target - address) >> 2) & 0x03ffffffu);

	memcpy(code, &instruction, sizeof(instruction));
}

#endif
