// SPDX-License-Identifier: Apache-2.0
// Whether the program may allocate by a module that cannot be read: then all that is hooked is another allocator, and a
// profile of nothing would be believed.
#ifndef HEAPSNAP_ATTACH_HOOK_UNREAD_ALLOCATOR_H
#define HEAPSNAP_ATTACH_HOOK_UNREAD_ALLOCATOR_H

#include "attach/elf/modules.h"
#include "attach/process/memory.h"
#include "base/error.h"

// `used`: the module of which the loader seems to give malloc (plan_find_used_allocator). HS_ERROR_REFUSED where a
// linkage slot for malloc and its like leads into an unread module, or none leads into `used` and an unread one may
// come before it in the loader's order.
struct hs_error *unread_allocator_refuse(const struct module_list *modules, size_t used,
					 const struct target_memory *memory) HS_MUST_CHECK;

#endif
