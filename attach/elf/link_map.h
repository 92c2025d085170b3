// SPDX-License-Identifier: Apache-2.0
// What the target's dynamic loader says about itself.
#ifndef HEAPSNAP_ATTACH_ELF_LINK_MAP_H
#define HEAPSNAP_ATTACH_ELF_LINK_MAP_H

#include "attach/elf/modules.h"
#include "attach/process/memory.h"

// Fills r_debug, loader_event and each module's link_map. They stay 0 where the target has no dynamic loader, or where
// its list cannot be read (it may be changing at this moment): nothing of that is an error.
void link_map_read(const struct target_memory *memory, struct module_list *modules);

#endif
