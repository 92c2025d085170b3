// SPDX-License-Identifier: Apache-2.0
// The call stack of a hook's caller, as a node of the stack table.
#ifndef HEAPSNAP_INJECT_WALK_UNWIND_H
#define HEAPSNAP_INJECT_WALK_UNWIND_H

#include "inject/arch/entry_frame.h"
#include "inject/payload.h"

// An entry of the rule cache, which fills the region's part for rules. check = key ^ rule, so that two halves of
// different entries never match.
struct rule_entry {
	uint64_t check;
	uint64_t rule;
};
#define HS_RULE_CACHE_ENTRIES (HS_RULES_SIZE / sizeof(struct rule_entry))
_Static_assert((HS_RULE_CACHE_ENTRIES & (HS_RULE_CACHE_ENTRIES - 1)) == 0, "a power of two");

// Walks from the hooked function's caller outwards. Returns the node of the innermost frame; never 0. A walk that
// cannot be completed is counted with its reason, and its stack ends in a node that names the reason.
uint32_t unwind_to_node(struct thread_slot *slot, const struct entry_frame *entry) HS_HIDDEN;

// Whether a call whose return address lies at `place`, on the thread's own stack, comes from the outermost frames
// alone: all frames are of one module (the libc, which ends the thread), few, and the last one is where the thread
// began. So no signal handler and no hook runs further out.
bool unwind_is_thread_end(struct thread_slot *slot, uint64_t place) HS_HIDDEN;

// Whether all words that are kept of a stack are what they were. They are loaded independently: cheaper than walking,
// where each frame waits for the one before.
static inline bool unwind_words_stand(const struct kept_stack *kept, uint64_t sp)
{
	const struct kept_words *words = kept->words, *end = (const struct kept_words *)((uint64_t)kept + kept->end);
	uint64_t changed;

	do {
		changed = ((const uint64_t *)sp)[words->places[0]] ^ words->values[0];
		changed |= ((const uint64_t *)sp)[words->places[1]] ^ words->values[1];
		changed |= ((const uint64_t *)sp)[words->places[2]] ^ words->values[2];
		changed |= ((const uint64_t *)sp)[words->places[3]] ^ words->values[3];
	} while (!changed && ++words != end);
	return changed == 0;
}

// The stack, if the thread keeps it: what unwind_to_node would give is its node. NULL = it does not. Calls nothing and
// changes nothing. pre: slot->shared.interval is 1; else no memory is spent on kept stacks
static inline const struct kept_stack *unwind_kept(const struct thread_slot *slot, const struct entry_frame *entry)
{
	uint64_t sp = (uint64_t)(&entry->return_address + 1), pc = entry->return_address;
	const struct kept_stack *kept = kept_stack_at(slot, sp, pc), *last = kept_stack_neighbour(kept);

	if (HS_UNLIKELY(slot->kept_generation != __atomic_load_n(&region()->module_generation, __ATOMIC_ACQUIRE)))
		return NULL;
	// The stack's bounds need no look: the walk that is kept began at the same place.
	while (HS_UNLIKELY(kept->pc != pc || kept->sp != sp || !unwind_words_stand(kept, sp))) {
		if (kept == last)
			return NULL;
		kept = last;
	}
	return kept;
}

#endif
