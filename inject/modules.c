// SPDX-License-Identifier: Apache-2.0
// Looking up modules and their unwind information.
//
// Context: in a hook, on a miss of the rule cache. Unwind information lies in the module's own memory, which another thread may be about
// to unmap. The loader tells us before it does (inject/loader_event.c), so:
//   reader: decoders += 1; if loader_busy and the module may go: give up; read; decoders -= 1
//   loader: loader_busy = 1; wait until decoders == 0; unmap; update the list; loader_busy = 0
// Both sides' first two steps are sequentially consistent, so at least one sees the other.
#include "modules.h"

#include "unwind_step.h"

static const struct module_record *find_module(uint64_t pc, uint32_t *index_ret)
{
	const struct module_record *modules = region_at(HS_OFFSET_MODULES);
	uint32_t count = __atomic_load_n(&region()->module_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		const struct module_record *module = &modules[i];

		if (pc < module->start || pc >= module->end)
			continue;
		if (__atomic_load_n(&module->unloaded, __ATOMIC_ACQUIRE) ||
		    !__atomic_load_n(&module->ready, __ATOMIC_ACQUIRE))
			continue;
		*index_ret = i + 1;
		return module;
	}
	*index_ret = 0;
	return NULL;
}

static struct memory_span cfi_span(const struct module_record *module)
{
	return (struct memory_span){ (const uint8_t *)module->cfi_low, module->cfi_low, module->cfi_high - module->cfi_low };
}

// Returns false when the module's memory may be going away just now.
static bool begin_reading(const struct module_record *module)
{
	struct region_header *header = region();

	if (!(module->flags & MODULE_CAN_UNLOAD))
		return true;
	__atomic_fetch_add(&header->decoders, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&header->loader_busy, __ATOMIC_SEQ_CST) &&
	    !__atomic_load_n(&module->unloaded, __ATOMIC_SEQ_CST))
		return true;
	__atomic_fetch_sub(&header->decoders, 1, __ATOMIC_SEQ_CST);
	return false;
}

static void end_reading(const struct module_record *module)
{
	if (module->flags & MODULE_CAN_UNLOAD)
		__atomic_fetch_sub(&region()->decoders, 1, __ATOMIC_SEQ_CST);
}

uint64_t modules_decode_rule(uint64_t pc, bool exact)
{
	uint64_t lookup = exact ? pc : pc - 1; // a return address may be the first byte of the next function
	uint32_t index;
	const struct module_record *module = find_module(lookup, &index);
	enum cfi_result result;
	struct memory_span span;
	struct cfi_row row;
	uint64_t rule;

	if (!module)
		return unwind_rule_pack(CFI_NO_ENTRY, NULL, NULL, 0);
	if (!module->eh_frame_hdr)
		return unwind_rule_pack(CFI_NO_ENTRY, NULL, NULL, index);
	if (!begin_reading(module))
		return 0;
	span = cfi_span(module);
	result = cfi_decode(&span, module->eh_frame_hdr, module->eh_frame_hdr_size, lookup, &row);
	rule = unwind_rule_pack(result, result == CFI_OK ? &row : NULL, &span, index);
	end_reading(module);
	return rule;
}

enum step_result modules_step_full(const struct memory_span *stack, struct full_registers *registers, uint32_t *module_ret,
				   uint32_t *cut)
{
	uint64_t pc = registers->value[CFI_RA];
	uint64_t lookup = registers->pc_is_exact ? pc : pc - 1;
	const struct module_record *module = find_module(lookup, module_ret);
	enum step_result result = STEP_BAD;
	enum cfi_result decoded = CFI_NO_ENTRY;
	struct memory_span span;
	struct cfi_row row;
	uint64_t cfa;

	if (module && module->eh_frame_hdr) {
		if (!begin_reading(module)) {
			*cut = CUT_loader_busy + 1;
			return STEP_BAD;
		}
		span = cfi_span(module);
		decoded = cfi_decode(&span, module->eh_frame_hdr, module->eh_frame_hdr_size, lookup, &row);
		if (decoded == CFI_OK)
			result = unwind_step_full(&row, &span, stack, registers, &cfa);
		end_reading(module);
	}
	if (decoded == CFI_NO_ENTRY) {
		struct walk_registers three = { pc, registers->value[CFI_RSP], registers->value[CFI_RBP] };
		bool exact;

		result = unwind_step(unwind_rule_pack(CFI_NO_ENTRY, NULL, NULL, 0), stack, &three, &cfa, &exact);
		if (result != STEP_OK) {
			if (result != STEP_END)
				*cut = CUT_no_unwind_info + 1;
			return result;
		}
		registers->value[CFI_RA] = three.pc;
		registers->value[CFI_RSP] = three.sp;
		registers->value[CFI_RBP] = three.rbp;
		registers->known = 1u << CFI_RA | 1u << CFI_RSP | 1u << CFI_RBP;
		registers->pc_is_exact = exact;
	}
	return result;
}
