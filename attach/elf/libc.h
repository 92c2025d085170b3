// SPDX-License-Identifier: Apache-2.0
// Which C library a process has, and which version: by what lies in its files. Pure. For people; what the payload must
// know of threads is asked in attach/elf/libc_symbols.h.
#ifndef HEAPSNAP_ATTACH_ELF_LIBC_H
#define HEAPSNAP_ATTACH_ELF_LIBC_H

#include "attach/elf/modules.h"
#include "inject/abi/payload_header.h"

#include <stdbool.h>
#include <stddef.h>

struct libc_info {
	enum libc_kind kind;
	size_t module;    // index of the module that holds it; the executable when it is static
	bool is_static;   // no dynamic loader: everything is in the executable
	bool is_go;       // the executable was made by Go's linker, whether or not it has a C library as well
	char version[32]; // "2.36"; "" = unknown (static programs do not say it)
};

void libc_identify(const struct module_list *modules, struct libc_info *ret);

const char *libc_name(enum libc_kind kind);

#endif
