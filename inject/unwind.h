// SPDX-License-Identifier: Apache-2.0
// The call stack of a hook's caller, as a node of the stack table.
#ifndef HEAPSNAP_INJECT_UNWIND_H
#define HEAPSNAP_INJECT_UNWIND_H

#include "arch.h"
#include "payload.h"

// Walks from the hooked function's caller outwards. Returns the node of the innermost frame; never 0. A walk that cannot be completed
// is counted with its reason, and its stack ends in a node that names the reason.
uint32_t unwind_to_node(struct thread_slot *slot, const struct entry_frame *entry) HS_HIDDEN;

// A walk's words are compared so many at a time; what follows the last of them in `checks` repeats it.
enum { UNWIND_CHECKS_STEP = 4 };

// 0 = the word is what it was.
static inline uint64_t unwind_check(const struct walk_check *check) { return *(const uint64_t *)check->address ^ check->value; }

// The same for a stack that is the last one that the thread walked, all of it: every word that the walk has read is what it was. 0 = it is
// not, or not known to be. Independent loads: cheaper than walking, where each frame waits for the one before. It makes no call and
// changes nothing.
static inline uint32_t unwind_again(const struct thread_slot *slot, const struct entry_frame *entry)
{
	const struct walk_check *check = slot->checks, *end;
	uint32_t count = slot->walk_count;
	const struct walked_frame *last;
	uint64_t difference = 0;

	if (HS_UNLIKELY(!count || count > region()->depth ||
			slot->walk_generation != __atomic_load_n(&region()->module_generation, __ATOMIC_ACQUIRE)))
		return 0;
	last = &slot->walk[count - 1];
	// The stack's bounds need no look: the last walk began at the same place.
	if (HS_UNLIKELY(last->sp != (uint64_t)(&entry->return_address + 1) || last->pc != entry->return_address ||
			(last->rbp != entry->rbp && last->flags & WALKED_RBP_MATTERS)))
		return 0;
	for (end = check + last->checks; check < end; check += UNWIND_CHECKS_STEP)
		difference |= unwind_check(check) | unwind_check(check + 1) | unwind_check(check + 2) | unwind_check(check + 3);
	return HS_LIKELY(difference == 0) ? last->node : 0;
}

#endif
