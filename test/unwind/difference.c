// SPDX-License-Identifier: Apache-2.0
#include "difference.h"

#include "inject/payload.h"
#include "inject/walk/modules.h"

#include <inttypes.h>
#include <stdio.h>

const char *const verdict_texts[VERDICT_OF_COUNT] = {
#define X(name, text) text,
	VERDICTS(X)
#undef X
};

static const char *const cut_texts[CUT_REASON_COUNT] = {
#define X(name, text) text,
	HS_CUT_REASONS(X)
#undef X
};

bool payload_stack_read(uint32_t ref, struct payload_stack *ret)
{
	ret->count = 0;
	ret->cut = 0;
	while (ref) {
		const struct stack_node *node = region_ref(ref);
		uint64_t pc = node->frame & HS_FRAME_PC_MASK;

		if (node->frame >> HS_FRAME_MODULE_SHIFT & HS_FRAME_CUT) {
			ret->cut = (uint32_t)pc + 1;
			return node->parent == 0 && pc < CUT_REASON_COUNT;
		}
		if (ret->count == HS_DEPTH_MAX)
			return false;
		ret->frames[ret->count++] = node->frame;
		ref = node->parent;
	}
	return ret->count > 0;
}

const struct module *module_at(uint64_t address, const struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		if (address >= modules->items[i].start && address < modules->items[i].end)
			return &modules->items[i];
	return NULL;
}

// The whole frame word: pc, whether it is exact, and the module. `is_trampoline`: what a signal handler returns to,
// whose first byte was put on the stack by the kernel, not by a call; libunwind, which looks for it one byte before,
// does not say so.
static uint64_t expected_word(const struct reference_frame *frame, bool is_trampoline,
			      const struct module_list *modules)
{
	const struct module *module = module_at(frame->pc - !frame->pc_is_exact, modules);
	bool is_exact = frame->pc_is_exact || is_trampoline;
	uint64_t upper = (module ? (uint64_t)(module - modules->items) + 1 : 0) | (is_exact ? HS_FRAME_EXACT_PC : 0);

	return (frame->pc & HS_FRAME_PC_MASK) | upper << HS_FRAME_MODULE_SHIFT;
}

static size_t common_frames(const struct payload_stack *payload, const struct reference_frame *reference, size_t count,
			    const struct module_list *modules)
{
	size_t common = 0;

	while (common < payload->count && common < count &&
	       payload->frames[common] == expected_word(&reference[common],
							common + 1 < count && reference[common + 1].pc_is_exact,
							modules))
		common++;
	return common;
}

bool frame_is_outermost(uint64_t pc, bool exact) { return UNWIND_KIND(modules_decode_rule(pc, exact)) == UNWIND_END; }

static bool is_exact(uint64_t word) { return word >> HS_FRAME_MODULE_SHIFT & HS_FRAME_EXACT_PC; }

// The payload stopped early although libunwind gets to the outermost frame. That is right where the stack is one that
// it may not read, and known where a signal interrupted a function while its canonical frame address was in a scratch
// register: gcc keeps it in r10 for some instructions at either end of a function that realigns its stack, and the
// payload knows callee-saved registers only.
static bool is_known_limit(const struct payload_stack *payload)
{
	uint64_t last = payload->count ? payload->frames[payload->count - 1] : 0;

	return payload->cut == CUT_foreign_stack + 1 || (payload->cut == CUT_bad_unwind_info + 1 && is_exact(last));
}

enum verdict difference_find(const struct payload_stack *payload, const struct reference_frame *reference, size_t count,
			     int end, const struct module_list *modules)
{
	size_t common = common_frames(payload, reference, count, modules);
	uint64_t last = payload->count ? payload->frames[payload->count - 1] : 0;

	if (common == payload->count && payload->cut == CUT_depth_limit + 1 && count > common)
		return VERDICT_OF_depth_limit;
	if (common == payload->count && payload->cut)
		return is_known_limit(payload) ||
				       !frame_is_outermost(reference[count - 1].pc, reference[count - 1].pc_is_exact)
			       ? VERDICT_OF_payload_cut
			       : VERDICT_OF_mismatch;
	if (common == payload->count && common == count)
		return end <= 0 ? VERDICT_OF_equal : VERDICT_OF_mismatch;
	if (!payload->cut && frame_is_outermost(last & HS_FRAME_PC_MASK, is_exact(last))) {
		if (common == count && end < 0)
			return VERDICT_OF_libunwind_failed;
		if (common == payload->count)
			return VERDICT_OF_libunwind_went_on;
	}
	return VERDICT_OF_mismatch;
}

struct nearest {
	uint64_t vaddr;
	struct elf_symbol symbol;
};

static bool keep_nearest(const struct elf_symbol *symbol, void *context)
{
	struct nearest *nearest = context;

	if (symbol->type == STT_FUNC && symbol->value <= nearest->vaddr && symbol->value >= nearest->symbol.value)
		nearest->symbol = *symbol;
	return true;
}

void place_print(const char *who, uint64_t pc, bool exact, const struct module_list *modules)
{
	const struct module *module = module_at(pc - !exact, modules);
	struct nearest nearest = { 0 };

	printf("    %-9s 0x%" PRIx64, who, pc);
	if (module) {
		nearest.vaddr = pc - module->load_bias;
		hs_error_destroy(elf_view_symbols(&module->elf, keep_nearest, &nearest));
		printf(" %s 0x%" PRIx64, module->path, nearest.vaddr);
	}
	if (nearest.symbol.name)
		printf(" (%s + %" PRIu64 ")", nearest.symbol.name, nearest.vaddr - nearest.symbol.value);
	printf("%s\n", exact ? " exact" : "");
}

void difference_print(const struct payload_stack *payload, const struct reference_frame *reference, size_t count,
		      int end, const struct module_list *modules)
{
	size_t common = common_frames(payload, reference, count, modules);

	printf("    the first %zu frames are the same, of libunwind's %zu (%s) and the payload's %zu (%s)\n", common,
	       count, reference_error(end), payload->count, payload->cut ? cut_texts[payload->cut - 1] : "complete");
	for (size_t i = common ? common - 1 : 0; i < common + 2; i++) {
		printf("    frame %zu\n", i);
		if (i < count)
			place_print("libunwind", reference[i].pc, reference[i].pc_is_exact, modules);
		if (i < payload->count)
			place_print("payload", payload->frames[i] & HS_FRAME_PC_MASK, is_exact(payload->frames[i]),
				    modules);
	}
}
