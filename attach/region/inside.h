// SPDX-License-Identifier: Apache-2.0
// Whether a stopped thread is inside the payload: its pc there, or a return address that it will come back to.
#ifndef HEAPSNAP_ATTACH_REGION_INSIDE_H
#define HEAPSNAP_ATTACH_REGION_INSIDE_H

#include "attach/process/address_range.h"
#include "attach/ptrace/stack_reader.h"
#include "attach/ptrace/stack_walk.h"
#include "attach/region/looked_at.h"
#include "attach/region/slot_facts.h"
#include "base/error.h"

#include <stdbool.h>

// Bytes of stacks that one freeze looks at, as the two below. What was never written costs next to nothing.
#define HS_INSIDE_SHARE     (UINT64_C(64) << 20)
#define HS_INSIDE_ELSEWHERE (UINT64_C(1) << 30)

// What is asked of all threads of one freeze.
struct inside_search {
	struct stack_reader reader;
	const struct slot_facts_list *slots;
	struct unwind_tables *tables;       // read before the freeze
	const struct address_range *ranges; // the payload's executable mappings
	size_t range_count;
	uint64_t *words; // buffer; NULL = not begun
	uint64_t share,
		left; // bytes that may be read of stacks of which is remembered what they have told, and that still may
	uint64_t left_elsewhere;          // of others, which each freeze looks at anew
	struct looked_at_list *looked_at; // of the freezes before, all without hooks; NULL = nothing is remembered
	bool was_cut;                     // in the last check: this thread's turn comes in a later freeze
};

// `maps` are the target's now. pre: every thread is stopped; slots, tables and what is remembered outlive the search.
struct hs_error *inside_begin(const struct target_memory *memory, const struct proc_maps *maps,
			      const struct slot_facts_list *slots, struct unwind_tables *tables,
			      const struct address_range *ranges, size_t range_count, struct looked_at_list *looked_at,
			      struct inside_search *ret) HS_MUST_CHECK;
void inside_end(struct inside_search *search);

// A thread none of whose stack's words points into the ranges is surely outside. Where a word does, it is inside if
// - its slot says that a hook runs there;
// - a walk meets the ranges;
// - the walk ends early and a word further out points into the ranges, unless the slot says that no hook runs and no
// signal frame leads into the payload. While the thread is on another stack than its outermost hook (a signal
// handler's), or in a frame further out, the words just below the hook's return address decide. Likewise for hooks that
// were taken for abandoned, on stacks that are not the thread's own. Stacks to which handlers on alternate stacks will
// return are looked at too: on the thread's own stack only a signal frame that leads into the payload counts, on others
// each word that points there. With 64 such stacks or more the thread is taken to be inside. Of a stack whose end is
// not known no more than 1 MiB is looked at; where that is not all of it, a thread is outside if a walk proves it, if
// its slot says that no hook runs, or if it has none and no word there points into the ranges. Where the share is spent
// before all of a stack was looked at, the thread is taken to be inside, and what was proved is remembered. was_cut is
// set where the next freeze may tell more: this thread's turn comes early then. pre: no remote call is open in the
// thread.
struct hs_error *inside_check(struct inside_search *search, const struct frozen_thread *thread,
			      bool *inside_ret) HS_MUST_CHECK;

// All threads of a freeze, those first that were not looked at yet, or the longest time ago. *unseen_ret: further ones,
// whose turn comes in a later freeze. pre: as inside_check, and something is remembered
struct hs_error *inside_count(struct inside_search *search, const struct frozen_process *frozen, size_t *inside_ret,
			      size_t *unseen_ret) HS_MUST_CHECK;

#endif
