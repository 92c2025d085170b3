// SPDX-License-Identifier: Apache-2.0
// What every standard allocation function keeps to: it neither throws nor is a cancellation point, nor does it ask who
// calls it. So it may run below a frame of ours. Those of a C library or of a known allocator are taken at their word
// (allocator_family.h). A program's own may do all of that.
#ifndef HEAPSNAP_ATTACH_HOOK_MALLOC_CONTRACT_H
#define HEAPSNAP_ATTACH_HOOK_MALLOC_CONTRACT_H

#include "attach/hook/hook_draft.h"
#include "attach/process/memory.h"

// The code of each own one that would run below a frame of ours is followed, with all that it calls.
// VERDICT_may_unwind: it is seen to throw, or to be a cancellation point in a program that cancels threads.
// VERDICT_reaches_above: it is seen to ask. VERDICT_unfollowed: it cannot be followed everywhere, in a program that has
// the means to throw or to cancel; in one that has neither, the functions are as good as those of others.
void malloc_contract_check(struct draft *drafts, size_t count, const struct module_list *modules,
			   const struct target_memory *memory);

#endif
