// SPDX-License-Identifier: Apache-2.0
// Whether what a plan hooks shows both ends of a block's life.
#ifndef HEAPSNAP_ATTACH_HOOK_PLAN_PAIRS_H
#define HEAPSNAP_ATTACH_HOOK_PLAN_PAIRS_H

#include "attach/hook/hook_candidates.h"
#include "attach/hook/planned_hook.h"
#include "base/process.h"

// The module whose malloc the dynamic loader gives to those who ask for one. HOOK_ANY_MODULE = there is no such choice.
size_t plan_find_used_allocator(const struct hook_candidates *candidates, const struct module_list *modules);

// HS_ERROR_REFUSED: with this plan little or nothing would be seen, for the module that it says is used has no pair.
struct hs_error *plan_refuse_unpaired(const struct hook_plan *plan, const struct module_list *modules,
				      const struct process *process) HS_MUST_CHECK;

#endif
