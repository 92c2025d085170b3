// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/program_kind.h"

#include <string.h>

#define NOTE_GO_BUILD_ID 4     // of owner "Go"; cmd/internal/buildid
#define DATA_MAX         65536 // Go's own reader looks as far for its build information; debug/buildinfo

// Go's linker writes both of them always; stripping leaves them.
static const uint8_t build_information[14] = "\xff Go buildinf:";

bool program_is_go(const struct elf_view *elf)
{
	uint64_t vaddr, size;
	const uint8_t *id;
	size_t id_size;

	if (elf_view_section(elf, ".go.buildinfo", &vaddr, &size) ||
	    elf_view_find_note(elf, "Go", NOTE_GO_BUILD_ID, &id, &id_size))
		return true;
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		size_t seen = segment->p_filesz < DATA_MAX ? segment->p_filesz : DATA_MAX;
		const uint8_t *bytes;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W) {
			bytes = elf_view_bytes(elf, segment->p_vaddr, seen);
			if (bytes && memmem(bytes, seen, build_information, sizeof(build_information)))
				return true;
		}
	}
	return false;
}

static bool asks_for_loader(const struct elf_view *elf)
{
	for (unsigned i = 0; i < elf->header.e_phnum; i++)
		if (elf->segments[i].p_type == PT_INTERP)
			return true;
	return false;
}

// Libraries that can be run, as C libraries and loaders can, have a name; executables have none.
static bool is_library(const struct elf_view *elf)
{
	uint64_t name;

	return elf_view_dynamic(elf, DT_SONAME, &name);
}

bool program_is_static(const struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		if (modules->items[i].is_loader)
			return false;
	for (size_t i = 0; i < modules->unread_count; i++)
		if (modules->unread[i].is_loader)
			return false;
	return modules->count > 0 && !is_library(&modules->items[0].elf);
}

const char *program_run_by_another(const struct module_list *modules)
{
	const struct module *own = modules->items;

	if (modules->count == 0 || !own->is_main || asks_for_loader(&own->elf) || is_library(&own->elf))
		return NULL;
	if (modules->unread_count > 0) // a static program has no other modules of its own
		return modules->unread[0].path;
	for (size_t i = 1; i < modules->count; i++) {
		const struct module *module = &modules->items[i];

		if (module->text_low < module->text_high && asks_for_loader(&module->elf) && !is_library(&module->elf))
			return module->path;
	}
	return NULL;
}

static bool note_symbol(const struct elf_symbol *symbol, void *context)
{
	*(bool *)context |= symbol->type == STT_FUNC;
	return !*(bool *)context;
}

#define NAME_THEM "; name its allocation functions with --allocator NAME=KIND"

const char *program_why_no_allocator(const struct module_list *modules)
{
	bool has_functions = false;
	const struct elf_view *elf = &modules->items[0].elf;

	if (modules->count == 0 || !modules->items[0].is_main)
		return "its executable cannot be read";
	if (modules->items[0].is_go)
		return "it is a Go program, whose runtime has an allocator of its own; Go's own heap profile shows what that holds "
		       "(packages runtime/pprof and net/http/pprof)";
	hs_error_destroy(elf_view_symbols(elf, note_symbol, &has_functions));
	if (modules->unread_count > 0)
		return "none of those that can be read has a symbol malloc or the like; root can mostly read all";
	if (asks_for_loader(elf))
		return "none of its modules has a symbol malloc or the like" NAME_THEM;
	if (!has_functions)
		return "it is a static program with no symbols, so its allocator cannot be found; run a build that is not stripped";
	return "it is a static program, and has no symbol malloc or the like" NAME_THEM;
}
