// SPDX-License-Identifier: Apache-2.0
// Where a process sees CLOCK_MONOTONIC_COARSE without asking: in the data page that the kernel shares with every vdso.
#ifndef HEAPSNAP_ATTACH_COARSE_CLOCK_H
#define HEAPSNAP_ATTACH_COARSE_CLOCK_H

#include "base/proc_maps.h"

#include <stdint.h>
#include <sys/types.h>

// The address in the target of two u64, seconds and nanoseconds. The layout of the page differs between kernels, so it is not assumed: the
// tool looks into its own page, which is the same memory, for two words that equal the clock through several ticks (takes
// some 20 ms). 0 = not found, or the target is in another time namespace and so has another page.
uint64_t coarse_clock_find(pid_t pid, const struct proc_maps *maps);

#endif
