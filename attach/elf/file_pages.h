// SPDX-License-Identifier: Apache-2.0
// Pages of the files behind a target's mappings, read before the target is stopped: under the stop no file is opened
// (refused_reads.h).
#ifndef HEAPSNAP_ATTACH_ELF_FILE_PAGES_H
#define HEAPSNAP_ATTACH_ELF_FILE_PAGES_H

#include "attach/elf/modules.h"
#include "attach/process/memory.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "inject/abi/limits.h"
#include "inject/abi/records.h"

#include <stddef.h>
#include <stdint.h>

struct file_page {
	uint64_t address;               // in the target
	uint64_t device, inode, offset; // what was mapped there
	size_t size;                    // less than a page where the file ends
	uint8_t bytes[HS_PAGE_SIZE];    // 0 behind the end
};

struct file_pages {
	struct file_page *items;
	size_t count, room;
};

// Adds the pages that the hooks lie in; with `modules`, from what is already read of these, else from the files
// themselves. What cannot be had is left out.
void file_pages_read(const struct proc_maps *maps, const struct target_memory *memory,
		     const struct module_list *modules, const struct hook_record *hooks, size_t count,
		     struct file_pages *ret);
// Adds the page at the program's entry point.
void file_pages_read_entry(const struct proc_maps *maps, const struct target_memory *memory, uint64_t entry,
			   struct file_pages *ret);
void file_pages_deinit(struct file_pages *pages);

// The page that holds the address; NULL: it was not read, or another place of a file is mapped there now (`map`).
const struct file_page *file_pages_find(const struct file_pages *pages, const struct proc_map *map, uint64_t address);

#endif
