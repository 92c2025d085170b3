// SPDX-License-Identifier: Apache-2.0
// Of the registers of a stopped thread, what a walk of its stack begins with.
#ifndef HEAPSNAP_ATTACH_ARCH_WALK_REGISTERS_H
#define HEAPSNAP_ATTACH_ARCH_WALK_REGISTERS_H

#include "attach/arch/registers.h"
#include "unwind/cfi.h"

// All that a walk knows.
static inline void registers_for_walk(const arch_registers *registers, uint64_t values[CFI_REGISTERS])
{
	values[CFI_RBX] = registers->rbx;
	values[CFI_FP] = registers->rbp;
	values[CFI_R12] = registers->r12;
	values[CFI_R13] = registers->r13;
	values[CFI_R14] = registers->r14;
	values[CFI_R15] = registers->r15;
	values[CFI_SP] = registers->rsp;
	values[CFI_RA] = registers->rip;
}

#endif
