// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/unread_allocator.h"

#include "attach/elf/import_names.h"
#include "attach/hook/hook_plan.h"

#include <string.h>

static bool is_allocation(const char *name)
{
	static const char *const names[] = { "malloc", "free", "calloc", "realloc" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

struct seen {
	const struct unread_module *unread; // that a slot leads into
	bool used;                          // a slot for malloc leads into the module that seems to be used
};

static bool holds(const struct module *module, uint64_t address)
{
	return address >= module->text_low && address < module->text_high;
}

// A slot that is not bound yet leads back into its own module, and says nothing.
static void look_at(const struct module_list *modules, const struct module *module, size_t used,
		    const struct target_memory *memory, struct seen *seen)
{
	struct imports imports;
	uint64_t word;

	imports_read(&module->elf, &imports);
	for (size_t i = 0; i < imports.count && !seen->unread; i++) {
		const struct import *import = &imports.items[i];
		struct hs_error *error;

		if (!is_allocation(import->name))
			continue;
		error = target_memory_read(memory, module->load_bias + import->vaddr, &word, sizeof(word));
		if (!error) {
			seen->unread = modules_find_unread(modules, word);
			seen->used |= used != HOOK_ANY_MODULE && strcmp(import->name, "malloc") == 0 &&
				      module != &modules->items[used] && holds(&modules->items[used], word);
		}
		hs_error_destroy(error);
	}
	imports_deinit(&imports);
}

// Whether its symbols may be found before those of the module that seems to be used. One that the loader does not list
// may be anywhere.
static bool may_come_before(const struct unread_module *unread, const struct module_list *modules, size_t used)
{
	return used == HOOK_ANY_MODULE || unread->link_order < modules->items[used].link_order;
}

struct hs_error *unread_allocator_refuse(const struct module_list *modules, size_t used,
					 const struct target_memory *memory)
{
	struct seen seen = { 0 };

	for (size_t i = 0; i < modules->count && modules->unread_count > 0 && !seen.unread; i++)
		if (!modules->items[i].is_vdso)
			look_at(modules, &modules->items[i], used, memory, &seen);
	if (seen.unread)
		return hs_error_create(HS_ERROR_REFUSED,
				       "process %d allocates by %s, which cannot be read (%s); root can mostly read it",
				       (int)memory->process->pid, seen.unread->path, seen.unread->reason);
	for (size_t i = 0; i < modules->unread_count && !seen.used; i++)
		if (may_come_before(&modules->unread[i], modules, used))
			return hs_error_create(
				HS_ERROR_REFUSED,
				"process %d may allocate by %s, which cannot be read (%s); root can mostly read it",
				(int)memory->process->pid, modules->unread[i].path, modules->unread[i].reason);
	return NULL;
}
