// SPDX-License-Identifier: Apache-2.0
// Which functions are the allocator itself, so that the innermost frame shown is the code that wanted memory. Pure.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_ALLOCATOR_NAMES_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_ALLOCATOR_NAMES_H

#include <stdbool.h>

// `system_name` as in the symbol table. C allocation functions (with the prefixes of the known allocators) and the
// global operator new and delete; not C++ allocator classes, which tell what kind of container asked.
bool is_allocator_name(const char *system_name);

#endif
