// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/draft_branches.h"

#include "attach/arch/branch_scan.h"
#include "attach/elf/import_names.h"

#include <stdlib.h>
#include <string.h>

#define IN_STEP 4096u // bytes before what is looked at, where decoding begins anywhere

static struct branch_range range_of(const struct draft *draft)
{
	const struct relocation_request *request = &draft->request;
	uint64_t address = request->address - draft->module->load_bias;
	bool is_looked_at = draft_is_ok(draft) || draft->may_be_watched || draft->candidate->nothrow;

	// A jump to a function's start is a tail call; one past its landing pad is a loop of its own; one to where it
	// begins to return is what functions do.
	return (struct branch_range){
		.low = address + (request->is_exit_point || request->address == request->function_start),
		.call_low = address + 1,
		.high = is_looked_at ? address + draft->hook.relocation.covered : 0,
	};
}

// Looks at the instructions of [low, high) in the executable segment that holds `inside`.
static void check_instructions(const struct elf_view *elf, uint64_t inside, uint64_t low, uint64_t high,
			       struct branch_range *range)
{
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		const uint8_t *code;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || inside < segment->p_vaddr ||
		    inside - segment->p_vaddr >= segment->p_filesz)
			continue;
		if (low < segment->p_vaddr)
			low = segment->p_vaddr;
		if (high - segment->p_vaddr > segment->p_filesz)
			high = segment->p_vaddr + segment->p_filesz;
		code = low < high ? elf_view_bytes(elf, low, (size_t)(high - low)) : NULL;
		range->hit |= low < high && !code; // it may branch to anywhere
		if (code)
			branch_scan_decoded(code, (size_t)(high - low), low, range);
	}
}

// Before and behind the function, which arch_relocate has looked at itself. Instructions are known to begin at its end
// and at symbols; far from any, decoding falls in step with them by itself, after a few.
static void check_neighbours(const struct draft *draft, struct branch_range *range)
{
	const struct relocation_request *request = &draft->request;
	uint64_t start = request->function_start - draft->module->load_bias, previous = draft->candidate->previous;
	uint64_t seen = request->function_size ? request->function_size
					       : request->address - request->function_start + request->code_size;
	uint64_t end = start + seen;

	if (!range->high)
		return;
	if (start - previous > IN_STEP)
		previous = start > IN_STEP ? start - IN_STEP : 0;
	if (range->low < start + HS_SHORT_BRANCH_REACH)
		check_instructions(&draft->module->elf, start, previous, start, range);
	if (end < range->high + HS_SHORT_BRANCH_REACH)
		check_instructions(&draft->module->elf, start, end, range->high + HS_SHORT_BRANCH_REACH, range);
}

static bool is_code(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && segment->p_flags & PF_X && segment->p_filesz > 0;
}

// Code that cannot be read may branch to anywhere.
static void hit_all(struct branch_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ranges[i].hit |= ranges[i].high != 0;
}

// All executable code of a module.
static void scan_module(const struct elf_view *elf, struct branch_range *ranges, size_t count)
{
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		const uint8_t *code =
			is_code(segment) ? elf_view_bytes(elf, segment->p_vaddr, segment->p_filesz) : NULL;

		if (is_code(segment) && !code)
			hit_all(ranges, count);
		if (code)
			branch_scan(code, segment->p_filesz, segment->p_vaddr, ranges, count);
	}
}

void drafts_check_branches(struct draft *drafts, size_t count, struct draft *exits, size_t exit_count)
{
	struct branch_range ranges[HS_HOOKS_MAX];
	size_t all = count + exit_count;

	for (size_t i = 0; i < all; i++) {
		const struct draft *draft = i < count ? &drafts[i] : &exits[i - count];

		ranges[i] = range_of(draft);
		check_neighbours(draft, &ranges[i]);
	}
	scan_module(&drafts[0].module->elf, ranges, all);
	for (size_t i = 0; i < all; i++) {
		struct draft *draft = i < count ? &drafts[i] : &exits[i - count];

		if (ranges[i].hit)
			draft->code_verdict = draft->hook.record.verdict = VERDICT_branch_inside;
	}
}

// The names that a module asks the loader for, sorted, and the functions that may go by one of them.
struct own_names {
	const char **names;
	size_t name_count;
	struct branch_range *ranges; // of the functions; `hit` is set
	size_t count;
};

static int compare_strings(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

static bool visit_own_name(const struct elf_symbol *symbol, void *context)
{
	struct own_names *own = context;

	for (size_t i = 0; i < own->count; i++) {
		struct branch_range *range = &own->ranges[i];

		if (range->high && !range->hit && symbol->value == range->low)
			range->hit = bsearch(&symbol->name, own->names, own->name_count, sizeof(*own->names),
					     compare_strings);
	}
	return true;
}

// Functions that the module asks for by name. What cannot be read may be any.
static void find_named(const struct elf_view *elf, struct branch_range *ranges, size_t count)
{
	struct imports imports;
	struct own_names own = { .ranges = ranges, .count = count };
	struct hs_error *error = NULL;

	imports_read(elf, &imports);
	own.names = calloc(imports.count + 1, sizeof(*own.names));
	own.name_count = own.names ? imports.count : 0;
	for (size_t i = 0; i < own.name_count; i++)
		own.names[i] = imports.items[i].name;
	if (own.name_count > 0) {
		qsort(own.names, own.name_count, sizeof(*own.names), compare_strings);
		error = elf_view_symbols(elf, visit_own_name, &own);
	}
	for (size_t i = 0; i < count; i++)
		ranges[i].hit |= own.name_count == 0 || error;
	hs_error_destroy(error);
	free(own.names);
	imports_deinit(&imports);
}

// Addresses in the code's constants, as -mcmodel=large has them: plain, or as a distance from the global offset table.
static void find_far(const struct elf_view *elf, struct branch_range *ranges, size_t count)
{
	uint64_t table;

	if (!elf_view_dynamic(elf, DT_PLTGOT, &table))
		table = 0;
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		const uint8_t *code =
			is_code(segment) ? elf_view_bytes(elf, segment->p_vaddr, segment->p_filesz) : NULL;

		if (is_code(segment) && !code)
			hit_all(ranges, count);
		if (code)
			branch_scan_constants(code, segment->p_filesz, table, ranges, count);
	}
}

void drafts_find_uncalled(struct draft *drafts, size_t count)
{
	const struct module *module = drafts[0].module;
	struct branch_range ranges[HS_HOOKS_MAX] = { 0 };
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct draft *draft = &drafts[i];
		const uint64_t start = draft->request.function_start - module->load_bias;

		if (module->is_main || !draft->candidate->exported || draft->candidate->indirect || !draft_is_ok(draft))
			continue;
		any = true;
		ranges[i] = (struct branch_range){ .low = start,
						   .call_low = start,
						   .high = draft->request.address - module->load_bias + 1 };
		check_neighbours(draft, &ranges[i]);
	}
	if (!any)
		return;
	scan_module(&module->elf, ranges, count);
	find_far(&module->elf, ranges, count);
	find_named(&module->elf, ranges, count);
	for (size_t i = 0; i < count; i++)
		drafts[i].is_uncalled = ranges[i].high && !ranges[i].hit;
}
