// SPDX-License-Identifier: Apache-2.0
// From an address to functions, files and lines by DWARF. Private to debug_info.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_UNITS_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_UNITS_H

#include "base/error.h"
#include "snapshot/symbols/debug_info.h"

#include <elfutils/libdw.h>

struct debug_units;

// `dwarf` must live longer. *ret is owned by the caller (debug_units_destroy). HS_ERROR_NO_MEMORY.
struct hs_error *debug_units_create(Dwarf *dwarf, struct debug_units **ret) HS_MUST_CHECK;
void debug_units_destroy(struct debug_units *units);

// As debug_info_lookup, with an address as DWARF has it. A frame whose function is not described has no name; only
// the last frame can be such a one. HS_ERROR_NO_MEMORY.
struct hs_error *debug_units_lookup(struct debug_units *units, uint64_t address, struct debug_frame *frames,
				    size_t *count_ret) HS_MUST_CHECK;

#endif
