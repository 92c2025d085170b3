// SPDX-License-Identifier: Apache-2.0
// As of aarch64: x0 to x30.
#ifndef HEAPSNAP_ATTACH_ARCH_REGISTER_BITS_H
#define HEAPSNAP_ATTACH_ARCH_REGISTER_BITS_H

#include <stdint.h>

typedef uint32_t register_bits;

#define HS_SCRATCH_REGISTERS ((register_bits)0x3ffff)
#define HS_PUSHED_FOR_ROOM   ((register_bits)0)

#endif
