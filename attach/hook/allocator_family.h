// SPDX-License-Identifier: Apache-2.0
// Which allocator a module brings, by the symbols that only that one has. Pure.
#ifndef HEAPSNAP_ATTACH_HOOK_ALLOCATOR_FAMILY_H
#define HEAPSNAP_ATTACH_HOOK_ALLOCATOR_FAMILY_H

#include "attach/elf/libc.h"
#include "attach/elf/modules.h"

// The functions by which the runtimes of sanitizers are known, as X(family, name): the one list of them.
#define HS_SANITIZER_MARKS(X)                                                                                          \
	X(sanitizer, "__asan_init")                                                                                    \
	X(sanitizer, "__tsan_init")                                                                                    \
	X(sanitizer, "__msan_init")                                                                                    \
	X(sanitizer, "__hwasan_init")                                                                                  \
	X(sanitizer, "__lsan_init")

// X(name, symbol whose name ends so); the first match counts. A symbol that only one version or build has is no use
// here.
#define HS_ALLOCATOR_MARKS(X)                                                                                          \
	X(jemalloc, "mallctlnametomib")                                                                                \
	X(mimalloc, "mi_heap_new")                                                                                     \
	X(mimalloc, "mi_malloc")                                                                                       \
	X(tcmalloc, "tc_malloc")                                                                                       \
	X(tcmalloc, "tc_version")                                                                                      \
	X(tcmalloc, "TCMallocInternalMalloc")                                                                          \
	X(mozjemalloc, "moz_arena_malloc")                                                                             \
	X(rpmalloc, "rpmalloc_usable_size")                                                                            \
	X(snmalloc, "sn_malloc")                                                                                       \
	X(snmalloc, "sn_rust_alloc")                                                                                   \
	X(hoard, "xxmalloc")                                                                                           \
	X(glib, "g_slice_alloc")                                                                                       \
	HS_SANITIZER_MARKS(X)

// For people: "glibc", "musl", one of the names above, or "other". `module` is an index.
const char *allocator_family(const struct module_list *modules, size_t module, const struct libc_info *libc);

// Whether the module's function `name` is that of a C library or of a known allocator, of which it is known that it
// neither throws, nor is a cancellation point, nor asks who calls it. It must have the prefix that the symbol has: the
// malloc of a program that has je_mallctlnametomib may be another one, around je_malloc.
bool allocator_is_known(const struct module_list *modules, size_t module, const struct libc_info *libc,
			const char *name);

#endif
