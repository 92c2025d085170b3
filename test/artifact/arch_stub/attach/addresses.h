// SPDX-License-Identifier: Apache-2.0
// As of aarch64 (Documentation/arch/arm64/memory.rst).
#ifndef HEAPSNAP_ATTACH_ARCH_ADDRESSES_H
#define HEAPSNAP_ATTACH_ARCH_ADDRESSES_H

#include <stdint.h>

#define ARCH_USER_END (UINT64_C(1) << 48)
#define ARCH_RED_ZONE 0

#endif
