// SPDX-License-Identifier: Apache-2.0
// What a function is called and where it is declared: of an entry and those that it refers to for that (DWARF 5
// §2.13.2, §3.3.8). Pure; bytes may be hostile.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_FUNCTION_ORIGIN_H
#define HEAPSNAP_SNAPSHOT_DWARF_FUNCTION_ORIGIN_H

#include "snapshot/dwarf/die.h"

// Texts are in the sections, or in a line table of the file.
struct function_origin {
	const char *linkage_name; // NULL = there is none
	const char *name;         // NULL = unknown
	const char *file;         // of the declaration; NULL = unknown
	uint64_t line;            // of the declaration, or of the lambda whose call it is; 0 = unknown
};

// HS_ERROR_NO_MEMORY.
struct hs_error *function_origin_read(const struct die *die, struct function_origin *ret) HS_MUST_CHECK;

#endif
