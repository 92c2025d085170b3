// SPDX-License-Identifier: Apache-2.0
// Values of attributes by their form (DWARF 5 §7.5.6, and the GNU forms of dwz and of split DWARF 4). Pure; bytes may
// be hostile. Addresses have 8 bytes.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_FORM_H
#define HEAPSNAP_SNAPSHOT_DWARF_FORM_H

#include "snapshot/dwarf/sections.h"
#include "unwind/span_reader.h"

struct form_format {
	uint16_t version;
	uint8_t offset_size; // bytes of an offset into a section: 4 or 8
};

// What a form needs beside the bytes. A base is an offset into its section.
struct form_context {
	struct form_format format;
	const struct debug_sections *sections;
	const struct debug_sections *shared; // of the file that dwz(1) made; NULL = none
	uint64_t unit_offset;                // in .debug_info
	uint64_t str_offsets_base, addr_base;
};

enum form_class {
	FORM_UNKNOWN, // of no use here, or not to be read
	FORM_ADDRESS,
	FORM_CONSTANT,       // number, also one that was signed
	FORM_SECTION_OFFSET, // number
	FORM_LIST_INDEX,     // number: in the table of .debug_rnglists
	FORM_TEXT,           // text
	FORM_ENTRY,          // number: offset in .debug_info of the same file
	FORM_SHARED_ENTRY,   // number: in .debug_info of the shared file
};

struct form_value {
	enum form_class class;
	uint64_t number;
	const char *text; // in a section
};

enum { FORM_SIZE_VARIES = -1, ADDRESS_SIZE = 8 };

// Bytes that a value of this form takes, or FORM_SIZE_VARIES (also of forms that nobody knows).
int form_size(uint64_t form, const struct form_format *format);

// Moves behind a value. A form that nobody knows fails the reader: what comes behind it cannot be found.
void form_skip(struct span_reader *reader, uint64_t form, const struct form_format *format);

// Reads a value, and moves behind it. `implicit`: of DW_FORM_implicit_const. A value that cannot be read is
// FORM_UNKNOWN.
struct form_value form_read(struct span_reader *reader, uint64_t form, int64_t implicit,
			    const struct form_context *context);

#endif
