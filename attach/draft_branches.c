// SPDX-License-Identifier: Apache-2.0
#include "attach/draft_branches.h"

#include "attach/branch_scan.h"

#define IN_STEP 4096u // bytes before what is looked at, where decoding begins anywhere

static struct branch_range range_of(const struct draft *draft)
{
	const struct relocation_request *request = &draft->request;
	uint64_t address = request->address - draft->module->load_bias;
	bool is_looked_at = draft_is_ok(draft) || draft->may_be_watched;

	// A jump to a function's start is a tail call; one past its landing pad is a loop of its own; one to where it begins to return is what
	// functions do.
	return (struct branch_range){
		.low = address + (request->is_way_out || request->address == request->function_start),
		.call_low = address + 1,
		.high = is_looked_at ? address + draft->hook.relocation.covered : 0,
	};
}

// Looks at the instructions of [low, high) in the executable segment that holds `inside`.
static void check_instructions(const struct elf_view *elf, uint64_t inside, uint64_t low, uint64_t high, struct branch_range *range)
{
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		const uint8_t *code;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || inside < segment->p_vaddr || inside - segment->p_vaddr >= segment->p_filesz)
			continue;
		if (low < segment->p_vaddr)
			low = segment->p_vaddr;
		if (high - segment->p_vaddr > segment->p_filesz)
			high = segment->p_vaddr + segment->p_filesz;
		code = low < high ? elf_view_bytes(elf, low, (size_t)(high - low)) : NULL;
		if (code)
			branch_scan_decoded(code, (size_t)(high - low), low, range);
	}
}

// Before and behind the function, which hook_relocate has looked at itself. Instructions are known to begin at its end and at symbols; far from any,
// decoding falls in step with them by itself, after a few.
static void check_neighbours(const struct draft *draft, struct branch_range *range)
{
	const struct relocation_request *request = &draft->request;
	uint64_t start = request->function_start - draft->module->load_bias, previous = draft->candidate->previous;
	uint64_t seen = request->function_size ? request->function_size : request->address - request->function_start + request->code_size;
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

void drafts_check_branches(struct draft *drafts, size_t count, struct draft *ways, size_t way_count)
{
	const struct elf_view *elf = &drafts[0].module->elf;
	struct branch_range ranges[HS_HOOKS_MAX];
	size_t all = count + way_count;

	for (size_t i = 0; i < all; i++) {
		const struct draft *draft = i < count ? &drafts[i] : &ways[i - count];

		ranges[i] = range_of(draft);
		check_neighbours(draft, &ranges[i]);
	}
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		const uint8_t *code = NULL;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X))
			code = elf_view_bytes(elf, segment->p_vaddr, segment->p_filesz);
		if (code)
			branch_scan(code, segment->p_filesz, segment->p_vaddr, ranges, all);
	}
	for (size_t i = 0; i < all; i++) {
		struct draft *draft = i < count ? &drafts[i] : &ways[i - count];

		if (ranges[i].hit)
			draft->code_verdict = draft->hook.record.verdict = VERDICT_branch_inside;
	}
}
