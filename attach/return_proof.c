// SPDX-License-Identifier: Apache-2.0
#include "attach/return_proof.h"

#include "attach/allocator_family.h"
#include "attach/linkage_slots.h"
#include "attach/quiet_names.h"
#include "attach/ways_out.h"

#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX 64u // that a proof follows
#define DEPTH_MAX 8u      // calls within calls; each takes 100 KiB of the tool's stack

// What is known of all drafts' functions.
struct known {
	const struct draft *drafts; // all of them
	size_t count;
	const struct target_memory *memory;
	struct linkage_slots slots;
	struct function {
		uint64_t address;
		const uint8_t *code; // NULL = none, or memory has something else
		size_t size;
		enum unwinding unwinding; // by its name
	} *functions;
	size_t function_count, function_room;
};

struct proof {
	struct known *known;
	const struct module *module; // whose code is looked at
	bool in_place; // it runs with the return address that the payload gives the draft's function
	unsigned depth;
	struct seen {
		uint64_t address;
		bool in_place;
		enum way_of_call way; // WAY_returns while it is looked at: if all the others hold, so does this
	} seen[FUNCTIONS_MAX];
	size_t seen_count;
};

static enum way_of_call judge_function(struct proof *proof, const struct module *module, uint64_t address, bool in_place);

struct name_search {
	uint64_t vaddr, size;
	enum unwinding unwinding;
};

static bool visit_name(const struct elf_symbol *symbol, void *context)
{
	struct name_search *search = context;

	if (symbol->type != STT_FUNC || symbol->value != search->vaddr)
		return true;
	if (symbol->size > search->size)
		search->size = symbol->size;
	if (search->unwinding == UNWINDS_not_known)
		search->unwinding = unwinding_name(symbol->name);
	return true;
}

// The function's bytes in the file, as far as its symbol says, or, where none does, as far as a function goes that is looked at.
static void find_code(const struct module *module, struct function *function)
{
	struct name_search search = { .vaddr = function->address - module->load_bias };
	size_t left;
	const uint8_t *code = elf_view_code(&module->elf, search.vaddr, false, &left);

	if (!code)
		return;
	hs_error_destroy(elf_view_symbols(&module->elf, visit_name, &search));
	function->unwinding = search.unwinding;
	if (search.size > HS_WHOLE_FUNCTION_MAX || search.size > left)
		return;
	function->code = code;
	function->size = search.size ? (size_t)search.size : left < HS_WHOLE_FUNCTION_MAX ? left : HS_WHOLE_FUNCTION_MAX;
}

// malloc and its like neither throw nor are cancellation points, whoever defines them: they run below a frame of ours themselves.
static bool is_allocator(uint64_t address, const void *context)
{
	const struct known *known = context;

	for (size_t i = 0; i < known->count; i++) {
		const struct draft *draft = &known->drafts[i];

		if (draft->request.function_start == address && !draft->candidate->added && !draft->candidate->indirect &&
		    hook_kind_is_function(draft->candidate->signature.kind))
			return draft->candidate->verdict == VERDICT_ok && !(draft->candidate->signature.layout.flags & HS_LAYOUT_COMPANION);
	}
	return false;
}

static struct function read_function(const struct known *known, const struct module *module, uint64_t address)
{
	struct function function = { .address = address };

	find_code(module, &function);
	if (function.code && !target_memory_equals(known->memory, address, function.code, function.size))
		function.code = NULL;
	return function;
}

// Each is looked for once: that takes a walk through all symbols of its module.
static struct function find_function(struct known *known, const struct module *module, uint64_t address)
{
	struct function function;

	for (size_t i = 0; i < known->function_count; i++)
		if (known->functions[i].address == address)
			return known->functions[i];
	function = read_function(known, module, address);
	if (known->function_count == known->function_room) {
		size_t room = known->function_room ? 2 * known->function_room : FUNCTIONS_MAX;
		struct function *grown = realloc(known->functions, room * sizeof(*grown));

		if (!grown)
			return function;
		known->functions = grown;
		known->function_room = room;
	}
	return known->functions[known->function_count++] = function;
}

static enum way_of_call judge_call(uint64_t target, uint64_t slot, bool in_place, void *context)
{
	struct proof *proof = context;

	in_place &= proof->in_place;
	if (slot) {
		struct slot_target found = linkage_slots_find(&proof->known->slots, proof->module, slot);

		return found.module ? judge_function(proof, found.module, found.address, in_place) : found.way;
	}
	return target ? judge_function(proof, proof->module, target, in_place) : WAY_unknown;
}

static enum way_of_call judge_function(struct proof *proof, const struct module *module, uint64_t address, bool in_place)
{
	struct whole_function whole = { .address = address };
	const struct module *caller = proof->module;
	bool caller_in_place = proof->in_place;
	struct function function;
	enum way_of_call way;
	size_t place;

	if (is_allocator(address, proof->known))
		return WAY_returns;
	for (size_t i = 0; i < proof->seen_count; i++)
		if (proof->seen[i].address == address && proof->seen[i].in_place == in_place)
			return proof->seen[i].way;
	if (proof->seen_count == FUNCTIONS_MAX || proof->depth == DEPTH_MAX)
		return WAY_unknown;
	function = find_function(proof->known, module, address);
	if (!function.code)
		return WAY_unknown;
	whole.code = function.code;
	whole.size = whole.seen = function.size;
	place = proof->seen_count++;
	proof->seen[place] = (struct seen){ address, in_place, WAY_returns };
	proof->module = module;
	proof->in_place = in_place;
	proof->depth++;
	way = ways_out_judge(&whole, in_place, judge_call, proof);
	proof->depth--;
	proof->module = caller;
	proof->in_place = caller_in_place;
	proof->seen[place].way = way;
	return way;
}

// Whether a function, or one that it jumps to in place of a return, is seen to ask for what is above its frame. Nobody's word helps there.
struct search_above {
	struct proof functions; // `seen`: looked at
	struct proof calls;
	bool found;
};

static enum way_of_call follow_jump(uint64_t target, uint64_t slot, bool in_place, void *context);

static void search_above(struct search_above *search, const struct module *module, uint64_t address)
{
	struct proof *proof = &search->functions;
	struct whole_function whole = { .address = address };
	const struct module *caller = proof->module;
	struct function function;

	for (size_t i = 0; i < proof->seen_count; i++)
		if (proof->seen[i].address == address)
			return;
	if (proof->seen_count == FUNCTIONS_MAX || proof->depth == DEPTH_MAX || is_allocator(address, proof->known))
		return;
	function = find_function(proof->known, module, address);
	if (!function.code)
		return;
	whole.code = function.code;
	whole.size = whole.seen = function.size;
	proof->seen[proof->seen_count++].address = address;
	proof->module = module;
	proof->depth++;
	if (ways_out_survey(&whole, follow_jump, search).reaches_above)
		search->found = true;
	proof->depth--;
	proof->module = caller;
}

static enum way_of_call follow_jump(uint64_t target, uint64_t slot, bool in_place, void *context)
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
	return judge_call(target, slot, false, &search->calls) == WAY_ends ? WAY_ends : WAY_returns;
}

void return_proof_judge(struct draft *drafts, size_t count, const struct module_list *modules, const struct target_memory *memory)
{
	struct known known = { .drafts = drafts, .count = count, .memory = memory };
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
		if (judge_function(&proof, draft->module, draft->request.function_start, true) != WAY_unknown) {
			draft->hook.record.verdict = VERDICT_ok;
			continue;
		}
		above = (struct search_above){ .functions.known = &known, .calls.known = &known };
		search_above(&above, draft->module, draft->request.function_start);
		draft->reaches_above = above.found;
	}
	if (is_ready)
		linkage_slots_deinit(&known.slots);
	free(known.functions);
}

// What an allocation function, or what it calls, is seen to do.
struct refutation {
	struct proof functions; // `seen`: looked at, with how each is left
	bool above, unwinds, is_cancelled;
};

static enum way_of_call follow_call(uint64_t target, uint64_t slot, bool in_place, void *context);

static enum way_of_call note_unwinding(struct refutation *seen, enum unwinding unwinding)
{
	seen->unwinds |= unwinding == UNWINDS_always;
	seen->is_cancelled |= unwinding == UNWINDS_cancelled;
	return unwinding == UNWINDS_always ? WAY_ends : WAY_returns;
}

// `in_place`: with the return address that the payload gives the allocation function.
static enum way_of_call survey_function(struct refutation *seen, const struct module *module, uint64_t address, bool in_place)
{
	struct proof *proof = &seen->functions;
	struct whole_function whole = { .address = address };
	const struct module *caller = proof->module;
	bool caller_in_place = proof->in_place, was_cancelled = seen->is_cancelled;
	struct way_survey survey;
	struct function function;
	size_t place;

	for (size_t i = 0; i < proof->seen_count; i++)
		if (proof->seen[i].address == address && proof->seen[i].in_place == in_place)
			return proof->seen[i].way;
	if (proof->seen_count == FUNCTIONS_MAX || proof->depth == DEPTH_MAX)
		return WAY_returns;
	function = find_function(proof->known, module, address);
	if (function.unwinding != UNWINDS_not_known)
		return note_unwinding(seen, function.unwinding);
	if (!function.code)
		return WAY_returns;
	whole.code = function.code;
	whole.size = whole.seen = function.size;
	place = proof->seen_count++;
	proof->seen[place] = (struct seen){ address, in_place, WAY_returns };
	proof->module = module;
	proof->in_place = in_place;
	proof->depth++;
	survey = ways_out_survey(&whole, follow_call, seen);
	proof->depth--;
	proof->module = caller;
	proof->in_place = caller_in_place;
	seen->above |= in_place && survey.reaches_above;
	if (survey.returns)
		return WAY_returns;
	seen->is_cancelled = was_cancelled; // what writes a message before it ends the program is no cancellation point that matters
	return proof->seen[place].way = WAY_ends;
}

static enum way_of_call follow_call(uint64_t target, uint64_t slot, bool in_place, void *context)
{
	struct refutation *seen = context;
	struct proof *proof = &seen->functions;
	struct slot_target found = { .module = proof->module, .address = target };

	in_place &= proof->in_place;
	if (slot) {
		found = linkage_slots_find(&proof->known->slots, proof->module, slot);
		if (found.name && unwinding_name(found.name) != UNWINDS_not_known)
			return note_unwinding(seen, unwinding_name(found.name));
	}
	if (!found.module || !found.address)
		return found.way == WAY_ends ? WAY_ends : WAY_returns;
	if (is_allocator(found.address, proof->known))
		return WAY_returns;
	return survey_function(seen, found.module, found.address, in_place);
}

// Whether it makes blocks below a frame of ours on the word of its name alone.
static bool rests_on_its_name(const struct draft *draft)
{
	const struct hook_candidate *candidate = draft->candidate;

	return draft->hook.record.verdict == VERDICT_ok && !candidate->added && hook_kind_is_function(candidate->signature.kind) &&
	       !hook_kind_only_releases(candidate->signature.kind) && !(candidate->signature.layout.flags & HS_LAYOUT_COMPANION);
}

// glibc's, in a second copy too (dlmopen).
static bool is_of_known_allocator(const struct draft *draft, const struct module_list *modules, const struct libc_info *libc)
{
	struct elf_symbol symbol;

	return draft->module->is_loader || elf_view_find_symbol(&draft->module->elf, "__libc_malloc", &symbol) ||
	       strcmp(allocator_family(modules, (size_t)(draft->module - modules->items), libc), "other") != 0;
}

void return_proof_refute(struct draft *drafts, size_t count, const struct module_list *modules, const struct target_memory *memory)
{
	struct known known = { .drafts = drafts, .count = count, .memory = memory };
	const struct module *asked = NULL;
	bool is_known = false;

	linkage_slots_init(modules, memory, is_allocator, &known, &known.slots);
	for (size_t i = 0; i < count; i++) {
		struct refutation seen = { .functions.known = &known };
		struct draft *draft = &drafts[i];

		if (!rests_on_its_name(draft))
			continue;
		if (draft->module != asked)
			is_known = is_of_known_allocator(draft, modules, &known.slots.libc);
		asked = draft->module;
		if (is_known)
			continue;
		survey_function(&seen, draft->module, draft->request.function_start, true);
		if (seen.unwinds || (seen.is_cancelled && linkage_slots_ask_for(&known.slots, "pthread_cancel")))
			draft->hook.record.verdict = VERDICT_may_unwind;
		else if (seen.above)
			draft->hook.record.verdict = VERDICT_reaches_above;
	}
	linkage_slots_deinit(&known.slots);
	free(known.functions);
}
