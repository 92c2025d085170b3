// SPDX-License-Identifier: Apache-2.0
#include "attach/program_kind.h"

#include <string.h>

#define NOTE_GO_BUILD_ID 4 // of owner "Go"; cmd/internal/buildid
#define DATA_MAX 65536	   // Go's own reader looks as far for its build information; debug/buildinfo

// Go's linker writes both of them always; stripping leaves them.
static const uint8_t build_information[14] = "\xff Go buildinf:";

bool program_is_go(const struct elf_view *elf)
{
	uint64_t vaddr, size;
	const uint8_t *id;
	size_t id_size;

	if (elf_view_section(elf, ".go.buildinfo", &vaddr, &size) || elf_view_find_note(elf, "Go", NOTE_GO_BUILD_ID, &id, &id_size))
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

static bool note_symbol(const struct elf_symbol *symbol, void *context)
{
	*(bool *)context |= symbol->type == STT_FUNC;
	return !*(bool *)context;
}

const char *program_why_no_allocator(const struct module_list *modules)
{
	bool is_dynamic = false, has_functions = false;
	const struct elf_view *elf = &modules->items[0].elf;

	if (modules->count == 0 || !modules->items[0].is_main)
		return "its executable cannot be read";
	if (modules->items[0].is_go)
		return "it is a Go program, whose runtime has an allocator of its own; Go's own heap profile shows what that holds "
		       "(packages runtime/pprof and net/http/pprof)";
	for (unsigned i = 0; i < elf->header.e_phnum; i++)
		is_dynamic |= elf->segments[i].p_type == PT_INTERP;
	hs_error_destroy(elf_view_symbols(elf, note_symbol, &has_functions));
	if (is_dynamic)
		return "none of its modules has a symbol malloc or the like";
	if (!has_functions)
		return "it is a static program with no symbols, so its allocator cannot be found; run a build that is not stripped";
	return "it is a static program, and has no symbol malloc or the like";
}
