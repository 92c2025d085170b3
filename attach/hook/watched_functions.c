// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/watched_functions.h"

#include "attach/hook/exit_points.h"

#include <string.h>

bool verdict_is_unproven(enum hook_verdict verdict)
{
	return verdict == VERDICT_unproven || verdict == VERDICT_no_exit_point || verdict == VERDICT_leaves_by_jump;
}

// What an exit point must know is the result and the size. An old block would have to be brought back if the function
// is left by an exception, which nobody sees; where a block is put, the arguments say, which are gone.
static bool tells_its_block(const struct hook_signature *signature)
{
	return signature->kind == HOOK_allocate && !signature->layout.where &&
	       !(signature->layout.flags & HS_LAYOUT_STRING);
}

bool watched_is_wanted(const struct draft *draft)
{
	enum hook_verdict verdict = draft->hook.record.verdict;
	const struct hook_layout *layout = &draft->candidate->signature.layout;

	if (draft->candidate->added)
		return (verdict == VERDICT_may_unwind || verdict_is_unproven(verdict)) &&
		       tells_its_block(&draft->candidate->signature);
	return (verdict_is_unproven(verdict) || verdict == VERDICT_no_companion) &&
	       layout->flags & HS_LAYOUT_COMPANION && !layout->block;
}

static bool describe(const struct draft *draft, struct whole_function *ret)
{
	const struct relocation_request *request = &draft->request;
	size_t pad = (size_t)(request->address - request->function_start);

	*ret = (struct whole_function){
		.code = request->function_code,
		.size = request->function_size,
		.seen = pad + request->code_size,
		.address = request->function_start,
		.taken = pad + draft->hook.relocation.covered,
	};
	return request->function_code && request->function_size && ret->seen >= ret->size;
}

static enum hook_verdict draft_exit(struct draft *owner, const struct whole_function *function, uint32_t offset,
				    const struct target_memory *memory, struct draft *point)
{
	struct relocation_request *request = &point->request;
	struct hook_record *record = &point->hook.record;
	struct hs_error *error;

	*point = (struct draft){ .candidate = owner->candidate, .module = owner->module, .owner = owner };
	*request = owner->request;
	request->is_exit_point = true;
	request->code = function->code + offset;
	request->code_size = function->seen - offset;
	request->address = request->trampoline = function->address + offset;
	arch_relocate(request, &point->hook.relocation);
	if (point->hook.relocation.verdict != VERDICT_ok)
		return VERDICT_no_exit_point;
	// What is padding to us must not be the start of another function.
	if (request->address - owner->module->load_bias + point->hook.relocation.covered > owner->candidate->next)
		return VERDICT_no_exit_point;
	error = target_memory_read(memory, request->address, record->old_bytes, sizeof(record->old_bytes));
	if (error ||
	    memcmp(record->old_bytes, request->code,
		   point->hook.relocation.covered < sizeof(record->old_bytes) ? point->hook.relocation.covered
									      : sizeof(record->old_bytes)) != 0) {
		hs_error_destroy(error);
		return VERDICT_changed;
	}
	record->function = record->address = request->address;
	record->kind = HOOK_exit_point;
	record->module = owner->hook.record.module;
	memcpy(record->name, owner->hook.record.name, sizeof(record->name));
	return VERDICT_ok;
}

// All exit points of one function, or none.
static size_t find_exits(struct draft *owner, const struct target_memory *memory, struct draft *exits, size_t room)
{
	struct whole_function function;
	struct exit_points found = { .verdict = VERDICT_no_exit_point };

	if (describe(owner, &function) && function.size <= HS_WHOLE_FUNCTION_MAX)
		exit_points_find(&function, &found);
	// The file's code is what was looked at; the target's must be the same, all of it.
	if (found.verdict == VERDICT_ok &&
	    !target_memory_equals(memory, owner->request.function_start, owner->request.function_code,
				  owner->request.function_size))
		found.verdict = VERDICT_changed;
	if (found.verdict == VERDICT_ok && found.count > room)
		found.verdict = VERDICT_no_exit_point;
	for (size_t i = 0; i < found.count && found.verdict == VERDICT_ok; i++)
		found.verdict = draft_exit(owner, &function, found.offsets[i], memory, &exits[i]);
	owner->may_be_watched = found.verdict == VERDICT_ok;
	if (!owner->may_be_watched)
		owner->hook.record.verdict =
			found.verdict == VERDICT_leaves_by_jump ? VERDICT_leaves_by_jump : VERDICT_no_exit_point;
	return owner->may_be_watched ? found.count : 0;
}

size_t watched_find(struct draft *drafts, size_t count, const struct target_memory *memory, struct draft *exits,
		    size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (watched_is_wanted(&drafts[i]) && drafts[i].code_verdict == VERDICT_ok)
			used += find_exits(&drafts[i], memory, exits + used, room - used);
	}
	return used;
}

// Whether the branches of the module leave all its exit points alone.
static bool exits_are_free(const struct draft *owner, const struct draft *exits, size_t exit_count)
{
	for (size_t i = 0; i < exit_count; i++)
		if (exits[i].owner == owner && !draft_is_ok(&exits[i]))
			return false;
	return true;
}

static bool is_unproven_release(const struct draft *draft)
{
	return draft->candidate->verdict == VERDICT_unproven &&
	       hook_kind_only_releases(draft->candidate->signature.kind);
}

void watched_decide(struct draft *drafts, size_t count, const struct draft *exits, size_t exit_count)
{
	bool can_see_ends = true, some = false;

	for (size_t i = 0; i < count; i++)
		if (is_unproven_release(&drafts[i]) && drafts[i].code_verdict != VERDICT_ok &&
		    drafts[i].hook.record.verdict != VERDICT_forwards)
			can_see_ends = false;
	for (size_t i = 0; i < count; i++) {
		struct draft *draft = &drafts[i];

		if (!can_see_ends && !draft->candidate->added)
			continue;
		if (watched_is_wanted(draft) && draft->code_verdict != VERDICT_ok)
			draft->hook.record.verdict = draft->code_verdict;
		if (!draft->may_be_watched || !watched_is_wanted(draft))
			continue;
		if (!exits_are_free(draft, exits, exit_count)) {
			draft->hook.record.verdict = VERDICT_no_exit_point;
			continue;
		}
		some |= !draft->candidate->added;
		draft->hook.record.verdict = VERDICT_ok;
		draft->hook.record.kind = HOOK_watched;
		draft->hook.island.layout.flags = 0;
		draft->hook.companion = 0;
	}
	for (size_t i = 0; i < count && some; i++)
		// Its hook runs before it and leaves no frame, so it needs no proof. One that calls free need not do so
		// with every block.
		if (is_unproven_release(&drafts[i]) && drafts[i].code_verdict == VERDICT_ok)
			drafts[i].hook.record.verdict = VERDICT_ok;
}

void watched_settle(struct draft *exits, size_t exit_count)
{
	for (size_t i = 0; i < exit_count; i++)
		if (!draft_is_ok(&exits[i]) && draft_is_ok(exits[i].owner))
			exits[i].owner->hook.record.verdict = exits[i].hook.record.verdict;
	for (size_t i = 0; i < exit_count; i++)
		if (draft_is_ok(&exits[i]) && !draft_is_ok(exits[i].owner))
			exits[i].hook.record.verdict = exits[i].owner->hook.record.verdict;
}
