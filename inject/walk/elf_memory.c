// SPDX-License-Identifier: Apache-2.0
// Context: in the dynamic loader's event, under its lock; the object is mapped and stays so meanwhile.
//
// The loader's public list names the bias and the dynamic section, not the program headers. Those are found from what
// the dynamic section points at: hash table, symbols and strings lie in the same segment as the ELF header, above it,
// so every page from the lowest of them down to the header is mapped. A header counts only if its PT_DYNAMIC is the
// dynamic section that we came from.
#include "inject/walk/elf_memory.h"

#include "inject/abi/page.h"

struct elf_header {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct program_header {
	uint32_t type, flags;
	uint64_t offset, vaddr, paddr, filesz, memsz, align;
};

struct dynamic_entry {
	uint64_t tag, value;
};

enum {
	TYPE_LOAD = 1,
	TYPE_DYNAMIC = 2,
	TYPE_NOTE = 4,
	TYPE_EH_FRAME = 0x6474e550,
	FLAG_EXECUTE = 1,
	FLAG_READ = 4,
	TAG_HASH = 4,
	TAG_STRTAB = 5,
	TAG_SYMTAB = 6,
	TAG_GNU_HASH = 0x6ffffef5,
	DYNAMIC_MAX = 512,
	NOTE_BUILD_ID = 3,
};

static const struct program_header *headers_of(const struct elf_header *elf)
{
	return (const struct program_header *)((const uint8_t *)elf + elf->phoff);
}

static bool is_header(const struct elf_header *elf, uint64_t bias, uint64_t dynamic)
{
	if (elf->ident[0] != 0x7f || elf->ident[1] != 'E' || elf->ident[2] != 'L' || elf->ident[3] != 'F' ||
	    elf->ident[4] != 2 || elf->phoff % sizeof(uint64_t) || elf->phentsize != sizeof(struct program_header) ||
	    elf->phnum > 64 || elf->phoff > HS_PAGE_SIZE - elf->phnum * sizeof(struct program_header))
		return false;
	for (uint16_t i = 0; i < elf->phnum; i++)
		if (headers_of(elf)[i].type == TYPE_DYNAMIC && headers_of(elf)[i].vaddr + bias == dynamic)
			return true;
	return false;
}

static const struct elf_header *find_header(uint64_t bias, uint64_t dynamic)
{
	const struct dynamic_entry *entries = (const struct dynamic_entry *)dynamic;
	uint64_t lowest = UINT64_MAX;
	uint64_t page;

	for (unsigned i = 0; i < DYNAMIC_MAX && entries[i].tag; i++) {
		uint64_t value = entries[i].value;

		if (entries[i].tag != TAG_HASH && entries[i].tag != TAG_GNU_HASH && entries[i].tag != TAG_SYMTAB &&
		    entries[i].tag != TAG_STRTAB)
			continue;
		if (value < bias) // glibc relocates these in place, musl does not
			value += bias;
		if (value < lowest)
			lowest = value;
	}
	if (lowest == UINT64_MAX)
		return NULL;
	// Nothing is known of the pages below: the header may be in no segment.
	page = page_of(lowest);
	return page >= bias && page && is_header((const struct elf_header *)page, bias, dynamic)
		       ? (const struct elf_header *)page
		       : NULL;
}

// pre: [note, note + size) is mapped
static void read_build_id(uint64_t note, uint64_t size, struct module_record *ret)
{
	while (size >= 12 && note % sizeof(uint32_t) == 0) {
		const uint32_t *words = (const uint32_t *)note;
		uint64_t name_size = ((uint64_t)words[0] + 3) & ~UINT64_C(3);
		uint64_t text_size = ((uint64_t)words[1] + 3) & ~UINT64_C(3);

		if (name_size > size - 12 || text_size > size - 12 - name_size)
			return;
		if (words[2] == NOTE_BUILD_ID && words[0] == 4 && words[3] == 0x554e47) { // "GNU"
			const uint8_t *bytes = (const uint8_t *)(note + 12 + name_size);

			ret->build_id_size = words[1] < HS_BUILD_ID_MAX ? words[1] : HS_BUILD_ID_MAX;
			for (uint32_t i = 0; i < ret->build_id_size; i++)
				ret->build_id[i] = bytes[i];
			return;
		}
		note += 12 + name_size + text_size;
		size -= 12 + name_size + text_size;
	}
}

// The part of a load segment that comes from the file and so surely holds what it says.
static const struct program_header *segment_with(const struct elf_header *elf, uint64_t vaddr, uint64_t size)
{
	for (uint16_t i = 0; i < elf->phnum; i++) {
		const struct program_header *header = &headers_of(elf)[i];

		if (header->type == TYPE_LOAD && vaddr >= header->vaddr && vaddr - header->vaddr <= header->filesz &&
		    size <= header->filesz - (vaddr - header->vaddr))
			return header;
	}
	return NULL;
}

// The longest executable segment that comes from the file and can be read. Between two there may be a hole.
static void note_readable(const struct program_header *header, uint64_t bias, struct module_record *ret)
{
	const uint64_t start = page_of(header->vaddr), end = page_up(header->vaddr + header->memsz);

	if (!(header->flags & FLAG_READ) || header->filesz != header->memsz ||
	    end - start <= ret->readable_high - ret->readable_low)
		return;
	ret->readable_low = bias + start;
	ret->readable_high = bias + end;
}

bool elf_memory_describe(uint64_t bias, uint64_t dynamic, struct module_record *ret)
{
	const struct elf_header *elf = find_header(bias, dynamic);
	uint64_t low = UINT64_MAX, high = 0, text_low = UINT64_MAX, text_high = 0;

	if (!elf)
		return false;
	ret->eh_frame_hdr = 0; // an attempt that failed may have left something here
	ret->readable_low = ret->readable_high = 0;
	ret->build_id_size = 0;
	ret->flags = 0;
	for (uint16_t i = 0; i < elf->phnum; i++) {
		const struct program_header *header = &headers_of(elf)[i];
		uint64_t start = page_of(header->vaddr);
		uint64_t end = page_up(header->vaddr + header->memsz);
		const struct program_header *segment;

		if (header->type == TYPE_LOAD) {
			low = start < low ? start : low;
			high = end > high ? end : high;
			if (header->flags & FLAG_EXECUTE) {
				note_readable(header, bias, ret);
				text_low = start < text_low ? start : text_low;
				text_high = end > text_high ? end : text_high;
			}
		} else if (header->type == TYPE_EH_FRAME || header->type == TYPE_NOTE) {
			segment = segment_with(elf, header->vaddr, header->filesz);
			if (!segment)
				continue;
			if (header->type == TYPE_NOTE) {
				read_build_id(bias + header->vaddr, header->filesz, ret);
				continue;
			}
			ret->eh_frame_hdr = bias + header->vaddr;
			ret->eh_frame_hdr_size = header->filesz;
			ret->cfi_low = bias + segment->vaddr;
			ret->cfi_high = bias + segment->vaddr + segment->filesz;
		}
	}
	if (low >= high)
		return false;
	ret->load_bias = bias;
	ret->start = bias + low;
	ret->end = bias + high;
	ret->text_low = text_high ? bias + text_low : 0;
	ret->text_high = text_high ? bias + text_high : 0;
	return true;
}
