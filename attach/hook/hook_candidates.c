// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/hook_candidates.h"

#include "attach/arch/branch_scan.h"
#include "attach/hook/allocator_family.h"
#include "attach/hook/allocator_table.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "inject/abi/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A symbol of a name that is looked for.
struct mention {
	const struct allocator_name *row; // NULL: the loader's event, or an addition
	const struct hook_addition *addition;
	struct elf_symbol symbol;
};

struct search {
	struct hook_candidates *candidates;
	const struct hook_additions *additions;
	const struct allocator_name **names; // sorted
	const struct module *module;
	size_t module_index;
	size_t first;          // the module's first candidate
	uint64_t loader_event; // in p_vaddr space
	bool has_loader_event;
	struct mention *mentions;
	size_t mention_count, mention_room;
	bool *addition_found; // for each addition
	struct hs_error *error;
};

// jemalloc's, with which the extended functions may begin.
static const char *const jemalloc_prefixes[] = { "", "je_", "_rjem_" };

static int compare_names(const void *left, const void *right)
{
	const struct allocator_name *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

static const struct allocator_name **sort_names(void)
{
	const struct allocator_name **names = calloc(allocator_name_count, sizeof(*names));

	if (!names)
		return NULL;
	for (size_t i = 0; i < allocator_name_count; i++)
		names[i] = &allocator_names[i];
	qsort(names, allocator_name_count, sizeof(*names), compare_names);
	return names;
}

static const struct allocator_name *find_name(const struct search *search, const char *name)
{
	const struct allocator_name key = { .name = name }, *key_pointer = &key;
	const struct allocator_name **found =
		bsearch(&key_pointer, search->names, allocator_name_count, sizeof(*search->names), compare_names);

	return found ? *found : NULL;
}

static bool add_mention(struct search *search, const struct allocator_name *row, const struct hook_addition *addition,
			const struct elf_symbol *symbol)
{
	search->error = ARRAY_RESERVE(search->mentions, search->mention_count + 1, &search->mention_room);
	if (search->error)
		return false;
	search->mentions[search->mention_count++] = (struct mention){ row, addition, *symbol };
	return true;
}

static bool visit_name(const struct elf_symbol *symbol, void *context)
{
	struct search *search = context;
	const struct allocator_name *row;

	if (symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC)
		return true;
	if (search->has_loader_event && symbol->value == search->loader_event &&
	    !add_mention(search, NULL, NULL, symbol))
		return false;
	for (size_t i = 0; i < search->additions->count; i++) {
		if (strcmp(symbol->name, search->additions->items[i].name) != 0)
			continue;
		search->addition_found[i] = true;
		if (!add_mention(search, NULL, &search->additions->items[i], symbol))
			return false;
	}
	// What the loader does not export are its own helpers for the time before libc is there.
	if (search->module->is_loader && !symbol->dynamic)
		return true;
	row = find_name(search, symbol->name);
	return !row || add_mention(search, row, NULL, symbol);
}

// gcc calls a copy of a function with some arguments known, or passed in another way, NAME.constprop.N or NAME.isra.N
// (create_version_clone_with_body in gcc/cgraphclones.cc); its own arguments are not the function's. What it has moved
// away, NAME.part.N and NAME.cold, is called by the function itself.
static void note_copy(struct search *search, const struct elf_symbol *symbol)
{
	struct hook_candidates *candidates = search->candidates;
	const char *dot = strchr(symbol->name, '.');
	bool is_copy = false;
	size_t length;

	if (!dot || (strncmp(dot, ".constprop.", 11) != 0 && strncmp(dot, ".isra.", 6) != 0))
		return;
	for (size_t i = search->first; i < candidates->count; i++) {
		const struct hook_candidate *candidate = &candidates->items[i];

		if (candidate->vaddr == symbol->value)
			return;
		length = strlen(candidate->name);
		is_copy |=
			length == (size_t)(dot - symbol->name) && strncmp(candidate->name, symbol->name, length) == 0;
	}
	if (!is_copy)
		return;
	length = strlen(candidates->copies);
	snprintf(candidates->copies + length, sizeof(candidates->copies) - length, "%s%s", length ? ", " : "",
		 symbol->name);
	candidates->copy_count++;
}

static bool visit_neighbour(const struct elf_symbol *symbol, void *context)
{
	struct search *search = context;

	if (symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC && symbol->type != STT_NOTYPE &&
	    symbol->type != STT_OBJECT)
		return true;
	if (symbol->type == STT_FUNC)
		note_copy(search, symbol);
	for (size_t i = search->first; i < search->candidates->count; i++) {
		struct hook_candidate *candidate = &search->candidates->items[i];

		if (symbol->value > candidate->vaddr && symbol->value < candidate->next)
			candidate->next = symbol->value;
		if (symbol->value > candidate->previous && symbol->value < candidate->vaddr &&
		    candidate->vaddr - symbol->value >= HS_SHORT_BRANCH_REACH)
			candidate->previous = symbol->value;
	}
	return true;
}

// The first mention of prefix + name; NULL = none. `visible`: a local symbol does not count.
static const struct mention *find_mention(const struct search *search, const char *prefix, const char *name,
					  bool visible)
{
	size_t length = strlen(prefix);

	for (size_t i = 0; i < search->mention_count; i++) {
		const struct mention *mention = &search->mentions[i];

		if (mention->row && strncmp(mention->row->name, prefix, length) == 0 &&
		    strcmp(mention->row->name + length, name) == 0 &&
		    !(visible && mention->symbol.binding == STB_LOCAL))
			return mention;
	}
	return NULL;
}

static bool has(const struct search *search, const char *name) { return find_mention(search, "", name, false) != NULL; }

static bool has_pair(const struct search *search)
{
	return find_mention(search, "", "malloc", true) && find_mention(search, "", "free", true);
}

static bool has_whole(const struct search *search)
{
	return has(search, "malloc") && has(search, "free") && has(search, "calloc") && has(search, "realloc");
}

// A static function may be called malloc and be something else altogether, and any program may have a valloc or mallocx
// of its own with other arguments, which a hook would spoil. Local symbols are believed only where a whole allocator is
// there (one whose names were hidden when it was linked into a library), other names only beside those that make an
// allocator of their family.
static bool is_believed(const struct search *search, const struct mention *mention)
{
	bool local = mention->symbol.binding == STB_LOCAL;

	if (!mention->row)
		return true;
	switch (mention->row->belief) {
	case BELIEF_RESERVED:
		return !local || has_whole(search);
	case BELIEF_BESIDE:
		return has_pair(search) && (!local || has_whole(search));
	case BELIEF_FAMILY:
		for (size_t i = 0; mention->row->needs[i]; i++) {
			if (!find_mention(search, mention->row->prefix, mention->row->needs[i], false))
				return false;
			// A static function beside an allocator that can be seen is the program's own, whatever it is
			// called: a shim with arguments in another order, say.
			if (local && !mention->row->prefix[0] && find_mention(search, "", mention->row->needs[i], true))
				return false;
		}
		return true;
	case BELIEF_OPERATOR: // the name is reserved as well, but those of a C++ library only lead to malloc
		return (!local && (search->module->is_main || !has(search, "_ZSt15get_new_handlerv"))) ||
		       has_pair(search) || has(search, "_ZL9handleOOMmb");
	case BELIEF_MARK:
		return false;
	}
	return false;
}

// The prefix of the jemalloc to which the module's C++ operators belong, NULL = nothing proves that they are a
// jemalloc's. A program that links a jemalloc in may have operators of its own all the same, with headers before their
// blocks, say; but not beside jemalloc_cpp.o, which defines them all.
static const char *jemalloc_of_operators(const struct search *search)
{
	const char *slash = strrchr(search->module->path, '/');
	const char *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < sizeof(jemalloc_prefixes) / sizeof(jemalloc_prefixes[0]); i++) {
		if (find_mention(search, jemalloc_prefixes[i], "mallocx", false) &&
		    find_mention(search, jemalloc_prefixes[i], "malloc", false)) {
			found = jemalloc_prefixes[i];
			count++;
		}
	}
	if (count != 1)
		return NULL;
	if (has(search, "_ZL9handleOOMmb"))
		return found;
	return !search->module->is_main && strstr(slash ? slash : search->module->path, "jemalloc") ? found : NULL;
}

static bool is_checked_allocator(const struct search *search)
{
	static const char *const marks[] = {
#define X(family, name) name,
		HS_SANITIZER_MARKS(X)
#undef X
			"_Z20DanglingWriteCheckerv" // gperftools' debugging allocator
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (has(search, marks[i]))
			return true;
	return false;
}

// The function that makes blocks in place of an operator; 0 = none.
static uint64_t companion_of_operator(const struct search *search, const struct allocator_name *row, const char *prefix,
				      bool *swapped_ret)
{
	char name[64] = "";
	const struct mention *mention;
	size_t length;

	*swapped_ret = false;
	if (!row->companion)
		return 0;
	strncpy(name, row->companion, sizeof(name) - 1);
	length = strlen(name);
	if (length > 2 && strcmp(name + length - 2, "<>") == 0) {
		name[length - 2] = '\0';
		*swapped_ret = true;
	}
	mention = find_mention(search, prefix, name, false);
	return mention && mention->symbol.type != STT_GNU_IFUNC ? mention->symbol.value : 0;
}

// malloc_usable_size, where it is known to read nothing but the block's own bookkeeping, without a lock and without the
// thread's state: in glibc, gperftools and mimalloc, all of which call their free __libc_free as well. jemalloc's sets
// the thread up, which must not be done for a thread that is ending.
static uint64_t companion_of_release(const struct search *search, const char *prefix)
{
	const struct mention *usable = find_mention(search, "", "malloc_usable_size", false);
	const struct mention *release = find_mention(search, prefix, "free", false);
	const struct mention *libc = find_mention(search, "", "__libc_free", false);

	if (!usable || !release || !libc || release->symbol.value != libc->symbol.value ||
	    usable->symbol.type == STT_GNU_IFUNC || has(search, "mallocx"))
		return 0;
	return usable->symbol.value;
}

// What the candidate's name says beyond its layout: who makes its blocks, and what speaks against it.
static void judge(const struct search *search, const struct allocator_name *row, struct hook_candidate *candidate)
{
	const char *prefix = row->prefix;
	bool swapped = false;

	candidate->companion = 0;
	candidate->verdict = is_checked_allocator(search) ? VERDICT_checked_allocator : VERDICT_ok;
	if (row->belief == BELIEF_OPERATOR && candidate->verdict == VERDICT_ok) {
		prefix = jemalloc_of_operators(search);
		if (!prefix) {
			candidate->verdict = VERDICT_unproven;
			return;
		}
	}
	if (candidate->signature.layout.flags & HS_LAYOUT_COMPANION) {
		candidate->companion = companion_of_operator(search, row, prefix, &swapped);
		if (!candidate->companion && candidate->verdict == VERDICT_ok)
			candidate->verdict = VERDICT_no_companion;
		if (swapped)
			candidate->signature.layout.flags |= HS_LAYOUT_SWAPPED;
		if (swapped && candidate->signature.kind == HOOK_new)
			candidate->signature.kind = HOOK_allocate;
	} else if (hook_kind_releases(candidate->signature.kind)) {
		candidate->companion = companion_of_release(search, prefix);
	}
}

// No name says what a function of the program's own does. Those that only give blocks back have no frame of ours below
// them.
static enum hook_verdict verdict_of_addition(const struct hook_addition *addition)
{
	return hook_kind_only_releases(addition->signature.kind) ? VERDICT_ok : VERDICT_may_unwind;
}

static void name_candidate(struct search *search, const struct mention *mention, struct hook_candidate *candidate)
{
	const struct allocator_name *row = mention->row;
	unsigned rank = row ? (unsigned)(search->additions->count + (size_t)(row - allocator_names)) : 0;

	if (mention->addition)
		rank = 1 + (unsigned)(mention->addition - search->additions->items);
	if (rank >= candidate->rank)
		return;
	candidate->rank = rank;
	strncpy(candidate->name, mention->symbol.name, sizeof(candidate->name) - 1);
	if (mention->addition) {
		candidate->added = true;
		candidate->nothrow = mention->addition->nothrow;
		candidate->signature = mention->addition->signature;
		candidate->verdict = is_checked_allocator(search) ? VERDICT_checked_allocator
								  : verdict_of_addition(mention->addition);
		candidate->companion = 0;
	} else if (row) {
		hs_error_destroy(hook_signature_parse(row->layout, false, &candidate->signature));
		judge(search, row, candidate);
	} else {
		strncpy(candidate->name, "_dl_debug_state", sizeof(candidate->name) - 1);
		candidate->signature = (struct hook_signature){ .kind = HOOK_loader_event };
		candidate->verdict = VERDICT_ok;
		candidate->companion = 0;
	}
}

static void add_candidate(struct search *search, const struct mention *mention)
{
	struct hook_candidates *candidates = search->candidates;
	const struct elf_symbol *symbol = &mention->symbol;
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
	name_candidate(search, mention, candidate);
	if (symbol->size > candidate->size)
		candidate->size = symbol->size;
	candidate->indirect |= symbol->type == STT_GNU_IFUNC;
	candidate->local &= symbol->binding == STB_LOCAL;
	candidate->exported |= symbol->dynamic && symbol->binding != STB_LOCAL;
}

// Static functions of one name in several files of a program: nobody can say which of them is meant.
static struct hs_error *refuse_ambiguous(const struct search *search)
{
	for (size_t i = 0; i < search->mention_count; i++) {
		const struct mention *mention = &search->mentions[i];

		for (size_t j = 0; j < i && mention->addition; j++)
			if (search->mentions[j].addition == mention->addition &&
			    search->mentions[j].symbol.value != mention->symbol.value)
				return hs_error_create(HS_ERROR_REFUSED,
						       "%s has several functions of the name %s (--allocator)",
						       search->module->path, mention->addition->name);
	}
	return NULL;
}

// A module without symbols has no candidates, that is all.
static struct hs_error *find_in_module(struct search *search)
{
	struct hs_error *error;

	search->mention_count = 0;
	hs_error_destroy(elf_view_symbols(&search->module->elf, visit_name, search));
	error = search->error ? search->error : refuse_ambiguous(search);
	for (size_t i = 0; i < search->mention_count && !error; i++)
		if (is_believed(search, &search->mentions[i]))
			add_candidate(search, &search->mentions[i]);
	if (!error && search->candidates->count > search->first)
		hs_error_destroy(elf_view_symbols(&search->module->elf, visit_neighbour, search));
	return error;
}

static struct hs_error *refuse_missing(const struct search *search, size_t unread)
{
	for (size_t i = 0; i < search->additions->count; i++)
		if (!search->addition_found[i])
			return hs_error_create(
				HS_ERROR_REFUSED,
				"no module of the process%s has a function of the name %s (--allocator); "
				"a static function must be in the file's symbol table",
				unread ? " that can be read" : "", search->additions->items[i].name);
	return NULL;
}

struct hs_error *hook_candidates_find(const struct module_list *modules, const struct hook_additions *additions,
				      struct hook_candidates *ret)
{
	HS_CLEANUP_FREE const struct allocator_name **names = sort_names();
	HS_CLEANUP_FREE bool *found = calloc(additions->count + 1, sizeof(*found));
	struct search search = { .candidates = ret, .additions = additions, .names = names, .addition_found = found };
	struct hs_error *error = NULL;

	*ret = (struct hook_candidates){ .items = calloc(HS_HOOKS_MAX, sizeof(*ret->items)) };
	if (!ret->items || !names || !found) {
		hook_candidates_deinit(ret);
		return &hs_error_no_memory;
	}
	for (size_t i = 0; i < modules->count && !error; i++) {
		const struct module *module = &modules->items[i];

		search.module = module;
		search.module_index = i;
		search.first = ret->count;
		search.loader_event = modules->loader_event - module->load_bias;
		search.has_loader_event =
			modules->loader_event >= module->text_low && modules->loader_event < module->text_high;
		if (!module->is_vdso)
			error = find_in_module(&search);
	}
	free(search.mentions);
	if (!error)
		error = refuse_missing(&search, modules->unread_count);
	if (error)
		hook_candidates_deinit(ret);
	return error;
}

void hook_candidates_deinit(struct hook_candidates *candidates)
{
	free(candidates->items);
	*candidates = (struct hook_candidates){ 0 };
}
