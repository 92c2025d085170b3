// SPDX-License-Identifier: Apache-2.0
// What a program's file tells of how it was made, where that decides what can be seen of its memory.
#ifndef HEAPSNAP_ATTACH_ELF_PROGRAM_KIND_H
#define HEAPSNAP_ATTACH_ELF_PROGRAM_KIND_H

#include "attach/elf/elf_view.h"
#include "attach/elf/modules.h"

// Whether the object holds a Go runtime, which has an allocator of its own.
bool program_is_go(const struct elf_view *elf);

// Whether there is no dynamic loader, and so no library that is loaded later. A loader that was given the program is
// the executable then, and none that is loaded.
bool program_is_static(const struct module_list *modules);

// The program that another one runs, as valgrind and user-mode emulators do: a loaded executable, where the process's
// own asks for no loader and is none. Such a runner keeps translations of code, and believes that it places all
// mappings. Its path; NULL = there is none: the process runs its own program. An object that cannot be read may be one.
const char *program_run_by_another(const struct module_list *modules);

// pre: no module has an allocation function. Why, and what would help: a clause that follows a colon.
const char *program_why_no_allocator(const struct module_list *modules);

#endif
