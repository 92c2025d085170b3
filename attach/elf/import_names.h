// SPDX-License-Identifier: Apache-2.0
// The names of the functions that a module's linkage slots stand for, by its relocations.
#ifndef HEAPSNAP_ATTACH_ELF_IMPORT_NAMES_H
#define HEAPSNAP_ATTACH_ELF_IMPORT_NAMES_H

#include "attach/elf/elf_view.h"

// A slot that nothing but the loader writes to (JUMP_SLOT, GLOB_DAT).
struct import {
	uint64_t vaddr;
	const char *name; // that the loader looks up; inside the view
	bool lazy;        // perhaps only when it is first used
};

struct imports {
	struct import *items; // by vaddr; owned
	size_t count;
	bool is_incomplete; // the module may ask for more than these: a table or a name cannot be read, or there is no
			    // memory
};

void imports_read(const struct elf_view *view, struct imports *ret);
void imports_deinit(struct imports *imports);

// Pure. NULL = there is no such slot.
const struct import *imports_find(const struct imports *imports, uint64_t vaddr);

#endif
