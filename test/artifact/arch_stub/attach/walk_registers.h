// SPDX-License-Identifier: Apache-2.0
// Of the registers of a stopped thread, what a walk of its stack begins with.
#ifndef HEAPSNAP_ATTACH_ARCH_WALK_REGISTERS_H
#define HEAPSNAP_ATTACH_ARCH_WALK_REGISTERS_H

#include "attach/arch/registers.h"
#include "unwind/cfi.h"

// All that a walk knows.
static inline void registers_for_walk(const arch_registers *registers, uint64_t values[CFI_REGISTERS])
{
	for (unsigned i = 0; i < 10; i++)
		values[CFI_X19 + i] = registers->x[19 + i];
	values[CFI_FP] = registers->x[29];
	values[CFI_SP] = registers->stack_pointer;
	values[CFI_RA] = registers->program_counter;
}

#endif
