// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/return_proof.h"

#include "attach/hook/exit_points.h"
#include "attach/hook/function_code.h"
#include "attach/hook/linkage_slots.h"

#define FUNCTIONS_MAX 64u // that a proof follows
#define DEPTH_MAX     8u  // calls within calls

// What is known of all drafts' functions.
struct known {
	const struct draft *drafts; // all of them
	size_t count;
	struct linkage_slots slots;
	struct function_codes codes;
};

struct proof {
	struct known *known;
	const struct module *module; // whose code is looked at
	bool in_place;               // it runs with the return address that the payload gives the draft's function
	unsigned depth;
	struct seen {
		uint64_t address;
		bool in_place;
		enum call_outcome
			outcome; // OUTCOME_returns while it is looked at: if all the others hold, so does this
	} seen[FUNCTIONS_MAX];
	size_t seen_count;
};

static enum call_outcome judge_function(struct proof *proof, const struct module *module, uint64_t address,
					bool in_place);

static bool is_allocator(uint64_t address, const void *context)
{
	const struct known *known = context;

	return draft_is_allocator(known->drafts, known->count, address);
}

static enum call_outcome judge_call(uint64_t target, uint64_t slot, bool in_place, void *context)
{
	struct proof *proof = context;

	in_place &= proof->in_place;
	if (slot) {
		struct slot_target found = linkage_slots_find(&proof->known->slots, proof->module, slot);

		return found.module ? judge_function(proof, found.module, found.address, in_place) : found.outcome;
	}
	return target ? judge_function(proof, proof->module, target, in_place) : OUTCOME_unknown;
}

static enum call_outcome judge_function(struct proof *proof, const struct module *module, uint64_t address,
					bool in_place)
{
	struct whole_function whole = { .address = address };
	const struct module *caller = proof->module;
	bool caller_in_place = proof->in_place;
	struct function_code function;
	enum call_outcome outcome;
	size_t place;

	if (is_allocator(address, proof->known))
		return OUTCOME_returns;
	for (size_t i = 0; i < proof->seen_count; i++)
		if (proof->seen[i].address == address && proof->seen[i].in_place == in_place)
			return proof->seen[i].outcome;
	if (proof->seen_count == FUNCTIONS_MAX || proof->depth == DEPTH_MAX)
		return OUTCOME_unknown;
	function = function_codes_find(&proof->known->codes, module, address);
	if (!function.code)
		return OUTCOME_unknown;
	whole.code = function.code;
	whole.size = whole.seen = function.size;
	place = proof->seen_count++;
	proof->seen[place] = (struct seen){ address, in_place, OUTCOME_returns };
	proof->module = module;
	proof->in_place = in_place;
	proof->depth++;
	outcome = exit_points_judge(&whole, in_place, judge_call, proof);
	proof->depth--;
	proof->module = caller;
	proof->in_place = caller_in_place;
	proof->seen[place].outcome = outcome;
	return outcome;
}

// Whether a function, or one that it jumps to in place of a return, is seen to ask for what is above its frame.
// Nobody's word helps there.
struct search_above {
	struct proof functions; // `seen`: looked at
	struct proof calls;
	bool found;
};

static enum call_outcome follow_jump(uint64_t target, uint64_t slot, bool in_place, void *context);

static void search_above(struct search_above *search, const struct module *module, uint64_t address)
{
	struct proof *proof = &search->functions;
	struct whole_function whole = { .address = address };
	const struct module *caller = proof->module;
	struct function_code function;

	for (size_t i = 0; i < proof->seen_count; i++)
		if (proof->seen[i].address == address)
			return;
	if (proof->seen_count == FUNCTIONS_MAX || proof->depth == DEPTH_MAX || is_allocator(address, proof->known))
		return;
	function = function_codes_find(&proof->known->codes, module, address);
	if (!function.code)
		return;
	whole.code = function.code;
	whole.size = whole.seen = function.size;
	proof->seen[proof->seen_count++].address = address;
	proof->module = module;
	proof->depth++;
	search->found |= exit_points_survey(&whole, follow_jump, NULL, search).reaches_above;
	proof->depth--;
	proof->module = caller;
}

static enum call_outcome follow_jump(uint64_t target, uint64_t slot, bool in_place, void *context)
{
	struct search_above *search = context;
	const struct module *module = search->functions.module;

	if (in_place && target) {
		search_above(search, module, target);
	} else if (in_place && slot) {
		struct slot_target found = linkage_slots_find(&search->functions.known->slots, module, slot);

		if (found.module)
			search_above(search, found.module, found.address);
	}
	search->calls.module = module; // what follows a call that ends is other code
	return judge_call(target, slot, false, &search->calls) == OUTCOME_ends ? OUTCOME_ends : OUTCOME_returns;
}

void return_proof_judge(struct draft *drafts, size_t count, const struct module_list *modules,
			const struct target_memory *memory)
{
	struct known known = { .drafts = drafts, .count = count, .codes.memory = memory };
	bool is_ready = false;

	for (size_t i = 0; i < count; i++) {
		struct draft *draft = &drafts[i];
		struct proof proof = { .known = &known };
		struct search_above above;

		if (draft->hook.record.verdict != VERDICT_may_unwind)
			continue;
		if (draft->code_verdict != VERDICT_ok) {
			draft->hook.record.verdict = draft->code_verdict;
			continue;
		}
		if (!is_ready)
			linkage_slots_init(modules, memory, is_allocator, &known, &known.slots);
		is_ready = true;
		if (judge_function(&proof, draft->module, draft->request.function_start, true) != OUTCOME_unknown) {
			draft->hook.record.verdict = VERDICT_ok;
			continue;
		}
		above = (struct search_above){ .functions.known = &known, .calls.known = &known };
		search_above(&above, draft->module, draft->request.function_start);
		draft->reaches_above = above.found;
	}
	if (is_ready)
		linkage_slots_deinit(&known.slots);
	function_codes_deinit(&known.codes);
}
