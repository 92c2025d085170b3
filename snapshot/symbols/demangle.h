// SPDX-License-Identifier: Apache-2.0
// C++ and Rust names for people, by libiberty.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEMANGLE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

// Whether `name` looks like a mangled one of C++ or Rust.
bool is_mangled(const char *name);

// Returns fresh memory, owned by the caller; NULL when `name` is no mangled name (or there is no memory). Marks of
// clones ("[clone .cold]") are left out.
char *demangle(const char *name);

#endif
