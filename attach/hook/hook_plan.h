// SPDX-License-Identifier: Apache-2.0
// Which functions are hooked, and how: decided from symbols and bytes alone, before anything is touched.
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_PLAN_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_PLAN_H

#include "attach/elf/modules.h"
#include "attach/hook/hook_addition.h"
#include "attach/hook/inline_fast_path.h"
#include "attach/hook/planned_hook.h"
#include "attach/process/diagnostics.h"
#include "base/error.h"

// Decides all of it. Reads the function bytes from the target (they must equal those of the file) and finds free
// addresses in `maps`. A module of which one function that releases blocks (free, realloc) cannot be hooked is not
// hooked at all, or its blocks would stay in the table for ever: its other functions then have the verdict of that one.
// HS_ERROR_REFUSED: no allocator found; the program may use that of a module that cannot be read
// (unread_allocator.h); the module whose malloc the program uses (or, where no dynamic loader decides
// that, every module) lacks an allocating function or a free that can be hooked. Warnings of what is left out go to
// *diagnostics (CATEGORY_unseen). On failure *ret holds what was judged until then; hook_plan_deinit is owed in any
// case.
struct hs_error *hook_plan_make(const struct module_list *modules, const struct proc_maps *maps,
				const struct target_memory *memory, const struct hook_additions *additions,
				const struct hook_goals *goals, struct diagnostics *diagnostics,
				struct hook_plan *ret) HS_MUST_CHECK;
void hook_plan_deinit(struct hook_plan *plan);

// Whether the payload will hear of each library that the loader adds and removes.
bool hook_plan_follows_loader(const struct hook_plan *plan);

#endif
