// SPDX-License-Identifier: Apache-2.0
// Functions that may throw, or be cancellation points, and have no companion: hooked where they begin and wherever they
// return, so that no frame of ours is below them.
#ifndef HEAPSNAP_ATTACH_HOOK_WATCHED_FUNCTIONS_H
#define HEAPSNAP_ATTACH_HOOK_WATCHED_FUNCTIONS_H

#include "attach/hook/hook_draft.h"
#include "attach/process/memory.h"

// Whether it is the verdict of a function that nothing proves to be its allocator's own, or one that came in its place
// because such a function cannot be watched either.
bool verdict_is_unproven(enum hook_verdict verdict);

// Whether it is such a function: nothing proves that its module's allocator made it, or has one in its place. Of those
// that the user has added: nothing proves that it is left by nothing but its return (return_proof.h), and its result is
// the block.
bool watched_is_wanted(const struct draft *draft);

// For each such function among `drafts` whose exit points can all be hooked, drafts of those, from `exits` on, at most
// `room`. Returns how many. Whether it is hooked is decided later: it may only lead to a function that is.
size_t watched_find(struct draft *drafts, size_t count, const struct target_memory *memory, struct draft *exits,
		    size_t room);

// Decides which functions of one module, among those that watched_find has found, are hooked: those that are not seen
// otherwise, and with them all that give blocks back; none if one of these cannot be. Those that the user has added are
// hooked whatever the others are.
void watched_decide(struct draft *drafts, size_t count, const struct draft *exits, size_t exit_count);

// A function is hooked with all its exit points, or not at all.
void watched_settle(struct draft *exits, size_t exit_count);

#endif
