// SPDX-License-Identifier: Apache-2.0
// The clock that the payload reads (inject/arch/<name>/processor.h), read by the tool.
#ifndef HEAPSNAP_ATTACH_ARCH_CLOCK_H
#define HEAPSNAP_ATTACH_ARCH_CLOCK_H

#include <stdint.h>

// Ticks of the constant-rate time-stamp counter.
static inline uint64_t arch_clock_ticks(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

#endif
