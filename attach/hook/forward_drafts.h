// SPDX-License-Identifier: Apache-2.0
// Which of the functions to be hooked need no hook, because they only lead to others that are hooked.
#ifndef HEAPSNAP_ATTACH_HOOK_FORWARD_DRAFTS_H
#define HEAPSNAP_ATTACH_HOOK_FORWARD_DRAFTS_H

#include "attach/hook/hook_draft.h"
#include "attach/process/memory.h"

// Gives them VERDICT_forwards. Other functions may become such when more are hooked.
void drafts_find_forwards(struct draft *drafts, size_t count, const struct target_memory *memory);

#endif
