// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/forward_drafts.h"

#include "attach/hook/hook_forward.h"
#include "attach/hook/watched_functions.h"

#define SMALL_FUNCTION 64u // bytes

struct all_drafts {
	const struct draft *items;
	size_t count;
	bool releasing;    // only such as give blocks back...
	bool reallocating; // ...or only such as reallocate
};

static bool is_seen(uint64_t address, const void *context)
{
	const struct all_drafts *drafts = context;

	for (size_t i = 0; i < drafts->count; i++) {
		const struct draft *draft = &drafts->items[i];

		if (draft->request.function_start == address && !draft->candidate->indirect)
			return (draft_is_ok(draft) || draft->hook.record.verdict == VERDICT_forwards) &&
			       (!drafts->releasing || hook_kind_only_releases(draft->hook.record.kind)) &&
			       (!drafts->reallocating || (hook_kind_releases(draft->hook.record.kind) &&
							  !hook_kind_only_releases(draft->hook.record.kind)));
	}
	return false;
}

// Whether the function leaves all to one that is seen. C++ operators that are not proved to be their allocator's own
// mostly do: libstdc++'s, linked into a program, call malloc, and a program's own are often made on top of it. So do
// functions that give a block back after a check (mi_cfree), or reallocate one and then set errno (mi__expand): which
// matters when they cannot be hooked.
static bool forwards(const struct draft *draft, struct all_drafts *all, const struct target_memory *memory)
{
	const struct relocation_request *request = &draft->request;
	struct forward_code function = {
		.module = draft->module,
		.code = request->function_code,
		.size = request->function_size ? request->function_size : request->code_size,
		.address = request->function_start,
	};
	enum hook_verdict verdict = draft->hook.record.verdict;
	// A larger one may do the usual case by itself.
	bool is_small = request->function_size > 0 && request->function_size <= SMALL_FUNCTION;
	bool calls = verdict == VERDICT_unproven ||
		     (!draft_is_ok(draft) && hook_kind_releases(draft->hook.record.kind) && is_small);

	// An operator, or another function that makes blocks, may have a way of its own beside the one that calls
	// malloc. One that the user has added is to be seen itself, unless there is nothing of it but a jump.
	if (!draft->candidate->added &&
	    (watched_is_wanted(draft) || hook_makes_unseen(draft->candidate->signature.kind, verdict))) {
		all->releasing = all->reallocating = false;
		return request->function_code && hook_always_forwards(&function, memory, is_seen, all);
	}

	all->releasing = !draft_is_ok(draft) && hook_kind_only_releases(draft->hook.record.kind);
	all->reallocating = !draft_is_ok(draft) && !all->releasing && hook_kind_releases(draft->hook.record.kind);
	return request->function_code && verdict != VERDICT_forwards && verdict != VERDICT_changed &&
	       verdict != VERDICT_not_text && hook_forwards(&function, calls, memory, is_seen, all);
}

void drafts_find_forwards(struct draft *drafts, size_t count, const struct target_memory *memory)
{
	enum { CHAIN_MAX = 4 }; // one leads to another that leads to a third
	struct all_drafts all = { drafts, count, false, false };
	bool found = true;

	for (int round = 0; round < CHAIN_MAX && found; round++) {
		found = false;
		for (size_t i = 0; i < count; i++) {
			if (drafts[i].candidate->signature.kind == HOOK_loader_event ||
			    !forwards(&drafts[i], &all, memory))
				continue;
			drafts[i].hook.record.verdict = VERDICT_forwards;
			found = true;
		}
	}
}
