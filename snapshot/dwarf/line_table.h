// SPDX-License-Identifier: Apache-2.0
// The line table of a unit (DWARF 5 §6.2, and its older versions from DWARF 2 on): from an address to a file and a
// line, and from the number of a file to its name. Pure; bytes may be hostile.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_LINE_TABLE_H
#define HEAPSNAP_SNAPSHOT_DWARF_LINE_TABLE_H

#include "base/range_index.h"
#include "snapshot/dwarf/unit.h"

// The table of the unit, its files read; fresh, or the one that the unit has had since the last call. *ret NULL = the
// unit has none that can be read. The unit owns it. HS_ERROR_NO_MEMORY.
struct hs_error *line_table_of(struct debug_unit *unit, struct line_table **ret) HS_MUST_CHECK;
void line_table_destroy(struct line_table *table);

// The name of a file by its number in the unit's entries and rows; with the folders that the compiler gave. *ret NULL =
// there is no such file. Valid as long as the table. HS_ERROR_NO_MEMORY.
struct hs_error *line_table_file(struct line_table *table, uint64_t number, const char **ret) HS_MUST_CHECK;

// The file's number and the line of an address; false when no row covers it. Reads the rows when it is asked first.
// HS_ERROR_NO_MEMORY.
struct hs_error *line_table_find(struct line_table *table, uint64_t address, bool *found_ret, uint64_t *file_ret,
				 uint32_t *line_ret) HS_MUST_CHECK;

#endif
