// SPDX-License-Identifier: Apache-2.0
// Branches from elsewhere in a module into what its hooks are to overwrite. arch_relocate has looked at each function
// itself.
#ifndef HEAPSNAP_ATTACH_HOOK_DRAFT_BRANCHES_H
#define HEAPSNAP_ATTACH_HOOK_DRAFT_BRANCHES_H

#include "attach/hook/hook_draft.h"

// For one module, with the exit points of its functions, which lie at `exits`: sets VERDICT_branch_inside where there
// is such a branch.
void drafts_check_branches(struct draft *drafts, size_t count, struct draft *exits, size_t exit_count);

// For one module: finds which of its exported functions are called from nowhere in it, by their address or by a name
// that the loader looks up. Then no caller knows more of them than their name.
void drafts_find_uncalled(struct draft *drafts, size_t count);

#endif
