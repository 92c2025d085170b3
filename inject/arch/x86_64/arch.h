// SPDX-License-Identifier: Apache-2.0
// What the payload asks of the processor. Same names in every architecture's folder.
#ifndef HEAPSNAP_INJECT_ARCH_H
#define HEAPSNAP_INJECT_ARCH_H

#include "freestanding.h"

// The thread control block's first word is its own address (psABI x86-64, TLS variant II; glibc and musl alike).
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t value;
	__asm__("mov %%fs:0, %0" : "=r"(value));
	return value;
}

// Ticks of the constant-rate time-stamp counter. The tool refuses targets that have it disabled (PR_SET_TSC).
static inline uint64_t arch_ticks(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static inline void arch_pause(void) { __asm__ volatile("pause"); }

// What a hook's entry pushed, lowest address first. `return_address` is where the caller of the hooked function goes on;
// its own stack pointer there is the address just above.
struct entry_frame {
	uint64_t r15, r14, r13, r12, rbx, rbp, return_address;
};

#endif
