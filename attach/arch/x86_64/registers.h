// SPDX-License-Identifier: Apache-2.0
// The registers of a stopped thread, as ptrace_get_registers reads them.
#ifndef HEAPSNAP_ATTACH_ARCH_REGISTERS_H
#define HEAPSNAP_ATTACH_ARCH_REGISTERS_H

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

#endif
