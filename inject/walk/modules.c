// SPDX-License-Identifier: Apache-2.0
// Looking up modules and their unwind information.
//
// Context: in a hook, on a miss of the rule cache. Unwind information lies in the module's own memory, which another
// thread may be about to unmap. The loader tells us before it does (inject/hook/loader_event.c), so:
//   reader: decoders += 1; if loader_busy and the module may go: give up; read; decoders -= 1
//   loader: loader_busy = 1; wait until decoders == 0; unmap; update the list; loader_busy = 0
// Both sides' first two steps are sequentially consistent, so at least one sees the other.
#include "inject/walk/modules.h"

#include "unwind/arch/known_code.h"
#include "unwind/unwind_rule.h"

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

static bool has_cfi(const struct module_record *module) { return module->eh_frame_hdr || module->search_page; }

static enum cfi_result decode(const struct module_record *module, const struct memory_span *span, uint64_t pc,
			      struct cfi_row *ret)
{
	struct memory_span table;

	if (module->eh_frame_hdr)
		return cfi_decode(span, module->eh_frame_hdr, module->eh_frame_hdr_size, pc, ret);
	table.bytes = region_page(module->search_page);
	table.address = (uint64_t)table.bytes;
	table.size = (uint64_t)module->search_count * 8;
	return cfi_decode_by_table(span, &table, pc, ret);
}

static struct memory_span cfi_span(const struct module_record *module)
{
	return (struct memory_span){ (const uint8_t *)module->cfi_low, module->cfi_low,
				     module->cfi_high - module->cfi_low };
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

// Whether [address, address + size) is code that can be read.
static bool has_text(const struct module_record *module, uint64_t address, uint64_t size)
{
	return address >= module->readable_low && address <= module->readable_high &&
	       module->readable_high - address >= size;
}

// pre: what is read of the module stays meanwhile.
static uint64_t rule_without_info(const struct module_record *module, uint64_t pc, uint32_t index)
{
	if (has_text(module, pc, ARCH_SIGRETURN_SIZE) && arch_is_sigreturn((const uint8_t *)pc))
		return unwind_rule_signal(index);
	return unwind_rule_pack(CFI_NO_ENTRY, NULL, NULL, index);
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
	if (!begin_reading(module))
		return 0;
	span = cfi_span(module);
	result = has_cfi(module) ? decode(module, &span, lookup, &row) : CFI_NO_ENTRY;
	rule = result == CFI_NO_ENTRY ? rule_without_info(module, pc, index)
				      : unwind_rule_pack(result, result == CFI_OK ? &row : NULL, &span, index);
	end_reading(module);
	return rule;
}

bool modules_follows_call(uint64_t pc)
{
	uint32_t index;
	const struct module_record *module = find_module(pc - 1, &index);
	bool follows;

	if (!module || !has_text(module, pc - ARCH_CALL_MAX, ARCH_CALL_MAX) || !begin_reading(module))
		return false;
	follows = arch_ends_in_call((const uint8_t *)pc);
	end_reading(module);
	return follows;
}

enum step_result modules_step_full(const struct memory_span *stack, struct full_registers *registers,
				   uint32_t *module_ret, bool *is_guess, uint32_t *cut)
{
	uint64_t pc = registers->value[CFI_RA];
	uint64_t lookup = registers->pc_is_exact ? pc : pc - 1;
	const struct module_record *module = find_module(lookup, module_ret);
	uint64_t rule = unwind_rule_pack(CFI_NO_ENTRY, NULL, NULL, 0);
	enum step_result result = STEP_BAD;
	enum cfi_result decoded = CFI_NO_ENTRY;
	bool is_signal = false;

	if (module) {
		struct memory_span span = cfi_span(module);
		struct cfi_row row;
		uint64_t cfa;

		if (!begin_reading(module)) {
			*cut = CUT_loader_busy + 1;
			return STEP_BAD;
		}
		if (has_cfi(module))
			decoded = decode(module, &span, lookup, &row);
		if (decoded == CFI_OK) {
			is_signal = row.is_signal_frame;
			result = unwind_step_full(&row, &span, stack, registers, &cfa);
		} else if (decoded == CFI_NO_ENTRY) {
			rule = rule_without_info(module, pc, *module_ret);
			is_signal = UNWIND_KIND(rule) == UNWIND_SIGNAL;
		}
		end_reading(module);
	}
	*is_guess = decoded == CFI_NO_ENTRY && !is_signal;
	if (is_signal)
		*module_ret |= HS_FRAME_EXACT_PC;
	if (decoded == CFI_NO_ENTRY) {
		result = unwind_step_without_info(rule, stack, registers);
		if (result != STEP_OK && result != STEP_END)
			*cut = CUT_no_unwind_info + 1;
	}
	return result;
}
