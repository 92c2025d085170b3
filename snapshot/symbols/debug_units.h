// SPDX-License-Identifier: Apache-2.0
// From an address to functions, files and lines by DWARF. Private to debug_info.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_UNITS_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_UNITS_H

#include "base/error.h"
#include "snapshot/dwarf/sections.h"
#include "snapshot/symbols/debug_info.h"

struct debug_units;

// `sections` are those of the file; `shared` of the one that dwz(1) made for several, NULL = none. What they point to
// must live longer. *ret is owned by the caller (debug_units_destroy). HS_ERROR_NO_MEMORY.
struct hs_error *debug_units_create(const struct debug_sections *sections, const struct debug_sections *shared,
				    struct debug_units **ret) HS_MUST_CHECK;
void debug_units_destroy(struct debug_units *units);

// As debug_info_lookup, with an address as DWARF has it. A frame whose function is not described has no name; only
// the last frame can be such a one. HS_ERROR_NO_MEMORY.
struct hs_error *debug_units_lookup(struct debug_units *units, uint64_t address, struct debug_frame *frames,
				    size_t *count_ret) HS_MUST_CHECK;

#endif
