// SPDX-License-Identifier: Apache-2.0
// A table of abbreviations (DWARF 5 §7.5.3): what the entries of a unit are, and which attributes they have.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_ABBREVIATIONS_H
#define HEAPSNAP_SNAPSHOT_DWARF_ABBREVIATIONS_H

#include "base/error.h"
#include "snapshot/dwarf/form.h"

struct abbreviation_attribute {
	uint16_t name, form;
	int8_t size;      // of a value (form_size)
	int64_t implicit; // of DW_FORM_implicit_const
};

// Moves behind the value of an attribute.
static inline void abbreviation_skip_value(struct span_reader *reader, const struct abbreviation_attribute *attribute,
					   const struct form_format *format)
{
	if (attribute->size >= 0)
		span_reader_take(reader, (uint64_t)attribute->size);
	else
		form_skip(reader, attribute->form, format);
}

struct abbreviation {
	uint64_t code;
	uint16_t tag;
	bool has_children;
	bool has_code;   // DW_AT_low_pc or DW_AT_ranges is among the attributes
	int32_t size;    // bytes of all values, or FORM_SIZE_VARIES
	int32_t sibling; // bytes before DW_AT_sibling, where that has the form ref4; -1 = it is not so
	uint32_t first_attribute, attribute_count;
};

struct abbreviations {
	struct abbreviation *items; // owned, by code
	size_t count, room;
	struct abbreviation_attribute *attributes; // owned
	size_t attribute_count, attribute_room;
};

// Reads the table at `offset` of .debug_abbrev, or of it no more than what ends with `last_code` (0 = all). A table
// that is cut off or has nonsense is read as far as it makes sense. *ret is deinitialized by the caller, also after an
// error. HS_ERROR_NO_MEMORY.
struct hs_error *abbreviations_read(const struct memory_span *section, uint64_t offset, uint64_t last_code,
				    const struct form_format *format, struct abbreviations *ret) HS_MUST_CHECK;
void abbreviations_deinit(struct abbreviations *table);

// NULL = there is none.
const struct abbreviation *abbreviations_search(const struct abbreviations *table, uint64_t code);

// The first of its attributes; NULL where no abbreviation has any.
static inline const struct abbreviation_attribute *abbreviation_attributes(const struct abbreviations *table,
									   const struct abbreviation *abbreviation)
{
	return table->attributes ? table->attributes + abbreviation->first_attribute : NULL;
}

// Compilers number them 1, 2, 3 …
static inline const struct abbreviation *abbreviations_find(const struct abbreviations *table, uint64_t code)
{
	if (code - 1 < table->count && table->items[code - 1].code == code)
		return &table->items[code - 1];
	return abbreviations_search(table, code);
}

#endif
