// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/memory_copy.h"

#include "attach/elf/import_names.h"
#include "attach/guard/interrupt.h"
#include "base/io.h"
#include "base/pagemap.h"
#include "inject/abi/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// <elf.h> has it since glibc 2.36.
#define HS_DT_RELR 36

#define PAGES_AT_ONCE    64u
#define TRIES            3u // a page may be taken out of memory between two looks
#define DYNAMIC_SIZE_MAX (UINT64_C(4096) * sizeof(Elf64_Dyn))
#define COPY_SIZE_MAX    (UINT64_C(4) << 30)

bool memory_copy_is_files_own(uint64_t pagemap_entry)
{
	return pagemap_entry & PAGEMAP_PRESENT && pagemap_entry & PAGEMAP_FILE;
}

static bool is_address(int64_t tag)
{
	switch (tag) {
	case DT_PLTGOT:
	case DT_HASH:
	case DT_GNU_HASH:
	case DT_STRTAB:
	case DT_SYMTAB:
	case DT_RELA:
	case DT_REL:
	case DT_JMPREL:
	case DT_VERSYM:
	case HS_DT_RELR:
		return true;
	default:
		return false;
	}
}

bool memory_copy_undo_bias(uint8_t *entries, uint64_t size, const struct loaded_place *place)
{
	if (place->load_bias == 0)
		return true;
	if (place->load_bias < place->end - place->start) // an address may be one in the file or one in memory
		return false;
	for (uint64_t i = 0; i < size / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn entry;

		memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (!is_address(entry.d_tag) || entry.d_un.d_ptr < place->start || entry.d_un.d_ptr >= place->end)
			continue;
		entry.d_un.d_ptr -= place->load_bias;
		memcpy(entries + i * sizeof(entry), &entry, sizeof(entry));
	}
	return true;
}

static bool is_taken(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) && segment->p_filesz > 0;
}

// The load segment whose file part holds all of another one. NULL = none.
static const Elf64_Phdr *segment_of(const struct elf_view *headers, const Elf64_Phdr *part)
{
	for (unsigned i = 0; i < headers->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &headers->segments[i];

		if (segment->p_type == PT_LOAD && part->p_vaddr >= segment->p_vaddr &&
		    part->p_vaddr - segment->p_vaddr <= segment->p_filesz &&
		    part->p_filesz <= segment->p_filesz - (part->p_vaddr - segment->p_vaddr))
			return segment;
	}
	return NULL;
}

static const Elf64_Phdr *find_dynamic(const struct elf_view *headers)
{
	for (unsigned i = 0; i < headers->header.e_phnum; i++)
		if (headers->segments[i].p_type == PT_DYNAMIC)
			return &headers->segments[i];
	return NULL;
}

// Bytes of the file up to the end of what is taken of it; 0 = no loaded object is so large, counting each segment by
// itself.
static uint64_t size_of(const struct elf_view *headers)
{
	const Elf64_Phdr *dynamic = find_dynamic(headers);
	uint64_t size = 0, sum = 0;

	for (unsigned i = 0; i < headers->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &headers->segments[i];

		if (!is_taken(segment) && (!dynamic || segment != segment_of(headers, dynamic)))
			continue;
		if (segment->p_offset > COPY_SIZE_MAX || segment->p_filesz > COPY_SIZE_MAX - sum)
			return 0;
		sum += segment->p_filesz;
		if (page_up(segment->p_offset + segment->p_filesz) > size)
			size = page_up(segment->p_offset + segment->p_filesz);
	}
	return size;
}

static bool is_of(const struct proc_map *map, const struct loaded_place *place)
{
	return map && !map->shared && map->inode == place->first->inode &&
	       map->device_major == place->first->device_major && map->device_minor == place->first->device_minor;
}

// `count` pages from an address on, whose place in the file is `offset`. pre: all of one mapping; count <=
// PAGES_AT_ONCE.
static struct hs_error *take_pages(const struct target_memory *memory, uint64_t address, uint64_t offset, size_t count,
				   struct file_copy *copy)
{
	uint64_t entries[PAGES_AT_ONCE], strange = 0;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		// First the bytes: what is the file's own afterwards was so before.
		struct hs_error *error =
			target_memory_read(memory, address, copy->bytes + offset, count * HS_PAGE_SIZE);

		if (!error)
			error = hs_pread_exact(memory->pagemap, entries, count * sizeof(entries[0]),
					       address / HS_PAGE_SIZE * sizeof(entries[0]));
		if (error)
			return error;
		strange = 0;
		for (size_t i = count; i-- > 0;)
			if (!memory_copy_is_files_own(entries[i]))
				strange = address + i * HS_PAGE_SIZE;
		if (!strange)
			break;
	}
	if (strange)
		return hs_error_create(HS_ERROR_BAD_DATA, "its memory at 0x%" PRIx64 " is not its file's any more",
				       strange);
	for (size_t i = 0; i < count; i++)
		if (!file_copy_put_page(copy, offset + i * HS_PAGE_SIZE))
			return hs_error_create(HS_ERROR_BAD_DATA, "too much of it would have to be copied");
	return NULL;
}

static struct hs_error *take_segment(const Elf64_Phdr *segment, const struct loaded_place *place,
				     const struct target_memory *memory, struct file_copy *copy)
{
	uint64_t address = page_of(place->load_bias + segment->p_vaddr);
	uint64_t offset = page_of(segment->p_offset), end = page_up(segment->p_offset + segment->p_filesz);

	while (offset < end) {
		const struct proc_map *map = proc_maps_find(place->maps, address);
		uint64_t count = (end - offset) / HS_PAGE_SIZE;
		struct hs_error *error;

		if (!is_of(map, place) || map->offset + (address - map->start) != offset)
			return hs_error_create(HS_ERROR_BAD_DATA,
					       "its file is not mapped at 0x%" PRIx64 " as it says itself", address);
		if (count > (map->end - address) / HS_PAGE_SIZE)
			count = (map->end - address) / HS_PAGE_SIZE;
		if (count > PAGES_AT_ONCE)
			count = PAGES_AT_ONCE;
		error = interrupt_check();
		if (!error)
			error = take_pages(memory, address, offset, (size_t)count, copy);
		if (error)
			return error;
		address += count * HS_PAGE_SIZE;
		offset += count * HS_PAGE_SIZE;
	}
	return NULL;
}

static struct hs_error *take_dynamic(const struct elf_view *headers, const struct loaded_place *place,
				     const struct target_memory *memory, struct file_copy *copy)
{
	const Elf64_Phdr *dynamic = find_dynamic(headers), *segment = dynamic ? segment_of(headers, dynamic) : NULL;
	uint64_t offset = segment ? segment->p_offset + (dynamic->p_vaddr - segment->p_vaddr) : 0;
	struct hs_error *error;

	if (!segment || dynamic->p_filesz > DYNAMIC_SIZE_MAX)
		return hs_error_create(HS_ERROR_BAD_DATA, "its memory does not say where its symbols are");
	error = target_memory_read(memory, place->load_bias + dynamic->p_vaddr, copy->bytes + offset,
				   dynamic->p_filesz);
	if (error)
		return error;
	if (!memory_copy_undo_bias(copy->bytes + offset, dynamic->p_filesz, place))
		return hs_error_create(HS_ERROR_BAD_DATA, "its memory does not say clearly where its symbols are");
	file_copy_put_part(copy, offset, dynamic->p_filesz);
	return NULL;
}

static bool visit_nothing(const struct elf_symbol *symbol, void *context)
{
	(void)symbol;
	(void)context;
	return true;
}

// Where a part of the names was missing, it would seem that the module does not have them.
static struct hs_error *check_whole(const struct elf_view *view)
{
	struct hs_error *error = elf_view_symbols(view, visit_nothing, NULL);
	struct imports imports;
	bool is_incomplete;

	if (error)
		return error;
	imports_read(view, &imports);
	is_incomplete = imports.is_incomplete;
	imports_deinit(&imports);
	return is_incomplete
		       ? hs_error_create(HS_ERROR_BAD_DATA, "not all relocations are in memory as its file had them")
		       : NULL;
}

struct hs_error *memory_copy_view(const struct elf_view *headers, const struct loaded_place *place,
				  const struct target_memory *memory, struct elf_view *ret)
{
	uint64_t size = size_of(headers);
	struct file_copy *copy;
	struct hs_error *error;

	if (memory->pagemap < 0)
		return hs_error_create(HS_ERROR_BAD_DATA,
				       "the kernel does not say whether its memory is as its file had it");
	if (size == 0)
		return hs_error_create(HS_ERROR_BAD_DATA, "its memory does not say how large it is");
	copy = malloc(sizeof(*copy));
	if (!copy)
		return &hs_error_no_memory;
	error = file_copy_begin(size, copy);
	if (error) {
		free(copy);
		return error;
	}
	for (unsigned i = 0; i < headers->header.e_phnum && !error; i++)
		if (is_taken(&headers->segments[i]))
			error = take_segment(&headers->segments[i], place, memory, copy);
	if (!error)
		error = take_dynamic(headers, place, memory, copy);
	if (error) {
		file_copy_release(copy);
		return error;
	}
	error = elf_view_open_copy(copy, ret);
	if (error)
		return error;
	error = check_whole(ret);
	if (error)
		elf_view_deinit(ret);
	return error;
}
