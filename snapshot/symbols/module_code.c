// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/module_code.h"

#include "base/array.h"

#include <gelf.h>
#include <stdlib.h>

// Code of the file: what is executable, and there in the file.
struct segment {
	uint64_t address, size; // bytes
	const uint8_t *bytes;
};

struct slot {
	uint64_t address;
	const char *name;  // NULL: a function of this file says what is put there
	uint64_t resolver; // this one
};

struct module_code {
	struct segment *segments;
	size_t segment_count, segment_room;
	struct slot *slots; // ascending
	size_t slot_count, slot_room;
};

static struct hs_error *add_segments(struct module_code *code, Elf *elf)
{
	GElf_Phdr header;
	size_t count, file_size;
	const char *file = elf_rawfile(elf, &file_size);

	if (!file || elf_getphdrnum(elf, &count) != 0)
		return NULL;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &header); i++) {
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || header.p_offset > file_size ||
		    header.p_filesz > file_size - header.p_offset)
			continue;
		if (ARRAY_RESERVE(code->segments, code->segment_count + 1, &code->segment_room))
			return &hs_error_no_memory;
		code->segments[code->segment_count++] =
			(struct segment){ header.p_vaddr, header.p_filesz, (const uint8_t *)file + header.p_offset };
	}
	return NULL;
}

static struct hs_error *add_slot(struct module_code *code, const struct slot *slot)
{
	if (ARRAY_RESERVE(code->slots, code->slot_count + 1, &code->slot_room))
		return &hs_error_no_memory;
	code->slots[code->slot_count++] = *slot;
	return NULL;
}

// Of relocations that are a symbol's address and nothing else: those of linkage tables; and of such tables those
// without a symbol, as static programs have them for functions of which there are several (STT_GNU_IFUNC).
static struct hs_error *add_slots(struct module_code *code, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *relocations = elf_getdata(section, NULL);
	Elf_Scn *symbol_section = elf_getscn(elf, header->sh_link);
	Elf_Data *symbols = symbol_section ? elf_getdata(symbol_section, NULL) : NULL;
	GElf_Shdr symbol_header;
	GElf_Rela item;

	if (!relocations)
		return NULL;
	for (int i = 0; gelf_getrela(relocations, i, &item); i++) {
		const size_t index = GELF_R_SYM(item.r_info);
		GElf_Sym symbol;
		struct slot slot = { item.r_offset, NULL, (uint64_t)item.r_addend };
		struct hs_error *error;

		if (index == 0 && !(header->sh_flags & SHF_INFO_LINK))
			continue;
		if (index > 0) {
			if (item.r_addend != 0 || index > INT32_MAX || !symbols ||
			    !gelf_getshdr(symbol_section, &symbol_header) || !gelf_getsym(symbols, (int)index, &symbol))
				continue;
			slot.name = elf_strptr(elf, symbol_header.sh_link, symbol.st_name);
			if (!slot.name || !*slot.name)
				continue;
		}
		error = add_slot(code, &slot);
		if (error)
			return error;
	}
	return NULL;
}

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

struct hs_error *module_code_create(Elf *elf, struct module_code **ret)
{
	struct module_code *code = calloc(1, sizeof(*code));
	struct hs_error *error = code ? add_segments(code, elf) : &hs_error_no_memory;
	Elf_Scn *section = NULL;

	while (!error && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA && header.sh_flags & SHF_ALLOC)
			error = add_slots(code, elf, section, &header);
	}
	if (error) {
		module_code_destroy(code);
		return error;
	}
	if (code->slot_count > 0)
		qsort(code->slots, code->slot_count, sizeof(*code->slots), compare_slots);
	*ret = code;
	return NULL;
}

void module_code_destroy(struct module_code *code)
{
	if (!code)
		return;
	free(code->segments);
	free(code->slots);
	free(code);
}

const uint8_t *module_code_bytes(const struct module_code *code, uint64_t address, size_t *size_ret)
{
	for (size_t i = 0; i < code->segment_count; i++) {
		const struct segment *segment = &code->segments[i];
		const uint64_t offset = address - segment->address;

		if (address < segment->address || offset >= segment->size)
			continue;
		if (segment->size - offset < *size_ret)
			*size_ret = (size_t)(segment->size - offset);
		return segment->bytes + offset;
	}
	*size_ret = 0;
	return NULL;
}

const char *module_code_slot_name(const struct module_code *code, uint64_t address, uint64_t *resolver_ret)
{
	const size_t begun = ARRAY_COUNT_UP_TO(code->slots, code->slot_count, address, address);

	if (begun == 0 || code->slots[begun - 1].address != address)
		return NULL;
	*resolver_ret = code->slots[begun - 1].resolver;
	return code->slots[begun - 1].name;
}
