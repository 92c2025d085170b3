// SPDX-License-Identifier: Apache-2.0
// What the code of each function that is to be hooked says: whether a jump can take its place, and which kind of hook
// it needs. For hook_plan.c.
#ifndef HEAPSNAP_ATTACH_HOOK_DRAFT_JUDGE_H
#define HEAPSNAP_ATTACH_HOOK_DRAFT_JUDGE_H

#include "attach/hook/hook_draft.h"
#include "attach/process/memory.h"
#include "base/error.h"
#include "base/proc_maps.h"

#include <stddef.h>

// Fills request, relocation, record and verdict of each draft. Errors are those of reading the target; a function that
// cannot be hooked is none.
struct hs_error *drafts_judge(struct draft *drafts, size_t count, const struct proc_maps *maps,
			      const struct target_memory *memory) HS_MUST_CHECK;

// pre: all are drafts of one module, judged. Callers in its module may count on the registers that a function does not
// change (register_change.h). The quick kinds change scratch registers as they like.
void drafts_choose_kinds(struct draft *drafts, size_t count, const struct target_memory *memory);

#endif
