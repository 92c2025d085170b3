// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/import_names.h"

#include "attach/arch/elf_types.h"

#include <stdlib.h>
#include <string.h>

// What of PT_DYNAMIC says where names and relocations are.
struct dynamic_tables {
	uint64_t symbols, strings, strings_size;
	uint64_t relocations[2], relocations_size[2]; // DT_RELA, DT_JMPREL
	uint64_t linkage_kind;                        // DT_PLTREL
};

static bool has_dynamic_segment(const struct elf_view *view)
{
	for (unsigned i = 0; i < view->header.e_phnum; i++)
		if (view->segments[i].p_type == PT_DYNAMIC)
			return true;
	return false;
}

static bool read_tables(const struct elf_view *view, struct dynamic_tables *ret)
{
	*ret = (struct dynamic_tables){ 0 };
	elf_view_dynamic(view, DT_STRSZ, &ret->strings_size);
	elf_view_dynamic(view, DT_RELA, &ret->relocations[0]);
	elf_view_dynamic(view, DT_RELASZ, &ret->relocations_size[0]);
	elf_view_dynamic(view, DT_JMPREL, &ret->relocations[1]);
	elf_view_dynamic(view, DT_PLTRELSZ, &ret->relocations_size[1]);
	elf_view_dynamic(view, DT_PLTREL, &ret->linkage_kind);
	return elf_view_dynamic(view, DT_SYMTAB, &ret->symbols) && elf_view_dynamic(view, DT_STRTAB, &ret->strings);
}

static const char *name_of(const struct elf_view *view, const struct dynamic_tables *tables, uint64_t symbol)
{
	const uint8_t *strings = elf_view_bytes(view, tables->strings, tables->strings_size);
	const uint8_t *bytes;
	Elf64_Sym entry;

	if (symbol == 0 || symbol > UINT32_MAX || tables->symbols > UINT64_MAX - symbol * sizeof(entry))
		return NULL;
	bytes = elf_view_bytes(view, tables->symbols + symbol * sizeof(entry), sizeof(entry));
	if (!strings || !bytes)
		return NULL;
	memcpy(&entry, bytes, sizeof(entry));
	if (entry.st_name >= tables->strings_size ||
	    !memchr(strings + entry.st_name, 0, tables->strings_size - entry.st_name))
		return NULL;
	return (const char *)strings + entry.st_name;
}

// DT_JMPREL is bound when it is first used, unless the loader is told otherwise; DT_RELA when the module is loaded.
static size_t read_table(const struct elf_view *view, const struct dynamic_tables *tables, unsigned which,
			 struct import *items, size_t count, bool *incomplete)
{
	uint64_t size = tables->relocations_size[which];
	const uint8_t *bytes = size ? elf_view_bytes(view, tables->relocations[which], size) : NULL;

	*incomplete |= size > 0 && !bytes;
	for (uint64_t i = 0; bytes && i < size / sizeof(Elf64_Rela); i++) {
		struct import import = { 0 };
		Elf64_Rela entry;
		uint64_t type;

		memcpy(&entry, bytes + i * sizeof(entry), sizeof(entry));
		type = ELF64_R_TYPE(entry.r_info);
		if ((type != ARCH_RELOCATION_JUMP_SLOT && type != ARCH_RELOCATION_GLOB_DAT) || entry.r_addend != 0)
			continue;
		import = (struct import){ entry.r_offset, name_of(view, tables, ELF64_R_SYM(entry.r_info)),
					  which == 1 && type == ARCH_RELOCATION_JUMP_SLOT };
		if (!import.name) {
			*incomplete |= ELF64_R_SYM(entry.r_info) != 0;
			continue;
		}
		if (items)
			items[count] = import;
		count++;
	}
	return count;
}

static int compare_places(const void *left, const void *right)
{
	const struct import *a = left, *b = right;

	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

void imports_read(const struct elf_view *view, struct imports *ret)
{
	struct dynamic_tables tables;
	unsigned table_count;
	size_t count = 0;

	*ret = (struct imports){ 0 };
	if (!read_tables(view, &tables)) {
		ret->is_incomplete = has_dynamic_segment(view);
		return;
	}
	table_count = tables.linkage_kind == DT_RELA ? 2 : 1;
	ret->is_incomplete = table_count == 1 && tables.relocations_size[1] > 0;
	for (unsigned t = 0; t < table_count; t++)
		count = read_table(view, &tables, t, NULL, count, &ret->is_incomplete);
	ret->items = count ? calloc(count, sizeof(*ret->items)) : NULL;
	ret->is_incomplete |= count > 0 && !ret->items;
	for (unsigned t = 0; t < table_count && ret->items; t++)
		ret->count = read_table(view, &tables, t, ret->items, ret->count, &ret->is_incomplete);
	if (ret->items)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare_places);
}

void imports_deinit(struct imports *imports)
{
	free(imports->items);
	*imports = (struct imports){ 0 };
}

const struct import *imports_find(const struct imports *imports, uint64_t vaddr)
{
	const struct import wanted = { .vaddr = vaddr };

	return imports->items
		       ? bsearch(&wanted, imports->items, imports->count, sizeof(*imports->items), compare_places)
		       : NULL;
}
