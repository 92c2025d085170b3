// SPDX-License-Identifier: Apache-2.0
// The functions of own_allocator.c. PREFIX stands before their names; without it they have the C library's, and those
// of jemalloc's that no standard knows are left out.
#ifndef HEAPSNAP_TEST_OWN_ALLOCATOR_H
#define HEAPSNAP_TEST_OWN_ALLOCATOR_H

#include <stddef.h>

#define FUNCTION __attribute__((noipa))

#ifdef PREFIX
#define JOINED(prefix, name)   prefix##name
#define PREFIXED(prefix, name) JOINED(prefix, name)
#define NAME(name)             PREFIXED(PREFIX, name)

enum { ZEROED = 0x40 }; // jemalloc's MALLOCX_ZERO; the six bits below it: the alignment's logarithm

void *NAME(mallocx)(size_t size, int flags);
void *NAME(rallocx)(void *block, size_t size, int flags);
size_t NAME(xallocx)(void *block, size_t size, size_t extra, int flags);
void NAME(dallocx)(void *block, int flags);
void NAME(sdallocx)(void *block, size_t size, int flags);
#else
#define NAME(name) name
#endif

void *NAME(malloc)(size_t size);
void *NAME(calloc)(size_t count, size_t size);
void *NAME(realloc)(void *block, size_t size);
void NAME(free)(void *block);
void NAME(free_sized)(void *block, size_t size);
void NAME(free_aligned_sized)(void *block, size_t alignment, size_t size);
int NAME(posix_memalign)(void **ret, size_t alignment, size_t size);
void *NAME(aligned_alloc)(size_t alignment, size_t size);
void *NAME(memalign)(size_t alignment, size_t size);
void *NAME(valloc)(size_t size);
void *NAME(pvalloc)(size_t size);

#endif
