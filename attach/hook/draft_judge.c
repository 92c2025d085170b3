// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/draft_judge.h"

#include "attach/arch/code_step.h"
#include "attach/hook/draft_branches.h"
#include "attach/hook/register_change.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

// Only the beginning of a larger function is decoded: branch_scan sees far branches, and short ones do not reach so far
// (draft_branches.c).
#define DECODED_MAX       (1u << 16)
#define PADDING_SEEN      32u  // bytes behind a function's end
#define UNKNOWN_SIZE_SEEN 256u // bytes of a function without a size

static size_t smaller(uint64_t left, uint64_t right) { return (size_t)(left < right ? left : right); }

// Fills the request; the trampoline is where the code is, so that nothing is out of reach before a place is chosen.
static enum hook_verdict prepare_request(struct draft *draft, const struct proc_maps *maps)
{
	const struct hook_candidate *candidate = draft->candidate;
	struct relocation_request *request = &draft->request;
	uint64_t to_next = candidate->next - candidate->vaddr;
	const struct proc_map *map;
	uint64_t seen;
	size_t available, pad;

	request->jump_size = HS_JUMP_SIZE;
	request->function_start = draft->module->load_bias + candidate->vaddr;
	request->function_code = elf_view_code(&draft->module->elf, candidate->vaddr, true, &available);
	if (!request->function_code || candidate->indirect)
		return VERDICT_not_text;
	// Writing to a shared mapping would change the file.
	map = proc_maps_find(maps, request->function_start);
	if (!map || !map->executable || map->shared)
		return VERDICT_not_text;
	pad = arch_landing_pad(request->function_code, available);
	request->address = request->trampoline = request->function_start + pad;
	request->function_size = smaller(smaller(candidate->size, available), DECODED_MAX);
	seen = candidate->size ? (uint64_t)request->function_size + PADDING_SEEN : UNKNOWN_SIZE_SEEN;
	if (to_next >= request->function_size)
		seen = smaller(seen, to_next);
	seen = smaller(seen, available);
	if (seen <= pad)
		return VERDICT_too_short;
	request->code = request->function_code + pad;
	request->code_size = (size_t)(seen - pad);
	return VERDICT_ok;
}

// Compares what is about to be overwritten or copied with the target's memory and takes the old bytes from there.
static enum hook_verdict take_old_bytes(struct draft *draft, const struct target_memory *memory,
					struct hs_error **error_ret)
{
	struct hook_record *record = &draft->hook.record;
	uint8_t bytes[HS_ISLAND_TRAMPOLINE_SIZE];
	size_t pad = (size_t)(draft->request.address - draft->request.function_start);
	size_t wanted = draft->hook.relocation.covered > sizeof(record->old_bytes) ? draft->hook.relocation.covered
										   : sizeof(record->old_bytes);
	size_t size = pad + smaller(wanted, draft->request.code_size);
	struct hs_error *error = target_memory_read(memory, draft->request.function_start, bytes, size);

	if (error && error->code != HS_ERROR_FAULT) {
		*error_ret = error;
		return VERDICT_changed;
	}
	hs_error_destroy(error);
	if (error || memcmp(bytes, draft->request.function_code, size) != 0)
		return VERDICT_changed;
	memcpy(record->old_bytes, bytes + pad, smaller(size - pad, sizeof(record->old_bytes)));
	return VERDICT_ok;
}

static enum hook_verdict judge(struct draft *draft, const struct proc_maps *maps, const struct target_memory *memory,
			       struct hs_error **error_ret)
{
	enum hook_verdict verdict = prepare_request(draft, maps);
	const struct relocation_result *relocation = &draft->hook.relocation;

	if (verdict != VERDICT_ok)
		return verdict;
	// First what the target really has: a foreign patch must be called that, not "not relocatable".
	arch_relocate(&draft->request, &draft->hook.relocation);
	verdict = take_old_bytes(draft, memory, error_ret);
	if (verdict != VERDICT_ok)
		return verdict;
	if (relocation->verdict != VERDICT_ok)
		return relocation->verdict;
	if (draft->request.address - draft->module->load_bias + relocation->covered > draft->candidate->next)
		return VERDICT_too_short; // another function begins there
	if (draft->candidate->signature.kind == HOOK_loader_event && !arch_is_bare_return(relocation))
		return VERDICT_too_short; // the payload's entry returns and never continues the original
	// The kernel writes page by page, and a tool that is killed in between would leave half a jump.
	if (draft->request.address / HS_PAGE_SIZE != (draft->request.address + HS_JUMP_SIZE - 1) / HS_PAGE_SIZE)
		return VERDICT_two_pages;
	return VERDICT_ok;
}

// What is called in the function's place or beside it (its companion) may change vector registers that the function
// does not, and those no hook keeps.
static void mind_companion(struct register_search *search, struct draft *draft, const struct register_change *own)
{
	const struct hook_candidate *candidate = draft->candidate;
	struct register_change companion = { .no_vectors = true };

	if (!candidate->companion)
		return;
	draft->hook.companion = draft->module->load_bias + candidate->companion;
	if (!own->all && !draft->is_uncalled)
		register_change_find(search, draft->module, draft->hook.companion, &companion);
	if (companion.no_vectors)
		return;
	draft->hook.companion = 0;
	if (draft_is_ok(draft) && candidate->signature.layout.flags & HS_LAYOUT_COMPANION)
		draft->hook.record.verdict = VERDICT_no_companion;
}

// In a program whoever calls its allocator may have been compiled with it, and nothing is gained there by a proof that
// takes machine code for what a compiler knew.
static bool may_be_quick(const struct draft *draft, const struct register_change *own)
{
	return !draft->module->is_main && draft->candidate->exported && (own->all_general || draft->is_uncalled);
}

void drafts_choose_kinds(struct draft *drafts, size_t count, const struct target_memory *memory)
{
	struct register_search *search = register_search_begin(memory);
	HS_CLEANUP_FREE struct register_change *changes = calloc(count + 1, sizeof(*changes));
	bool all = changes != NULL;

	for (size_t i = 0; i < count && changes; i++) {
		register_change_find(search, drafts[i].module, drafts[i].request.function_start, &changes[i]);
		all &= changes[i].all;
	}
	if (!all)
		drafts_find_uncalled(drafts, count);
	for (size_t i = 0; i < count; i++) {
		const struct register_change own = changes ? changes[i] : (struct register_change){ 0 };
		const enum hook_kind kind = drafts[i].candidate->signature.kind;

		drafts[i].hook.record.kind =
			(uint16_t)(may_be_quick(&drafts[i], &own) ? kind : hook_kind_generic(kind));
		mind_companion(search, &drafts[i], &own);
	}
	register_search_end(search);
}

struct hs_error *drafts_judge(struct draft *drafts, size_t count, const struct proc_maps *maps,
			      const struct target_memory *memory)
{
	struct hs_error *error = NULL;

	for (size_t i = 0; i < count && !error; i++) {
		struct hook_record *record = &drafts[i].hook.record;
		const struct hook_candidate *candidate = drafts[i].candidate;

		record->verdict = drafts[i].code_verdict = judge(&drafts[i], maps, memory, &error);
		if (candidate->verdict != VERDICT_ok)
			record->verdict = candidate->verdict;
		drafts[i].hook.island.layout = candidate->signature.layout;
		record->function = drafts[i].request.function_start;
		record->address = drafts[i].request.address ? drafts[i].request.address : record->function;
		record->module = (uint16_t)candidate->module;
		memcpy(record->name, candidate->name, sizeof(record->name));
	}
	return error;
}
