// SPDX-License-Identifier: Apache-2.0
// The first include of every payload file.
//
// Payload code runs inside an allocation function of a foreign process, on any of its threads, perhaps in a signal
// handler, perhaps while the dynamic loader or the allocator holds its locks. It may not call libc, make a system call,
// use TLS, allocate, lock, log, touch vector registers or fault. What goes wrong is counted (abi/records.h). The names
// below exist in every C programmer's fingers, so they are poisoned (not malloc and its kin, which name kinds of hooks;
// the link fails on an undefined symbol anyway).
#ifndef HEAPSNAP_UNWIND_FREESTANDING_H
#define HEAPSNAP_UNWIND_FREESTANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef HS_PAYLOAD // the pure parts are also compiled for tests on the host, where libc headers may follow
#pragma GCC poison printf fprintf snprintf puts abort exit errno
#pragma GCC poison pthread_mutex_lock pthread_self syscall mmap munmap mprotect memcpy memset memmove memcmp strlen
#endif

#define HS_ALWAYS_INLINE       static inline __attribute__((always_inline))
#define HS_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define HS_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#endif
