// SPDX-License-Identifier: Apache-2.0
// An instruction that stops a traced thread with SIGTRAP (Intel SDM, vol. 2, INT3).
#ifndef HEAPSNAP_ATTACH_ARCH_BREAKPOINT_H
#define HEAPSNAP_ATTACH_ARCH_BREAKPOINT_H

#include "attach/arch/registers.h"

#include <stdint.h>

// A word of memory with the instruction in the place of its first bytes.
static inline uint64_t breakpoint_in_word(uint64_t word) { return (word & ~UINT64_C(0xff)) | 0xcc; }

// Where a thread has met one that stands in its stop. The pc is behind it.
static inline uint64_t breakpoint_met(const arch_registers *registers) { return registers_pc(registers) - 1; }

#endif
