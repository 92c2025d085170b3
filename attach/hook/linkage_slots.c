// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/linkage_slots.h"

#include "attach/hook/quiet_names.h"

#include <stdlib.h>
#include <string.h>

struct slot_fact {
	bool known;
	struct slot_target target;
};

struct module_slots {
	bool known;
	struct imports imports;
	struct slot_fact *facts; // of each import
};

static const struct slot_target unknown = { .outcome = OUTCOME_unknown };

static bool is_c_library(const struct linkage_slots *slots, const struct module *module)
{
	const char *slash = strrchr(module->path, '/'), *name;

	if (slots->libc.is_static || slots->libc.kind == LIBC_unknown)
		return false;
	if (module == &slots->modules->items[slots->libc.module] || module->is_loader)
		return true;
	name = slash ? slash + 1 : module->path;
	// of its own until glibc 2.33
	return strcmp(name, "libpthread.so.0") == 0 || strncmp(name, "libpthread-2.", 13) == 0;
}

// All that a name may stand for: in any module, in any version.
struct definitions {
	const struct linkage_slots *slots;
	const char *name;
	const struct module *module; // that is looked at
	bool is_quiet;               // what the C library has under this name
	bool in_c_library;           // one is in what every program has from its start
	bool others;                 // one is neither the C library's nor an allocator's
	bool unlisted;               // one is the C library's, no allocator's, and not quiet
};

static bool visit_definition(const struct elf_symbol *symbol, void *context)
{
	struct definitions *found = context;

	if (!symbol->dynamic)
		return false; // these are the last
	if (symbol->binding == STB_LOCAL || strcmp(symbol->name, found->name) != 0)
		return true;
	found->in_c_library |=
		is_c_library(found->slots, found->module) &&
		(found->module->is_loader || found->module == &found->slots->modules->items[found->slots->libc.module]);
	if (symbol->type != STT_GNU_IFUNC &&
	    found->slots->is_allocator(found->module->load_bias + symbol->value, found->slots->context))
		return true;
	found->others |= !is_c_library(found->slots, found->module);
	found->unlisted |= is_c_library(found->slots, found->module) && !found->is_quiet;
	return true;
}

// A slot that is not bound yet. What it will be bound to is found in the scope of its module as it is then. The C
// library has stood in the global scope since the program's start, so nothing that is loaded later comes before it;
// what is there now and may come before it is among the definitions.
static struct slot_target judge_name(const struct linkage_slots *slots, const char *name)
{
	enum call_outcome outcome = quiet_name(name);
	struct definitions found = { .slots = slots, .name = name, .is_quiet = outcome != OUTCOME_unknown };

	if (slots->modules->unread_count > 0) // it may be in one of these
		return unknown;
	for (unsigned pass = 0; pass < 2; pass++) { // first those that decide about most names
		for (size_t i = 0; i < slots->modules->count; i++) {
			found.module = &slots->modules->items[i];
			if (!found.module->is_vdso && is_c_library(slots, found.module) == (pass == 0))
				hs_error_destroy(elf_view_symbols(&found.module->elf, visit_definition, &found));
		}
		if (!found.in_c_library || found.others)
			return unknown;
	}
	if (found.unlisted)
		return (struct slot_target){ .outcome = OUTCOME_unknown, .is_c_library = true };
	return (struct slot_target){ .outcome = found.is_quiet ? outcome : OUTCOME_returns };
}

// Whether a function of the C library is the one of this name.
struct namesake {
	const char *name;
	uint64_t vaddr;
	bool is_it;      // in some version
	bool is_chosen;  // a function chooses the one of this name
	bool is_another; // it lies in one that programs can name
};

static bool visit_namesake(const struct elf_symbol *symbol, void *context)
{
	struct namesake *search = context;
	bool same_name = strcmp(symbol->name, search->name) == 0;

	if (!symbol->dynamic)
		return false;
	search->is_it |= same_name && symbol->type == STT_FUNC && symbol->value == search->vaddr;
	search->is_chosen |= same_name && symbol->type == STT_GNU_IFUNC;
	search->is_another |= search->vaddr == symbol->value ||
			      (search->vaddr > symbol->value && search->vaddr - symbol->value < symbol->size);
	return true;
}

// Those among which a function chooses (IFUNC) have no names that others can see; so a program that has put something
// else there has put one that has.
static struct slot_target judge_c_library(const struct module *module, const char *name, uint64_t word)
{
	struct namesake search = { .name = name, .vaddr = word - module->load_bias };

	hs_error_destroy(elf_view_symbols(&module->elf, visit_namesake, &search));
	if (!search.is_it && (!search.is_chosen || search.is_another))
		return unknown;
	return (struct slot_target){ .outcome = quiet_name(name), .is_c_library = true };
}

// The function at the word: a name says nothing of it. Within the C library nothing is followed: what of it is quiet
// stands in a list.
static struct slot_target judge_word(const struct linkage_slots *slots, const char *name, uint64_t word)
{
	if (slots->is_allocator(word, slots->context))
		return (struct slot_target){ .outcome = OUTCOME_returns };
	for (size_t i = 0; i < slots->modules->count; i++) {
		const struct module *module = &slots->modules->items[i];

		if (word < module->text_low || word >= module->text_high || module->is_vdso)
			continue;
		if (is_c_library(slots, module))
			return judge_c_library(module, name, word);
		return (struct slot_target){ .module = module, .address = word };
	}
	return unknown;
}

// As the file has it, the slot leads back into its module, where the loader is called.
static bool is_unbound(const struct module *module, const struct import *import, uint64_t word)
{
	const uint8_t *bytes = import->lazy ? elf_view_bytes(&module->elf, import->vaddr, sizeof(word)) : NULL;
	uint64_t initial;

	if (!bytes)
		return false;
	memcpy(&initial, bytes, sizeof(initial));
	return initial != 0 && word == initial + module->load_bias;
}

static struct slot_target judge(const struct linkage_slots *slots, const struct module *module,
				const struct import *import)
{
	struct hs_error *error;
	uint64_t word;

	error = target_memory_read(slots->memory, module->load_bias + import->vaddr, &word, sizeof(word));
	if (error) {
		hs_error_destroy(error);
		return unknown;
	}
	return is_unbound(module, import, word) ? judge_name(slots, import->name)
						: judge_word(slots, import->name, word);
}

void linkage_slots_init(const struct module_list *modules, const struct target_memory *memory,
			bool (*is_allocator)(uint64_t address, const void *context), const void *context,
			struct linkage_slots *ret)
{
	*ret = (struct linkage_slots){
		.modules = modules, .memory = memory, .is_allocator = is_allocator, .context = context
	};
	libc_identify(modules, &ret->libc);
	ret->of_modules = calloc(modules->count + 1, sizeof(*ret->of_modules));
}

void linkage_slots_deinit(struct linkage_slots *slots)
{
	for (size_t i = 0; i < slots->modules->count && slots->of_modules; i++) {
		imports_deinit(&slots->of_modules[i].imports);
		free(slots->of_modules[i].facts);
	}
	free(slots->of_modules);
}

static const struct imports *imports_of(struct linkage_slots *slots, const struct module *module)
{
	struct module_slots *of_module = slots->of_modules ? &slots->of_modules[module - slots->modules->items] : NULL;

	if (of_module && !of_module->known) {
		of_module->known = true;
		imports_read(&module->elf, &of_module->imports);
		of_module->facts = calloc(of_module->imports.count + 1, sizeof(*of_module->facts));
	}
	return of_module ? &of_module->imports : NULL;
}

// What a module asks for is not known as a whole, where its tables cannot be read or there is no memory.
static bool may_ask_for(const struct imports *imports, const char *name)
{
	if (!imports || imports->is_incomplete)
		return true;
	for (size_t i = 0; i < imports->count; i++)
		if (strcmp(imports->items[i].name, name) == 0)
			return true;
	return false;
}

bool linkage_slots_may_ask_for(struct linkage_slots *slots, const char *name)
{
	if (slots->modules->unread_count > 0)
		return true;
	for (size_t i = 0; i < slots->modules->count; i++) {
		const struct module *module = &slots->modules->items[i];
		struct elf_symbol symbol;

		if (!module->is_vdso && !is_c_library(slots, module) && may_ask_for(imports_of(slots, module), name))
			return true;
		if (slots->libc.is_static && elf_view_find_symbol(&module->elf, name, &symbol))
			return true;
	}
	return false;
}

struct slot_target linkage_slots_find(struct linkage_slots *slots, const struct module *module, uint64_t slot)
{
	const struct imports *imports = imports_of(slots, module);
	struct module_slots *of_module = slots->of_modules ? &slots->of_modules[module - slots->modules->items] : NULL;
	const struct import *import;
	struct slot_fact *fact;

	if (!imports)
		return unknown;
	import = imports_find(imports, slot - module->load_bias);
	if (!import || !of_module->facts || slot < module->start || slot > module->end - sizeof(uint64_t))
		return unknown;
	fact = &of_module->facts[import - of_module->imports.items];
	if (!fact->known) {
		*fact = (struct slot_fact){ true, judge(slots, module, import) };
		fact->target.name = import->name;
	}
	return fact->target;
}
