// SPDX-License-Identifier: Apache-2.0
// The registers of a stopped thread, as ptrace_get_registers reads them.
#ifndef HEAPSNAP_ATTACH_ARCH_REGISTERS_H
#define HEAPSNAP_ATTACH_ARCH_REGISTERS_H

#include "unwind/cfi.h"

#include <elf.h>
#include <stdint.h>
#include <sys/user.h>

typedef struct user_regs_struct arch_registers;

// The set of all others: floating point and vectors.
#define ARCH_EXTENDED_STATE NT_X86_XSTATE

static inline uint64_t registers_pc(const arch_registers *registers) { return registers->rip; }
static inline uint64_t registers_sp(const arch_registers *registers) { return registers->rsp; }
static inline uint64_t registers_fp(const arch_registers *registers) { return registers->rbp; }
// The fs base.
static inline uint64_t registers_thread_pointer(const arch_registers *registers) { return registers->fs_base; }

static inline void registers_set_pc(arch_registers *registers, uint64_t pc) { registers->rip = pc; }
static inline void registers_set_sp(arch_registers *registers, uint64_t sp) { registers->rsp = sp; }

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
