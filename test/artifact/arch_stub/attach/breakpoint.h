// SPDX-License-Identifier: Apache-2.0
// As of aarch64: BRK #0 (Arm ARM, C6.2), which leaves the pc at itself.
#ifndef HEAPSNAP_ATTACH_ARCH_BREAKPOINT_H
#define HEAPSNAP_ATTACH_ARCH_BREAKPOINT_H

#include "attach/arch/registers.h"

#include <stdint.h>

static inline uint64_t breakpoint_in_word(uint64_t word)
{
	return (word & ~UINT64_C(0xffffffff)) | UINT64_C(0xd4200000);
}

static inline uint64_t breakpoint_met(const arch_registers *registers) { return registers_pc(registers); }

#endif
