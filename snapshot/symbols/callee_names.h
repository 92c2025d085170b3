// SPDX-License-Identifier: Apache-2.0
// What functions are known by name to wrappers of allocations (attach/arch/wrapper_code.h). Pure.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_CALLEE_NAMES_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_CALLEE_NAMES_H

#include "attach/arch/wrapper_code.h"

// `name` as in the symbol table, perhaps with its version ("malloc@@GLIBC_2.2.5"). CALLEE_OTHER: not known.
struct callee callee_by_name(const char *name);

#endif
