// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/hook_draft.h"

bool draft_is_allocator(const struct draft *drafts, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++) {
		const struct hook_candidate *candidate = drafts[i].candidate;

		if (drafts[i].request.function_start == address && !candidate->added && !candidate->indirect &&
		    hook_kind_is_function(candidate->signature.kind))
			return candidate->verdict == VERDICT_ok &&
			       !(candidate->signature.layout.flags & HS_LAYOUT_COMPANION);
	}
	return false;
}
