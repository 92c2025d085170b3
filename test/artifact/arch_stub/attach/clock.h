// SPDX-License-Identifier: Apache-2.0
// As of aarch64, which reads CNTVCT_EL0.
#ifndef HEAPSNAP_ATTACH_ARCH_CLOCK_H
#define HEAPSNAP_ATTACH_ARCH_CLOCK_H

#include <stdint.h>

static inline uint64_t arch_clock_ticks(void) { return 0; }

#endif
