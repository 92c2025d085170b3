// SPDX-License-Identifier: Apache-2.0
// What a program's file tells of how it was made, where that decides what can be seen of its memory.
#ifndef HEAPSNAP_ATTACH_PROGRAM_KIND_H
#define HEAPSNAP_ATTACH_PROGRAM_KIND_H

#include "attach/elf_view.h"
#include "attach/modules.h"

// Whether the object holds a Go runtime, which has an allocator of its own.
bool program_is_go(const struct elf_view *elf);

// pre: no module has an allocation function. Why, and what would help: a clause that follows a colon.
const char *program_why_no_allocator(const struct module_list *modules);

#endif
