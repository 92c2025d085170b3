// SPDX-License-Identifier: Apache-2.0
// The clocks that are asked for.
#ifndef HEAPSNAP_BASE_CLOCK_H
#define HEAPSNAP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hs_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

// For durations and deadlines; ns since some time in the past.
static inline uint64_t hs_monotonic_ns(void) { return hs_clock_ns(CLOCK_MONOTONIC); }

// For bounds of work, which waiting for a processor is none of; ns that this thread has had one.
static inline uint64_t hs_thread_ns(void) { return hs_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

// For dates; ns since 1970, UTC.
static inline uint64_t hs_wall_ns(void) { return hs_clock_ns(CLOCK_REALTIME); }

#endif
