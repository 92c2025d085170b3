// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/malloc_contract.h"

#include "attach/hook/allocator_family.h"
#include "attach/hook/exit_points.h"
#include "attach/hook/function_code.h"
#include "attach/hook/linkage_slots.h"
#include "attach/hook/quiet_names.h"

#include <stdlib.h>

#define FUNCTIONS_MAX 256u // that are followed from all of them; for each, all symbols of its module are looked through
#define DEPTH_MAX     64u  // calls within calls; each takes 1 KiB of the tool's stack
#define ROUNDS_MAX    16u
#define BYTES_MAX     (UINT64_C(8) << 20) // of code, counted as often as it is looked at: about a second

// What a function does, or one that it calls.
enum effect {
	THROWS = 1, // an exception, or the thread's end
	// a cancellation point, or one of the C library's functions of which nobody says that it is none
	IS_CANCELLED = 2,
	ASKS_FOR_CALLERS = 4,
	IS_UNFOLLOWED = 8, // some of it is not known
};

// A function that was met. Its effects only grow, until a round adds none: then those that call each other have each
// other's.
struct met {
	uint64_t address;
	bool in_place; // with the return address that the payload gives the allocation function
	unsigned round;
	bool is_settled; // its effects will not grow
	unsigned effects;
	enum call_outcome outcome; // OUTCOME_returns while it is looked at
};

struct survey {
	const struct draft *drafts;
	size_t count;
	struct linkage_slots slots;
	struct function_codes codes;
	struct met met[FUNCTIONS_MAX];
	size_t met_count;
	unsigned round, depth;
	uint64_t bytes; // that were looked at
	bool has_grown; // some effects have, in this round
	// The function that is looked at:
	const struct module *module;
	bool in_place;
	unsigned *effects;
};

static bool is_allocator(uint64_t address, const void *context)
{
	const struct survey *survey = context;

	return draft_is_allocator(survey->drafts, survey->count, address);
}

static struct met *find_met(struct survey *survey, uint64_t address, bool in_place)
{
	for (size_t i = 0; i < survey->met_count; i++)
		if (survey->met[i].address == address && survey->met[i].in_place == in_place)
			return &survey->met[i];
	if (survey->met_count == FUNCTIONS_MAX)
		return NULL;
	survey->met[survey->met_count] =
		(struct met){ .address = address, .in_place = in_place, .outcome = OUTCOME_returns };
	return &survey->met[survey->met_count++];
}

static enum call_outcome note(struct survey *survey, enum unwinding unwinding)
{
	*survey->effects |= unwinding == UNWINDS_always ? THROWS : IS_CANCELLED;
	return unwinding == UNWINDS_always ? OUTCOME_ends : OUTCOME_returns;
}

static enum call_outcome follow_call(uint64_t target, uint64_t slot, bool in_place, void *context);

static bool find_part(uint64_t target, struct whole_function *ret, void *context)
{
	struct survey *survey = context;
	const struct function_code part = function_codes_find(&survey->codes, survey->module, target);

	*ret = (struct whole_function){ .code = part.code, .size = part.size, .seen = part.size, .address = target };
	return part.code && part.unwinding == UNWINDS_not_known;
}

static enum call_outcome look_at(struct survey *survey, const struct module *module,
				 const struct function_code *function, struct met *met)
{
	const struct whole_function whole = {
		.code = function->code, .size = function->size, .seen = function->size, .address = function->address
	};
	const struct module *caller = survey->module;
	const bool caller_in_place = survey->in_place;
	unsigned *callers_effects = survey->effects, effects = 0;
	struct code_survey seen;

	met->outcome = OUTCOME_returns;
	survey->module = module;
	survey->in_place = met->in_place;
	survey->effects = &effects;
	survey->depth++;
	seen = exit_points_survey(&whole, follow_call, find_part, survey);
	survey->depth--;
	survey->module = caller;
	survey->in_place = caller_in_place;
	survey->effects = callers_effects;
	if (met->in_place && seen.reaches_above)
		effects |= ASKS_FOR_CALLERS;
	if (!seen.is_complete)
		effects |= IS_UNFOLLOWED;
	if (!seen.returns) {
		// what writes a message before it ends the program is no cancellation point that matters
		effects &= ~(unsigned)IS_CANCELLED;
		met->outcome = OUTCOME_ends;
	}
	survey->has_grown |= (met->effects | effects) != met->effects;
	met->effects |= effects;
	return met->outcome;
}

static enum call_outcome survey_function(struct survey *survey, const struct module *module, uint64_t address,
					 bool in_place)
{
	struct function_code function;
	struct met *met = find_met(survey, address, in_place);
	enum call_outcome outcome = OUTCOME_returns;

	if (met && (met->is_settled || met->round == survey->round)) {
		*survey->effects |= met->effects;
		return met->outcome;
	}
	function = function_codes_find(&survey->codes, module, address);
	if (function.asks_for_callers)
		*survey->effects |= ASKS_FOR_CALLERS;
	if (function.unwinding != UNWINDS_not_known)
		return note(survey, function.unwinding);
	survey->bytes += function.size;
	if (!met || !function.code || survey->depth == DEPTH_MAX || survey->bytes > BYTES_MAX) {
		*survey->effects |= IS_UNFOLLOWED;
		return OUTCOME_returns;
	}
	met->round = survey->round;
	outcome = look_at(survey, module, &function, met);
	*survey->effects |= met->effects;
	return outcome;
}

// One of the C library, of which only the name is known.
static enum call_outcome judge_c_library(struct survey *survey, const char *name)
{
	*survey->effects |= name_calls_back(name) ? IS_UNFOLLOWED | IS_CANCELLED : IS_CANCELLED;
	return OUTCOME_returns;
}

static enum call_outcome follow_call(uint64_t target, uint64_t slot, bool in_place, void *context)
{
	struct survey *survey = context;
	struct slot_target found = { .module = survey->module, .address = target };

	in_place &= survey->in_place;
	if (slot)
		found = linkage_slots_find(&survey->slots, survey->module, slot);
	if (found.name && name_asks_for_callers(found.name))
		*survey->effects |= ASKS_FOR_CALLERS;
	if (found.name && unwinding_name(found.name) != UNWINDS_not_known)
		return note(survey, unwinding_name(found.name));
	if (found.module && found.address)
		return is_allocator(found.address, survey)
			       ? OUTCOME_returns
			       : survey_function(survey, found.module, found.address, in_place);
	if (found.outcome != OUTCOME_unknown && slot)
		return found.outcome;
	if (found.is_c_library)
		return judge_c_library(survey, found.name);
	*survey->effects |= IS_UNFOLLOWED; // through a register or a table
	return OUTCOME_returns;
}

// All that the last round came to.
static void settle(struct survey *survey)
{
	for (size_t i = 0; i < survey->met_count; i++)
		survey->met[i].is_settled |= survey->met[i].round == survey->round;
}

static unsigned survey_all(struct survey *survey, const struct module *module, uint64_t address)
{
	unsigned effects;

	for (unsigned rounds = 0; rounds < ROUNDS_MAX; rounds++) {
		effects = 0;
		survey->round++;
		survey->has_grown = false;
		survey->effects = &effects;
		survey_function(survey, module, address, true);
		if (!survey->has_grown) {
			settle(survey);
			return effects;
		}
	}
	return effects | IS_UNFOLLOWED;
}

// Whether it makes blocks below a frame of ours on the word of its name alone.
static bool rests_on_its_name(const struct draft *draft)
{
	const struct hook_candidate *candidate = draft->candidate;

	return draft_is_ok(draft) && !candidate->added && hook_kind_is_function(candidate->signature.kind) &&
	       !hook_kind_only_releases(candidate->signature.kind) &&
	       !(candidate->signature.layout.flags & HS_LAYOUT_COMPANION);
}

// Whoever unwinds needs a function of libgcc's or LLVM's unwinder; one that is part of a program, and has no names
// there, asks the loader for the modules.
static bool can_throw(struct linkage_slots *slots)
{
	static const char *const needed[] = { "_Unwind_RaiseException", "_Unwind_ForcedUnwind", "_Unwind_Resume",
					      "dl_iterate_phdr", "_dl_find_object" };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (linkage_slots_may_ask_for(slots, needed[i]))
			return true;
	return false;
}

static enum hook_verdict judge_effects(unsigned effects, struct linkage_slots *slots)
{
	if (effects & THROWS)
		return VERDICT_may_unwind;
	if (effects & IS_CANCELLED && linkage_slots_may_ask_for(slots, "pthread_cancel"))
		return VERDICT_may_unwind;
	if (effects & ASKS_FOR_CALLERS)
		return VERDICT_reaches_above;
	return effects & IS_UNFOLLOWED && (can_throw(slots) || linkage_slots_may_ask_for(slots, "pthread_cancel"))
		       ? VERDICT_unfollowed
		       : VERDICT_ok;
}

void malloc_contract_check(struct draft *drafts, size_t count, const struct module_list *modules,
			   const struct target_memory *memory)
{
	struct survey *survey = calloc(1, sizeof(*survey));

	if (survey) {
		survey->drafts = drafts;
		survey->count = count;
		survey->codes.memory = memory;
		linkage_slots_init(modules, memory, is_allocator, survey, &survey->slots);
	}
	for (size_t i = 0; i < count; i++) {
		struct draft *draft = &drafts[i];

		if (!rests_on_its_name(draft))
			continue;
		if (!survey)
			draft->hook.record.verdict = VERDICT_unfollowed;
		else if (!allocator_is_known(modules, (size_t)(draft->module - modules->items), &survey->slots.libc,
					     draft->candidate->name))
			draft->hook.record.verdict = judge_effects(
				survey_all(survey, draft->module, draft->request.function_start), &survey->slots);
	}
	if (survey) {
		linkage_slots_deinit(&survey->slots);
		function_codes_deinit(&survey->codes);
	}
	free(survey);
}
