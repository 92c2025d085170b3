// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/plan_pairs.h"

#include "attach/hook/hook_verdict.h"

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

			if (begin->verdict == VERDICT_ok && begin->module == end->module &&
			    !hook_kind_only_releases(begin->kind) && hook_kind_is_function(begin->kind))
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
	case VERDICT_unfollowed:
		return true;
	default:
		return hook_kind_releases(record->kind) || strcmp(record->name, "malloc") == 0;
	}
}

static bool is_reason(const struct hook_plan *plan, size_t index)
{
	const struct hook_record *record = &plan->hooks[index].record;

	return decides(record) && (plan->used_module == HOOK_ANY_MODULE || record->module == plan->used_module);
}

// The first reason with the same words.
static bool is_said_before(const struct hook_plan *plan, size_t index)
{
	const struct hook_record *record = &plan->hooks[index].record;

	for (size_t i = 0; i < index; i++)
		if (is_reason(plan, i) && plan->hooks[i].record.verdict == record->verdict &&
		    plan->hooks[i].record.module == record->module)
			return true;
	return false;
}

// "malloc, calloc in MODULE: why; ..."
static void list_reasons(const struct hook_plan *plan, const struct module_list *modules, char *text, size_t size)
{
	size_t length = 0;

	text[0] = 0;
	for (size_t i = 0; i < plan->count && length < size - 1; i++) {
		const struct hook_record *record = &plan->hooks[i].record;

		if (!is_reason(plan, i) || is_said_before(plan, i))
			continue;
		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? "; " : "", record->name);
		for (size_t j = i + 1; j < plan->count && length < size - 1; j++)
			if (is_reason(plan, j) && plan->hooks[j].record.verdict == record->verdict &&
			    plan->hooks[j].record.module == record->module)
				length += (size_t)snprintf(text + length, size - length, ", %s",
							   plan->hooks[j].record.name);
		if (length < size - 1)
			length += (size_t)snprintf(text + length, size - length, " in %s: %s",
						   modules->items[record->module].path,
						   hook_verdict_text(record->verdict));
	}
}

// What the user may do about it.
static void find_remedy(const struct hook_plan *plan, char *text, size_t size)
{
	text[0] = 0;
	for (size_t i = 0; i < plan->count && !text[0]; i++) {
		const struct hook_record *record = &plan->hooks[i].record;

		if (!is_reason(plan, i))
			continue;
		if (record->verdict == VERDICT_may_unwind || record->verdict == VERDICT_reaches_above)
			snprintf(text, size,
				 "; named by --allocator '%s=%s', it may perhaps be watched where it returns",
				 record->name, record->name);
		else if (record->verdict == VERDICT_unfollowed)
			snprintf(
				text, size,
				"; only if these surely never throw and are no cancellation points, say so of each: --allocator '%s=%s nothrow'. If that is "
				"wrong, the first exception ends the process",
				record->name, record->name);
	}
}

struct hs_error *plan_refuse_unpaired(const struct hook_plan *plan, const struct module_list *modules,
				      const struct process *process)
{
	char reasons[600], remedy[400];

	if (has_pair(plan, plan->used_module))
		return NULL;
	list_reasons(plan, modules, reasons, sizeof(reasons));
	find_remedy(plan, remedy, sizeof(remedy));
	return hs_error_create(HS_ERROR_REFUSED,
			       "the allocator that process %d uses cannot be hooked, so nothing could be seen (%s)%s",
			       process->pid,
			       reasons[0] ? reasons : "no module has both an allocating function and a free", remedy);
}
