// SPDX-License-Identifier: Apache-2.0
// What the payload asks of the processor: the thread pointer, the clock, a pause.
#ifndef HEAPSNAP_INJECT_ARCH_PROCESSOR_H
#define HEAPSNAP_INJECT_ARCH_PROCESSOR_H

#include "unwind/freestanding.h"

// The thread control block's first word is its own address (psABI x86-64, TLS variant II; glibc and musl alike). In the
// target it is RDFSBASE, which reads no memory, where the kernel allows that: each place is in the list that the header
// names, in the section .thread_pointer_reads.
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t value;
#ifdef HS_PAYLOAD
	__asm__("1: mov %%fs:0, %0\n\t.pushsection .thread_pointer_reads, \"a\"\n\t.long 1b - .\n\t.popsection"
		: "=r"(value));
#else
	__asm__("mov %%fs:0, %0" : "=r"(value));
#endif
	return value;
}

// Ticks of the constant-rate time-stamp counter. The tool refuses targets that have it disabled (PR_SET_TSC).
static inline uint64_t arch_ticks(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

// The same, after all that came before has been done: what waits for memory is waited for (Intel SDM volume 2, RDTSC;
// Linux makes LFENCE do so on AMD processors).
static inline uint64_t arch_ticks_in_order(void)
{
	__asm__ volatile("lfence" ::: "memory");
	return arch_ticks();
}

static inline void arch_pause(void) { __asm__ volatile("pause"); }

#endif
