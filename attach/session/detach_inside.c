// SPDX-License-Identifier: Apache-2.0
#include "attach/session/detach_inside.h"

#include "attach/ptrace/frozen_maps.h"
#include "attach/region/slot_facts.h"

static struct hs_error *count_left(struct detach_state *state, const struct inside_search *search,
				   struct detach_report *report)
{
	struct hs_error *error = left_calls_look(&state->left_calls, search, HS_LEFT_CALLS_SHARE);

	report->calls_left = state->left_calls.count;
	report->calls_unseen = state->left_calls.unseen;
	return error;
}

// Left calls that earlier freezes did not get to come first. While some are unseen nothing can be unmapped, and reading
// the slots would take most of this freeze. So threads are counted only when all left calls were looked at, and a new
// round begins only where no thread is inside.
static struct hs_error *count_threads_and_left(struct detach_state *state, struct frozen_process *frozen,
					       struct slot_facts_list *slots, struct inside_search *search,
					       struct detach_report *report)
{
	const bool goes_on = state->left_calls.unseen > 0;
	struct hs_error *error = goes_on ? count_left(state, search, report) : NULL;

	if (error || report->calls_unseen)
		return error;
	if (state->has_region)
		error = slot_facts_read(&state->region, frozen, slots);
	if (!error)
		error = inside_count(search, frozen, &report->threads_inside, &report->threads_unseen);
	report->calls_lost = slots->guards_lost;
	if (error || goes_on || report->threads_inside + report->threads_unseen > 0)
		return error;
	error = left_calls_list(&state->left_calls, slots);
	return error ? error : count_left(state, search, report);
}

// What is no longer our code may be the program's, whose threads are in it as they like.
struct hs_error *detach_count_inside(struct detach_state *state, struct frozen_process *frozen,
				     struct unwind_tables *tables, struct detach_report *report)
{
	struct slot_facts_list slots = { 0 };
	struct inside_search search = { 0 };
	struct address_range code[HS_CODE_PARTS_MAX];
	size_t code_count = 0;
	const struct proc_maps *maps;
	struct hs_error *error = frozen_maps(frozen, &maps);

	if (error)
		return error;
	for (size_t i = 0; i < state->code_count; i++)
		if (detach_state_is_code(state, maps, i))
			code[code_count++] = state->code[i];
	error = inside_begin(&state->region.memory, maps, &slots, tables, code, code_count, &state->looked_at, &search);
	if (!error)
		error = count_threads_and_left(state, frozen, &slots, &search, report);
	inside_end(&search);
	slot_facts_deinit(&slots);
	return error;
}
