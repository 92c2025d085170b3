// SPDX-License-Identifier: Apache-2.0
// As of aarch64: struct user_pt_regs, and the thread pointer (NT_ARM_TLS).
#ifndef HEAPSNAP_ATTACH_ARCH_REGISTERS_H
#define HEAPSNAP_ATTACH_ARCH_REGISTERS_H

#include <elf.h>
#include <stdint.h>

typedef struct arch_registers {
	uint64_t x[31], stack_pointer, program_counter, state, tpidr;
} arch_registers;

#define ARCH_EXTENDED_STATE NT_PRFPREG

static inline uint64_t registers_pc(const arch_registers *registers) { return registers->program_counter; }
static inline uint64_t registers_sp(const arch_registers *registers) { return registers->stack_pointer; }
static inline uint64_t registers_fp(const arch_registers *registers) { return registers->x[29]; }
static inline uint64_t registers_thread_pointer(const arch_registers *registers) { return registers->tpidr; }
static inline void registers_set_pc(arch_registers *registers, uint64_t pc) { registers->program_counter = pc; }
static inline void registers_set_sp(arch_registers *registers, uint64_t sp) { registers->stack_pointer = sp; }

#endif
