// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/debug_sections.h"

#include <gelf.h>
#include <string.h>

static struct memory_span *span_of(struct debug_sections *sections, const char *name)
{
	const struct {
		const char *name;
		struct memory_span *span;
	} known[] = {
		{ "info", &sections->info },         { "abbrev", &sections->abbrev },
		{ "line", &sections->line },         { "str", &sections->str },
		{ "line_str", &sections->line_str }, { "str_offsets", &sections->str_offsets },
		{ "addr", &sections->addr },         { "ranges", &sections->ranges },
		{ "rnglists", &sections->rnglists },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].span;
	return NULL;
}

// ".debug_info", or ".zdebug_info" as it was compressed before ELF had a flag for that.
static const char *kind_of_section(const char *name, bool *is_old_ret)
{
	*is_old_ret = strncmp(name, ".zdebug_", sizeof(".zdebug_") - 1) == 0;
	if (*is_old_ret)
		return name + sizeof(".zdebug_") - 1;
	return strncmp(name, ".debug_", sizeof(".debug_") - 1) == 0 ? name + sizeof(".debug_") - 1 : NULL;
}

static void read_section(Elf_Scn *section, bool is_old, struct memory_span *ret)
{
	GElf_Shdr header;
	Elf_Data *data;

	// libdw may have done it before, and then there is nothing left to do.
	if (is_old)
		elf_compress_gnu(section, 0, 0);
	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
		return;
	if (header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
		return;
	data = elf_getdata(section, NULL);
	if (data && data->d_buf)
		*ret = (struct memory_span){ data->d_buf, 0, data->d_size };
}

void debug_sections_read(Elf *elf, struct debug_sections *ret)
{
	Elf_Scn *section = NULL;
	size_t names;

	*ret = (struct debug_sections){ 0 };
	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		bool is_old;
		const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		const char *kind = name ? kind_of_section(name, &is_old) : NULL;
		struct memory_span *span = kind ? span_of(ret, kind) : NULL;

		if (span && span->size == 0)
			read_section(section, is_old, span);
	}
}
