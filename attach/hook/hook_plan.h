// SPDX-License-Identifier: Apache-2.0
// Which functions are hooked, and how: decided from symbols and bytes alone, before anything is touched.
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_PLAN_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_PLAN_H

#include "attach/arch/relocate.h"
#include "attach/elf/modules.h"
#include "attach/hook/hook_addition.h"
#include "attach/hook/inline_fast_path.h"
#include "attach/process/diagnostics.h"
#include "base/error.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/records.h"

struct planned_hook {
	struct hook_record record; // state, verdict, old and new bytes, as the journal will hold it
	struct relocation_result relocation;
	struct hook_island island;
	size_t island_slot; // index into the island pages of `island_area`
	size_t island_area; // index into hook_plan.areas
	uint64_t companion; // address of the function that becomes the island's companion; 0 = none
};

struct island_area {
	uint64_t address; // in the target; page aligned, free there
	size_t slots;     // used
	size_t pages;
};

#define HOOK_ANY_MODULE SIZE_MAX

struct hook_plan {
	struct planned_hook *hooks; // in the order of application: loader event, then free-like, then allocating
	size_t count;               // with the refused ones, whose record.verdict is not VERDICT_ok
	struct island_area areas[HS_ISLAND_AREAS_MAX];
	size_t area_count;
	size_t used_module; // whose malloc the dynamic loader gives to those who ask for one; HOOK_ANY_MODULE = there
			    // is no such choice
};

// Decides all of it. Reads the function bytes from the target (they must equal those of the file) and finds free
// addresses in `maps`. A module of which one function that releases blocks (free, realloc) cannot be hooked is not
// hooked at all, or its blocks would stay in the table for ever: its other functions then have the verdict of that one.
// HS_ERROR_REFUSED: no allocator found; the module whose malloc the program uses (or, where no dynamic loader decides
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
