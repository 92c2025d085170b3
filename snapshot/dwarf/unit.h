// SPDX-License-Identifier: Apache-2.0
// The units of a file's debug information (DWARF 5 §7.5.1), DWARF 2 to 5. Pure; bytes may be hostile.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_UNIT_H
#define HEAPSNAP_SNAPSHOT_DWARF_UNIT_H

#include "base/error.h"
#include "base/hash_table.h"
#include "snapshot/dwarf/abbreviations.h"

#include <stddef.h>

struct line_table;

// The attributes that say where an entry's code is (pc_ranges.h). Zeroed = none.
struct pc_attributes {
	struct form_value low, high, ranges;
};

struct debug_unit {
	struct debug_file *file;
	uint64_t offset, end; // in .debug_info: of its header, and behind its last entry
	uint64_t first_entry;
	uint64_t abbreviations_offset;
	struct form_context forms;
	const struct abbreviations *abbreviations; // NULL = not read yet

	// Of its first entry.
	uint16_t tag;
	struct pc_attributes code;
	uint64_t low_pc; // base of the ranges of its entries
	uint64_t rnglists_base;
	uint64_t line_offset; // in .debug_line
	bool has_lines;
	const char *folder;       // where it was compiled; NULL = unknown
	struct line_table *lines; // NULL = not read yet
};

// The debug information of a file. It stays where it is as long as its units are in use.
struct debug_file {
	struct debug_sections sections;
	struct debug_file *shared; // that dwz(1) made, and this one refers to; NULL = none
	struct debug_unit *units;  // by offset
	size_t unit_count, unit_room;
	struct abbreviation_table *tables; // those that were read
	size_t table_count, table_room;
	struct hash_table table_places; // of `tables`, by offset and format
};

// Lists the units. The sections and `shared` must live longer. Units of types, and those that make no sense, are left
// out. *ret is deinitialized by the caller, also after an error. HS_ERROR_NO_MEMORY.
struct hs_error *debug_file_init(const struct debug_sections *sections, struct debug_file *shared,
				 struct debug_file *ret) HS_MUST_CHECK;
void debug_file_deinit(struct debug_file *file);

// The unit that holds an entry; NULL = none.
struct debug_unit *debug_file_unit(struct debug_file *file, uint64_t offset);

// Reads the unit's abbreviations, if that was not done yet. HS_ERROR_NO_MEMORY.
struct hs_error *debug_unit_open(struct debug_unit *unit) HS_MUST_CHECK;

#endif
