// SPDX-License-Identifier: Apache-2.0
// A set of general registers.
#ifndef HEAPSNAP_ATTACH_ARCH_REGISTER_BITS_H
#define HEAPSNAP_ATTACH_ARCH_REGISTER_BITS_H

#include <stdint.h>

// A bit each, in the order of their encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
typedef uint16_t register_bits;

// Those that a called function need not keep (psABI, "Registers"): rax, rcx, rdx, rsi, rdi, r8 to r11.
#define HS_SCRATCH_REGISTERS ((register_bits)0x0fc7)

// rax: compilers push it to move the stack pointer, and so not to keep it.
#define HS_PUSHED_FOR_ROOM ((register_bits)0x0001)

#endif
