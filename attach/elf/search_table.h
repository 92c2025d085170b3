// SPDX-License-Identifier: Apache-2.0
// A search table over .eh_frame for a module whose file has none: without .eh_frame_hdr (glibc's static programs, what
// musl-gcc links) the payload would find no unwind information.
#ifndef HEAPSNAP_ATTACH_ELF_SEARCH_TABLE_H
#define HEAPSNAP_ATTACH_ELF_SEARCH_TABLE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Signed distances from the start of .eh_frame, as the region holds them.
struct search_pair {
	int32_t pc;  // first pc of the FDE's function
	int32_t fde; // the FDE
};

struct search_table {
	uint64_t low, high;        // .eh_frame in the target's memory; 0, 0 = there is no table
	struct search_pair *pairs; // ascending by pc; owned
	size_t count;
};

struct target_memory;
struct module_list;

// Makes the tables of all modules that have .eh_frame and no .eh_frame_hdr. Reads the target's memory without stopping
// it; what cannot be read leaves a module without a table, with a hs_verbose line.
struct hs_error *search_tables_make(const struct target_memory *memory, struct module_list *modules) HS_MUST_CHECK;

// Pure: the table of `size` bytes of .eh_frame that lie at `address`. HS_ERROR_BAD_DATA when they cannot be read to the
// end. An FDE in a form that is not known, or more than 2 GiB away, is left out.
struct hs_error *search_table_build(const uint8_t *bytes, size_t size, uint64_t address,
				    struct search_table *ret) HS_MUST_CHECK;
void search_table_deinit(struct search_table *table);

#endif
