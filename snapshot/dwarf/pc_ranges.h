// SPDX-License-Identifier: Apache-2.0
// The code of an entry (DWARF 5 §2.17): one range of addresses, or a list of them in .debug_ranges (DWARF 2 to 4) or
// .debug_rnglists (§7.25).
#ifndef HEAPSNAP_SNAPSHOT_DWARF_PC_RANGES_H
#define HEAPSNAP_SNAPSHOT_DWARF_PC_RANGES_H

#include "base/range_index.h"
#include "snapshot/dwarf/die.h"

// Reads the present attribute when it is one of these; false, and nothing is read, when it is not.
bool pc_attributes_set(struct pc_attributes *attributes, struct die_attributes *at);

// Adds the ranges to `index`, each with `value`. HS_ERROR_NO_MEMORY.
struct hs_error *pc_ranges_add(const struct debug_unit *unit, const struct pc_attributes *attributes,
			       struct range_index *index, size_t value) HS_MUST_CHECK;

#endif
