// SPDX-License-Identifier: Apache-2.0
#ifndef HEAPSNAP_BASE_AVAILABLE_MEMORY_H
#define HEAPSNAP_BASE_AVAILABLE_MEMORY_H

#include <stdint.h>

// Bytes that can be taken without swapping (MemAvailable of proc(5)); 1 GiB when it is not told.
uint64_t hs_available_memory(void);

// Bytes that the system may still promise; UINT64_MAX unless vm.overcommit_memory is 2, when it promises no more than
// it has.
uint64_t hs_commit_room(void);

// The most bytes that one mapping may have: all memory and swap, where vm.overcommit_memory is 0 (__vm_enough_memory in
// mm/util.c); UINT64_MAX where it is not.
uint64_t hs_mapping_most(void);

#endif
