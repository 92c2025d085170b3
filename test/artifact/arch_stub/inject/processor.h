// SPDX-License-Identifier: Apache-2.0
// As of aarch64.
#ifndef HEAPSNAP_INJECT_ARCH_PROCESSOR_H
#define HEAPSNAP_INJECT_ARCH_PROCESSOR_H

#include "unwind/freestanding.h"

static inline uint64_t arch_thread_pointer(void)
{
	uint64_t value;

	__asm__("mrs %0, tpidr_el0" : "=r"(value));
	return value;
}

static inline uint64_t arch_ticks(void)
{
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}

static inline uint64_t arch_ticks_in_order(void)
{
	__asm__ volatile("isb" ::: "memory");
	return arch_ticks();
}

static inline void arch_pause(void) { __asm__ volatile("isb"); }

#endif
