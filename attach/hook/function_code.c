// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/function_code.h"

#include "attach/hook/exit_points.h"
#include "base/array.h"

#include <stdlib.h>

#define SIZELESS_MAX 4096u // bytes that are looked at of a function whose size no symbol says

struct name_search {
	uint64_t vaddr, size;
	struct function_code *function;
};

static bool visit_name(const struct elf_symbol *symbol, void *context)
{
	struct name_search *search = context;

	if (symbol->type != STT_FUNC || symbol->value != search->vaddr)
		return true;
	if (symbol->size > search->size)
		search->size = symbol->size;
	if (search->function->unwinding == UNWINDS_not_known)
		search->function->unwinding = unwinding_name(symbol->name);
	search->function->asks_for_callers |= name_asks_for_callers(symbol->name);
	return true;
}

static struct function_code read_function(const struct target_memory *memory, const struct module *module,
					  uint64_t address)
{
	struct function_code function = { .address = address };
	struct name_search search = { .vaddr = address - module->load_bias, .function = &function };
	size_t left;
	const uint8_t *code = elf_view_code(&module->elf, search.vaddr, false, &left);

	if (!code)
		return function;
	hs_error_destroy(elf_view_symbols(&module->elf, visit_name, &search));
	if (search.size > HS_WHOLE_FUNCTION_MAX || search.size > left)
		return function;
	function.size = search.size ? (size_t)search.size : left < SIZELESS_MAX ? left : SIZELESS_MAX;
	if (target_memory_equals(memory, address, code, function.size))
		function.code = code;
	return function;
}

struct function_code function_codes_find(struct function_codes *codes, const struct module *module, uint64_t address)
{
	struct function_code function;

	for (size_t i = 0; i < codes->count; i++)
		if (codes->items[i].address == address)
			return codes->items[i];
	function = read_function(codes->memory, module, address);
	if (ARRAY_RESERVE(codes->items, codes->count + 1, &codes->room))
		return function;
	return codes->items[codes->count++] = function;
}

void function_codes_deinit(struct function_codes *codes) { free(codes->items); }
