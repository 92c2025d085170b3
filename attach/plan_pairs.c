// SPDX-License-Identifier: Apache-2.0
#include "attach/plan_pairs.h"

#include <stdio.h>
#include <string.h>

// Whether both ends of a block's life can be seen in one module.
static bool has_pair(const struct hook_plan *plan, size_t module)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct hook_record *end = &plan->hooks[i].record;

		if (end->verdict != VERDICT_ok || !hook_kind_only_releases(end->kind) ||
		    (module != HOOK_ANY_MODULE && end->module != module))
			continue;
		for (size_t j = 0; j < plan->count; j++) {
			const struct hook_record *begin = &plan->hooks[j].record;

			if (begin->verdict == VERDICT_ok && begin->module == end->module && !hook_kind_only_releases(begin->kind) &&
			    hook_kind_is_function(begin->kind))
				return true;
		}
	}
	return false;
}

size_t plan_find_used_allocator(const struct hook_candidates *candidates, const struct module_list *modules)
{
	size_t used = HOOK_ANY_MODULE;

	for (size_t i = 0; i < candidates->count; i++) {
		const struct hook_candidate *candidate = &candidates->items[i];
		size_t order = modules->items[candidate->module].link_order;

		if (strcmp(candidate->name, "malloc") == 0 && candidate->exported && order &&
		    (used == HOOK_ANY_MODULE || order < modules->items[used].link_order))
			used = candidate->module;
	}
	return used;
}

// Only the functions that decide; a list of all would bury them.
static bool decides(const struct hook_record *record)
{
	switch (record->verdict) {
	case VERDICT_ok:
	case VERDICT_forwards:
	case VERDICT_untrusted:
		return false;
	case VERDICT_may_unwind:
	case VERDICT_reaches_above:
		return true;
	default:
		return hook_kind_releases(record->kind) || strcmp(record->name, "malloc") == 0;
	}
}

struct hs_error *plan_refuse_unpaired(const struct hook_plan *plan, const struct module_list *modules, pid_t pid)
{
	const size_t used = plan->used_module;
	char reasons[400] = "";
	size_t length = 0;
	bool may_be_named = false;

	if (has_pair(plan, used))
		return NULL;
	for (size_t i = 0; i < plan->count && length < sizeof(reasons) - 1; i++) {
		const struct hook_record *record = &plan->hooks[i].record;

		if (!decides(record) || (used != HOOK_ANY_MODULE && record->module != used))
			continue;
		if (record->verdict == VERDICT_checked_allocator && length > 0)
			continue; // it holds for all of them
		may_be_named |= record->verdict == VERDICT_may_unwind || record->verdict == VERDICT_reaches_above;
		length += (size_t)snprintf(reasons + length, sizeof(reasons) - length, "%s%s in %s: %s", length ? "; " : "", record->name,
					   modules->items[record->module].path, hook_verdict_text(record->verdict));
	}
	return hs_error_create(HS_ERROR_REFUSED, "the allocator that process %d uses cannot be hooked, so nothing could be seen (%s)%s", pid,
			       length ? reasons : "no module has both an allocating function and a free",
			       may_be_named ? "; where it is named by --allocator, as 'malloc=malloc', it may perhaps be watched where it returns" : "");
}
