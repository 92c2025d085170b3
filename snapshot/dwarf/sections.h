// SPDX-License-Identifier: Apache-2.0
// The sections of a file's debug information (DWARF 5 §7.1 and Appendix B has what is in which).
#ifndef HEAPSNAP_SNAPSHOT_DWARF_SECTIONS_H
#define HEAPSNAP_SNAPSHOT_DWARF_SECTIONS_H

#include "unwind/memory_span.h"

#include <string.h>

// Uncompressed, at address 0 each. One that is missing has size 0.
struct debug_sections {
	struct memory_span info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
};

// The text at `offset`; NULL when it begins or ends outside.
static inline const char *section_text(const struct memory_span *section, uint64_t offset)
{
	if (offset >= section->size)
		return NULL;

	const char *text = (const char *)section->bytes + offset;

	// the usual case first: the section ends with a text
	return section->bytes[section->size - 1] == 0 || memchr(text, 0, section->size - offset) ? text : NULL;
}

#endif
