// SPDX-License-Identifier: Apache-2.0
// A hook being planned. For attach/hook/hook_plan.c and what it is made of.
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_DRAFT_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_DRAFT_H

#include "attach/hook/hook_candidates.h"
#include "attach/hook/planned_hook.h"

struct draft {
	const struct hook_candidate *candidate;
	const struct module *module;
	struct relocation_request request;
	enum hook_verdict code_verdict; // of its code alone, whatever its name says
	struct draft *owner;            // of an exit point: the function's draft; NULL = this is a function
	bool may_be_watched;            // all its exit points have drafts
	bool reaches_above; // it asks for its return address, or for arguments on the stack: they are not there below a
			    // frame of ours
	bool is_uncalled;   // from within its module
	struct planned_hook hook;
};

static inline bool draft_is_ok(const struct draft *draft) { return draft->hook.record.verdict == VERDICT_ok; }

// malloc and its like, as hooked: they neither throw nor are cancellation points, whoever defines them, for they run
// below a frame of ours themselves.
bool draft_is_allocator(const struct draft *drafts, size_t count, uint64_t address);

#endif
