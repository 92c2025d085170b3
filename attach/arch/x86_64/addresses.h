// SPDX-License-Identifier: Apache-2.0
// Where a program's memory can lie, and what of the stack belongs to whom.
#ifndef HEAPSNAP_ATTACH_ARCH_ADDRESSES_H
#define HEAPSNAP_ATTACH_ARCH_ADDRESSES_H

#include <stdint.h>

// User addresses are below it: four levels of page tables (Documentation/arch/x86/x86_64/mm.rst; with five, a program
// gets higher ones only where it asks for them).
#define ARCH_USER_END (UINT64_C(1) << 47)

// Bytes below the stack pointer that belong to the running function (psABI, "The Stack Frame").
#define ARCH_RED_ZONE 128

#endif
