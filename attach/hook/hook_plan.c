// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/hook_plan.h"

#include "attach/arch/island_code.h"
#include "attach/elf/program_kind.h"
#include "attach/hook/draft_branches.h"
#include "attach/hook/draft_judge.h"
#include "attach/hook/forward_drafts.h"
#include "attach/hook/hook_candidates.h"
#include "attach/hook/hook_draft.h"
#include "attach/hook/hook_verdict.h"
#include "attach/hook/island_place.h"
#include "attach/hook/malloc_contract.h"
#include "attach/hook/plan_pairs.h"
#include "attach/hook/return_proof.h"
#include "attach/hook/unread_allocator.h"
#include "attach/hook/watched_functions.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define ISLANDS_PER_PAGE (HS_PAGE_SIZE / sizeof(struct hook_island))

// Drafts of one module stand together.
static size_t module_end(const struct draft *drafts, size_t count, size_t first)
{
	size_t end = first;

	while (end < count && drafts[end].module == drafts[first].module)
		end++;
	return end;
}

// A standard function that does what none does, or of which nobody can say that it does not.
static bool breaks_contract(const struct draft *draft)
{
	enum hook_verdict verdict = draft->hook.record.verdict;

	return !draft->candidate->added &&
	       (verdict == VERDICT_may_unwind || verdict == VERDICT_reaches_above || verdict == VERDICT_unfollowed);
}

// Blocks that others of the module make would go unseen. An operator that is not proved to be the allocator's own has a
// counterpart that is not hooked either. And where one function of a program's own allocator does what no standard one
// does, the others are not trusted.
static bool is_leak(const struct draft *draft)
{
	enum hook_verdict verdict = draft->hook.record.verdict;

	if (breaks_contract(draft))
		return true;
	return verdict != VERDICT_ok && verdict != VERDICT_forwards && !verdict_is_unproven(verdict) &&
	       draft->candidate->signature.kind != HOOK_reallocarray && hook_kind_releases(draft->hook.record.kind);
}

// See the header: all or nothing where a releasing function is refused.
static void refuse_leaky_module(struct draft *drafts, size_t count, struct diagnostics *diagnostics)
{
	const struct hook_record *refused = NULL;
	bool refused_breaks_contract = false;
	size_t lost = 0;

	for (size_t i = 0; i < count && !refused; i++) {
		if (!is_leak(&drafts[i]))
			continue;
		refused = &drafts[i].hook.record;
		refused_breaks_contract = breaks_contract(&drafts[i]);
	}
	for (size_t i = 0; i < count && refused; i++) {
		if (!draft_is_ok(&drafts[i]) || drafts[i].hook.record.kind == HOOK_loader_event)
			continue;
		drafts[i].hook.record.verdict = refused_breaks_contract ? VERDICT_untrusted : refused->verdict;
		lost++;
	}
	if (lost)
		diagnostics_add(diagnostics, CATEGORY_unseen, DIAGNOSTIC_WARNING, "its blocks will not be seen",
				"no allocation function of %s is hooked, because %s cannot be: %s",
				drafts[0].module->path, refused->name, hook_verdict_text(refused->verdict));
}

// With what depends on it: a function one of whose exit points is refused may be one that gives blocks back, and one
// that is refused here has exit points.
static void refuse_leaky_modules(struct draft *drafts, size_t count, struct draft *exits, size_t exit_count,
				 struct diagnostics *diagnostics)
{
	watched_settle(exits, exit_count);
	for (size_t first = 0, end; first < count; first = end) {
		end = module_end(drafts, count, first);
		refuse_leaky_module(drafts + first, end - first, diagnostics);
	}
	watched_settle(exits, exit_count);
}

static int compare_reach(const void *left, const void *right)
{
	const struct draft *const *a = left, *const *b = right;

	return ((*a)->hook.relocation.reach_low > (*b)->hook.relocation.reach_low) -
	       ((*a)->hook.relocation.reach_low < (*b)->hook.relocation.reach_low);
}

// Gives the drafts one area of islands and makes their trampolines for it.
static void place_cluster(struct draft **drafts, size_t count, struct address_span span,
			  const struct module_list *modules, const struct proc_maps *maps, struct hook_plan *plan)
{
	struct address_span taken[HS_ISLAND_AREAS_MAX];
	struct island_area *area = &plan->areas[plan->area_count];
	size_t pages = (count + ISLANDS_PER_PAGE - 1) / ISLANDS_PER_PAGE;
	uint64_t address = 0;

	for (size_t i = 0; i < plan->area_count; i++)
		taken[i] = (struct address_span){ plan->areas[i].address,
						  plan->areas[i].address + plan->areas[i].pages * HS_PAGE_SIZE };
	if (plan->area_count < HS_ISLAND_AREAS_MAX)
		address =
			island_place(maps, span, pages * HS_PAGE_SIZE, modules->items[0].end, taken, plan->area_count);
	for (size_t i = 0; i < count; i++) {
		struct planned_hook *hook = &drafts[i]->hook;

		if (address) {
			hook->record.island = address + i * sizeof(struct hook_island);
			hook->island_area = plan->area_count;
			hook->island_slot = i;
			drafts[i]->request.trampoline = hook->record.island + HS_ISLAND_TRAMPOLINE_OFFSET;
			arch_relocate(&drafts[i]->request, &hook->relocation);
		}
		hook->record.verdict = address ? hook->relocation.verdict : VERDICT_out_of_reach;
	}
	if (!address)
		return;
	*area = (struct island_area){ .address = address, .slots = count, .pages = pages };
	plan->area_count++;
}

static struct hs_error *place_all(struct draft *drafts, size_t count, const struct module_list *modules,
				  const struct proc_maps *maps, struct hook_plan *plan)
{
	HS_CLEANUP_FREE struct draft **by_reach = calloc(count, sizeof(struct draft *));
	size_t used = 0;

	if (!by_reach)
		return &hs_error_no_memory;
	for (size_t i = 0; i < count; i++) {
		if (draft_is_ok(&drafts[i]))
			by_reach[used++] = &drafts[i];
	}
	qsort(by_reach, used, sizeof(struct draft *), compare_reach);
	for (size_t first = 0, end; first < used; first = end) {
		struct address_span span = { by_reach[first]->hook.relocation.reach_low,
					     by_reach[first]->hook.relocation.reach_high };

		for (end = first + 1; end < used; end++) {
			const struct relocation_result *next = &by_reach[end]->hook.relocation;
			struct address_span wider = { span.low,
						      next->reach_high > span.high ? next->reach_high : span.high };

			if (!island_span_is_small(wider))
				break;
			span = wider;
		}
		place_cluster(by_reach + first, end - first, span, modules, maps, plan);
	}
	return NULL;
}

static unsigned order_of(enum hook_kind kind)
{
	return kind == HOOK_loader_event ? 0 : hook_kind_only_releases(kind) ? 1 : 2;
}

static int compare_order(const void *left, const void *right)
{
	const struct planned_hook *a = left, *b = right;
	unsigned a_order = order_of(a->record.kind), b_order = order_of(b->record.kind);

	if (a_order != b_order)
		return a_order < b_order ? -1 : 1;
	return (a->record.function > b->record.function) - (a->record.function < b->record.function);
}

// Where a function runs unhooked: its trampoline, or itself.
static uint64_t unhooked(const struct hook_plan *plan, uint64_t function)
{
	for (size_t i = 0; i < plan->count && function; i++) {
		const struct hook_record *record = &plan->hooks[i].record;

		if (record->function == function && record->kind != HOOK_exit_point && record->verdict == VERDICT_ok)
			return record->island + HS_ISLAND_TRAMPOLINE_OFFSET;
	}
	return function;
}

// Puts the hooks in their order; from here on a hook's index is known, and with it its island and its jump.
static void finish(struct hook_plan *plan, const struct hook_goals *goals)
{
	qsort(plan->hooks, plan->count, sizeof(*plan->hooks), compare_order);
	for (size_t i = 0; i < plan->count; i++) {
		struct planned_hook *hook = &plan->hooks[i];
		struct hook_record *record = &hook->record;
		const struct hook_layout layout = hook->island.layout;

		record->state = record->verdict == VERDICT_ok ? HOOK_PLANNED : HOOK_REFUSED;
		if (record->state == HOOK_REFUSED)
			continue;
		arch_fill_island(goals->entries[record->kind], (uint32_t)i, (enum hook_kind)record->kind,
				 &hook->relocation, &hook->island);
		inline_fast_path_fill(goals, &hook->island);
		record->size = HS_JUMP_SIZE;
		record->covered = (uint8_t)hook->relocation.covered;
		memcpy(record->new_bytes, record->old_bytes, sizeof(record->new_bytes));
		jump_encode(record->new_bytes, record->address, record->island + hook->island.begin);
		hook->island.companion = unhooked(plan, hook->companion);
		hook->island.layout = layout;
		hook->island.address = record->address;
		hook->island.size = record->size;
		memcpy(hook->island.old_bytes, record->old_bytes, sizeof(hook->island.old_bytes));
	}
}

static bool has_allocator(const struct hook_candidates *candidates)
{
	for (size_t i = 0; i < candidates->count; i++) {
		if (candidates->items[i].signature.kind != HOOK_loader_event)
			return true;
	}
	return false;
}

// Whether the user's claim would do (`nothrow`): that no exception, and no thread that is cancelled, meets a frame of
// ours below the function.
static bool would_need_nothrow(const struct draft *draft)
{
	return draft->candidate->verdict == VERDICT_may_unwind && draft->code_verdict == VERDICT_ok &&
	       (draft->hook.record.verdict == VERDICT_may_unwind || verdict_is_unproven(draft->hook.record.verdict));
}

// The user's claim is accepted only where nothing else is left: where it is wrong, an exception ends the target. It
// says nothing of what the function finds on the stack.
static void accept_nothrow_claims(struct draft *drafts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (would_need_nothrow(&drafts[i]) && drafts[i].reaches_above)
			drafts[i].hook.record.verdict = VERDICT_reaches_above;
		else if (drafts[i].candidate->nothrow && would_need_nothrow(&drafts[i]))
			drafts[i].hook.record.verdict = VERDICT_ok;
	}
}

// A user who asks for a function wants it, and not the rest without it.
static struct hs_error *refuse_without_additions(const struct draft *drafts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct hook_record *record = &drafts[i].hook.record;

		if (drafts[i].candidate->added && !draft_is_ok(&drafts[i]) && record->verdict != VERDICT_forwards)
			return hs_error_create(
				HS_ERROR_REFUSED, "%s of %s (--allocator) cannot be hooked: %s%s", record->name,
				drafts[i].module->path, hook_verdict_text(record->verdict),
				would_need_nothrow(&drafts[i])
					? "; only if it surely never throws and is no cancellation point, add the word nothrow: 'NAME=KIND nothrow'. If that "
					  "is wrong, the first exception ends the process"
					: "");
	}
	return NULL;
}

static struct hs_error *make(const struct hook_candidates *candidates, const struct module_list *modules,
			     const struct proc_maps *maps, const struct target_memory *memory,
			     const struct hook_goals *goals, struct diagnostics *diagnostics, struct hook_plan *plan)
{
	size_t count = candidates->count, exit_count = 0;
	HS_CLEANUP_FREE struct draft *drafts = calloc(HS_HOOKS_MAX, sizeof(*drafts));
	struct draft *exits = drafts + count;
	struct hs_error *error;

	plan->hooks = calloc(HS_HOOKS_MAX, sizeof(*plan->hooks));
	if (!drafts || !plan->hooks)
		return &hs_error_no_memory;
	for (size_t i = 0; i < count; i++) {
		drafts[i].candidate = &candidates->items[i];
		drafts[i].module = &modules->items[candidates->items[i].module];
	}
	error = drafts_judge(drafts, count, maps, memory);
	if (error)
		return error;
	for (size_t first = 0, end; first < count; first = end) {
		end = module_end(drafts, count, first);
		drafts_choose_kinds(drafts + first, end - first, memory);
	}
	return_proof_judge(drafts, count, modules, memory);
	malloc_contract_check(drafts, count, modules, memory);
	for (size_t first = 0, end; first < count; first = end) {
		size_t found;

		end = module_end(drafts, count, first);
		found = watched_find(drafts + first, end - first, memory, exits + exit_count,
				     HS_HOOKS_MAX - count - exit_count);
		drafts_check_branches(drafts + first, end - first, exits + exit_count, found);
		exit_count += found;
	}
	drafts_find_forwards(drafts, count, memory);
	for (size_t first = 0, end; first < count; first = end) {
		end = module_end(drafts, count, first);
		watched_decide(drafts + first, end - first, exits, exit_count);
	}
	accept_nothrow_claims(drafts, count);
	drafts_find_forwards(drafts, count, memory); // to those
	watched_settle(exits, exit_count);
	error = refuse_without_additions(drafts, count); // before another function is refused for its sake
	if (error)
		return error;
	refuse_leaky_modules(drafts, count, exits, exit_count, diagnostics);
	error = place_all(drafts, count + exit_count, modules, maps, plan);
	if (error)
		return error;
	refuse_leaky_modules(drafts, count, exits, exit_count, diagnostics); // a place may have been out of reach
	for (size_t i = 0; i < count; i++)
		plan->hooks[plan->count++] = drafts[i].hook;
	for (size_t i = 0; i < exit_count; i++) // of those that are not hooked nothing need be said
		if (draft_is_ok(&exits[i]))
			plan->hooks[plan->count++] = exits[i].hook;
	finish(plan, goals);
	plan->used_module = plan_find_used_allocator(candidates, modules);
	error = unread_allocator_refuse(modules, plan->used_module, memory);
	if (error)
		return error;
	return plan_refuse_unpaired(plan, modules, memory->process);
}

struct hs_error *hook_plan_make(const struct module_list *modules, const struct proc_maps *maps,
				const struct target_memory *memory, const struct hook_additions *additions,
				const struct hook_goals *goals, struct diagnostics *diagnostics, struct hook_plan *ret)
{
	struct hook_plan plan = { 0 };
	struct hook_candidates candidates;
	struct hs_error *error = hook_candidates_find(modules, additions, &candidates);

	*ret = plan;
	if (error)
		return error;
	if (!has_allocator(&candidates))
		error = hs_error_create(HS_ERROR_REFUSED,
					"no allocation function found in any module of process %d: %s",
					memory->process->pid, program_why_no_allocator(modules));
	if (candidates.left_out)
		diagnostics_add(diagnostics, CATEGORY_unseen, DIAGNOSTIC_WARNING, "their blocks will not be seen",
				"%zu allocation functions of process %d are not hooked: more than %u in all",
				candidates.left_out, memory->process->pid, HS_HOOKS_MAX);
	if (candidates.copy_count)
		diagnostics_add(
			diagnostics, CATEGORY_unseen, DIAGNOSTIC_WARNING,
			"name them with --allocator, with the arguments that they have left",
			"the compiler has made %zu cop%s of hooked functions for some of their callers, whose blocks will not be seen: %s",
			candidates.copy_count, candidates.copy_count == 1 ? "y" : "ies", candidates.copies);
	if (!error)
		error = make(&candidates, modules, maps, memory, goals, diagnostics, &plan);
	hook_candidates_deinit(&candidates);
	*ret = plan;
	return error;
}

void hook_plan_deinit(struct hook_plan *plan)
{
	free(plan->hooks);
	*plan = (struct hook_plan){ 0 };
}

bool hook_plan_follows_loader(const struct hook_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->hooks[i].record.kind == HOOK_loader_event && plan->hooks[i].record.verdict == VERDICT_ok)
			return true;
	return false;
}
