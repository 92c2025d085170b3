// SPDX-License-Identifier: Apache-2.0
#include "attach/hook_candidates.h"

#include "attach/hook_plan.h"
#include "inject/abi/limits.h"

#include <stdlib.h>
#include <string.h>

struct hook_name {
	const char *name;
	enum hook_kind kind;
};

static const struct hook_name hook_names[] = {
#define X(name, kind) { #name, HOOK_##kind },
	HS_HOOK_NAMES(X)
#undef X
};
#define HOOK_NAME_COUNT (sizeof(hook_names) / sizeof(hook_names[0]))

struct search {
	struct hook_candidates *candidates;
	const struct module *module;
	size_t module_index;
	size_t first;	       // the module's first candidate
	uint64_t loader_event; // in p_vaddr space
	bool has_loader_event;
};

static void add_candidate(struct search *search, const struct elf_symbol *symbol, const char *name, unsigned rank,
			  enum hook_kind kind)
{
	struct hook_candidates *candidates = search->candidates;
	struct hook_candidate *candidate = NULL;

	for (size_t i = search->first; i < candidates->count && !candidate; i++) {
		if (candidates->items[i].vaddr == symbol->value)
			candidate = &candidates->items[i];
	}
	if (!candidate) {
		if (candidates->count == HS_HOOKS_MAX) {
			candidates->left_out++;
			return;
		}
		candidate = &candidates->items[candidates->count++];
		*candidate = (struct hook_candidate){
			.module = search->module_index,
			.rank = UINT32_MAX,
			.vaddr = symbol->value,
			.next = UINT64_MAX,
			.local = true,
		};
	}
	if (rank < candidate->rank) {
		candidate->name = name;
		candidate->rank = rank;
		candidate->kind = kind;
	}
	if (symbol->size > candidate->size)
		candidate->size = symbol->size;
	candidate->indirect |= symbol->type == STT_GNU_IFUNC;
	candidate->local &= symbol->binding == STB_LOCAL;
	candidate->exported |= symbol->dynamic && symbol->binding != STB_LOCAL;
}

static bool visit_name(const struct elf_symbol *symbol, void *context)
{
	struct search *search = context;

	if (symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC)
		return true;
	if (search->has_loader_event && symbol->value == search->loader_event)
		add_candidate(search, symbol, "_dl_debug_state", 0, HOOK_loader_event);
	// What the loader does not export are its own helpers for the time before libc is there.
	if (search->module->is_loader && !symbol->dynamic)
		return true;
	for (unsigned i = 0; i < HOOK_NAME_COUNT; i++) {
		if (symbol->name[0] == hook_names[i].name[0] && strcmp(symbol->name, hook_names[i].name) == 0)
			add_candidate(search, symbol, hook_names[i].name, i, hook_names[i].kind);
	}
	return true;
}

static bool visit_neighbour(const struct elf_symbol *symbol, void *context)
{
	struct search *search = context;

	if (symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC && symbol->type != STT_NOTYPE &&
	    symbol->type != STT_OBJECT)
		return true;
	for (size_t i = search->first; i < search->candidates->count; i++) {
		struct hook_candidate *candidate = &search->candidates->items[i];

		if (symbol->value > candidate->vaddr && symbol->value < candidate->next)
			candidate->next = symbol->value;
	}
	return true;
}

// Names that ISO C and POSIX reserve: a function that other modules or files can see under one of them is what it says.
static bool is_reserved_name(const char *name)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

// A static function may be called malloc and be something else altogether, and any program may have a valloc or cfree of its own with other
// arguments, which a hook would spoil. Local symbols are believed only where a whole allocator is there (one whose names were hidden
// when it was linked into a library), unreserved names only beside malloc and free.
static void drop_strays(struct search *search)
{
	struct hook_candidates *candidates = search->candidates;
	const unsigned pair = 1u << HOOK_malloc | 1u << HOOK_free, whole = pair | 1u << HOOK_calloc | 1u << HOOK_realloc;
	unsigned kinds = 0, reserved = 0;
	size_t kept = search->first;

	for (size_t i = search->first; i < candidates->count; i++) {
		kinds |= 1u << candidates->items[i].kind;
		if (is_reserved_name(candidates->items[i].name) && !candidates->items[i].local)
			reserved |= 1u << candidates->items[i].kind;
	}
	if ((kinds & whole) == whole && (reserved & pair) == pair)
		return;
	for (size_t i = search->first; i < candidates->count; i++) {
		const struct hook_candidate *candidate = &candidates->items[i];
		bool believed = candidate->local ? (kinds & whole) == whole && is_reserved_name(candidate->name)
						 : is_reserved_name(candidate->name) || (reserved & pair) == pair;

		if (believed || candidate->kind == HOOK_loader_event)
			candidates->items[kept++] = *candidate;
	}
	candidates->count = kept;
}

// A module without symbols has no candidates, that is all.
static void find_in_module(struct search *search)
{
	hs_error_destroy(elf_view_symbols(&search->module->elf, visit_name, search));
	drop_strays(search);
	if (search->candidates->count > search->first)
		hs_error_destroy(elf_view_symbols(&search->module->elf, visit_neighbour, search));
}

struct hs_error *hook_candidates_find(const struct module_list *modules, struct hook_candidates *ret)
{
	*ret = (struct hook_candidates){ .items = calloc(HS_HOOKS_MAX, sizeof(*ret->items)) };
	if (!ret->items)
		return &hs_error_no_memory;
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];
		struct search search = {
			.candidates = ret,
			.module = module,
			.module_index = i,
			.first = ret->count,
			.loader_event = modules->loader_event - module->load_bias,
			.has_loader_event =
				modules->loader_event >= module->text_low && modules->loader_event < module->text_high,
		};

		if (!module->is_vdso)
			find_in_module(&search);
	}
	return NULL;
}

void hook_candidates_deinit(struct hook_candidates *candidates)
{
	free(candidates->items);
	*candidates = (struct hook_candidates){ 0 };
}
