// SPDX-License-Identifier: Apache-2.0
// How much memory glibc's malloc has taken for its heaps, as the mappings show it.
#ifndef HEAPSNAP_LIB_MALLOC_HEAP_H
#define HEAPSNAP_LIB_MALLOC_HEAP_H

#include "base/proc_maps.h"

#include <stdint.h>

// Bytes, used or free; without blocks that are mapped by themselves. Pure.
//
//   [heap]            the first arena, which grows by brk(2)
//   64 MiB aligned    the heaps of the others, for threads: so much is reserved and little by little made writable
//   | rw | --------- |   (HEAP_MAX_SIZE, new_heap and grow_heap in glibc's malloc/arena.c)
//
// Of another allocator it is 0, or what the program itself takes by brk.
uint64_t malloc_heap_bytes(const struct proc_maps *maps);

#endif
