// SPDX-License-Identifier: Apache-2.0
// Sources: Linux Standard Base, "Exception Frames" and "DWARF Exception Header Encoding". unwind/cfi.c reads the same bytes again when it
// uses an entry, and believes nothing of what stands here but where to look.
#include "attach/elf/search_table.h"

#include "attach/elf/modules.h"
#include "base/byte_cursor.h"
#include "base/cleanup.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_SIZE_MAX (UINT64_C(256) << 20)
#define LETTERS_MAX 16 // of an augmentation string

// Pointer encodings: a format and what it is relative to.
enum { PE_FORMAT = 0x0f, PE_ABSPTR = 0x00, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c, PE_PCREL = 0x10,
       PE_OMIT = 0xff };

struct section {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
};

// An entry of the section: a CIE or an FDE.
struct entry {
	size_t offset;
	size_t id_offset;
	uint32_t id;             // 0 = a CIE; else id_offset - id is the offset of the FDE's CIE
	struct byte_cursor body; // behind the id
};

static bool read_uleb(struct byte_cursor *cursor, uint64_t *ret)
{
	uint8_t byte;

	*ret = 0;
	for (unsigned shift = 0; shift < 63; shift += 7) {
		if (!byte_cursor_u8(cursor, &byte))
			return false;
		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

// Bytes that a pointer takes; 0 = a form that is not known here.
static size_t pointer_size(uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return 8;
	case PE_UDATA4:
	case PE_SDATA4:
		return 4;
	default:
		return 0;
	}
}

// pre: encoding is absolute or pcrel, of a size that pointer_size knows.
static bool read_pointer(const struct section *section, struct byte_cursor *cursor, uint8_t encoding, uint64_t *ret)
{
	uint64_t base = encoding & PE_PCREL ? section->address + (uint64_t)(cursor->position - section->bytes) : 0;
	uint32_t word;

	if (pointer_size(encoding) == 8) {
		if (!byte_cursor_u64(cursor, ret))
			return false;
	} else {
		if (!byte_cursor_u32(cursor, &word))
			return false;
		*ret = (encoding & PE_FORMAT) == PE_SDATA4 ? (uint64_t)(int64_t)(int32_t)word : word;
	}
	*ret += base;
	return true;
}

// false = the bytes are no entry. A length of 0 ends the section: *end_ret.
static bool read_entry(const struct section *section, size_t offset, struct entry *ret, size_t *next_ret, bool *end_ret)
{
	struct byte_cursor cursor = byte_cursor_make(section->bytes + offset, section->size - offset);
	uint32_t length;

	if (!byte_cursor_u32(&cursor, &length) || length == UINT32_MAX) // the 64-bit form, which nobody writes
		return false;
	*ret = (struct entry){ .offset = offset, .id_offset = offset + 4 };
	*end_ret = length == 0;
	*next_ret = offset + 4 + length;
	return length == 0 || (byte_cursor_sub(&cursor, length, &ret->body) && byte_cursor_u32(&ret->body, &ret->id));
}

// How the FDEs of the CIE at `offset` write their addresses; PE_OMIT = unknown.
static uint8_t cie_encoding(const struct section *section, size_t offset)
{
	const uint8_t *letters;
	struct entry entry;
	uint64_t skipped;
	uint8_t version, letter, encoding;
	size_t next;
	bool is_end;

	if (!read_entry(section, offset, &entry, &next, &is_end) || is_end || entry.id != 0 || !byte_cursor_u8(&entry.body, &version) ||
	    (version != 1 && version != 3))
		return PE_OMIT;
	letters = entry.body.position;
	// At most z, R, L, P, S, B, G. Without a bound, two entries with long strings that FDEs refer to in turn take hours.
	for (unsigned count = 0;; count++) {
		if (count > LETTERS_MAX || !byte_cursor_u8(&entry.body, &letter))
			return PE_OMIT;
		if (!letter)
			break;
	}
	if (letters[0] == 0)
		return PE_ABSPTR;
	// Both alignments (the signed one is only passed over), the return address column, the size of the augmentation.
	if (letters[0] != 'z' || !read_uleb(&entry.body, &skipped) || !read_uleb(&entry.body, &skipped) ||
	    !(version == 1 ? byte_cursor_skip(&entry.body, 1) : read_uleb(&entry.body, &skipped)) || !read_uleb(&entry.body, &skipped))
		return PE_OMIT;
	for (letters++; *letters; letters++) {
		if (*letters == 'S')
			continue;
		if ((*letters != 'R' && *letters != 'L' && *letters != 'P') || !byte_cursor_u8(&entry.body, &encoding))
			return PE_OMIT;
		if (*letters == 'R')
			return encoding;
		// The personality routine's address, only passed over.
		if (*letters == 'P' && (!pointer_size(encoding) || !byte_cursor_skip(&entry.body, pointer_size(encoding))))
			return PE_OMIT;
	}
	return PE_ABSPTR;
}

static bool is_known(uint8_t encoding)
{
	return (encoding & ~PE_FORMAT & ~PE_PCREL) == 0 && pointer_size(encoding) != 0;
}

static bool fits(int64_t distance)
{
	return distance == (int32_t)distance;
}

static int compare_pairs(const void *left, const void *right)
{
	const struct search_pair *a = left, *b = right;

	return (a->pc > b->pc) - (a->pc < b->pc);
}

// Appends the FDE's pair, if it can be told.
static void take_fde(const struct section *section, struct entry *entry, uint8_t encoding, struct search_table *table)
{
	uint64_t begin, size;
	int64_t pc;

	if (!is_known(encoding) || !read_pointer(section, &entry->body, encoding, &begin) ||
	    !read_pointer(section, &entry->body, encoding & PE_FORMAT, &size) || size == 0)
		return;
	pc = (int64_t)(begin - section->address);
	if (fits(pc) && fits((int64_t)entry->offset))
		table->pairs[table->count++] = (struct search_pair){ (int32_t)pc, (int32_t)entry->offset };
}

struct hs_error *search_table_build(const uint8_t *bytes, size_t size, uint64_t address, struct search_table *ret)
{
	const struct section section = { bytes, size, address };
	const size_t smallest = 4 + 4 + 2 * 4; // of an FDE
	struct search_table table = { .low = address, .high = address + size, .pairs = calloc(size / smallest + 1, sizeof(*table.pairs)) };
	size_t cie = SIZE_MAX; // of the last FDE
	uint8_t encoding = PE_OMIT;

	if (!table.pairs)
		return &hs_error_no_memory;
	for (size_t offset = 0; offset < size;) {
		struct entry entry;
		size_t next;
		bool is_end;

		if (!read_entry(&section, offset, &entry, &next, &is_end)) {
			search_table_deinit(&table);
			return hs_error_create(HS_ERROR_BAD_DATA, "no entry of .eh_frame at offset 0x%zx", offset);
		}
		if (is_end)
			break;
		if (entry.id && entry.id <= entry.id_offset) {
			if (cie != entry.id_offset - entry.id) {
				cie = entry.id_offset - entry.id;
				encoding = cie_encoding(&section, cie);
			}
			take_fde(&section, &entry, encoding, &table);
		}
		offset = next;
	}
	qsort(table.pairs, table.count, sizeof(*table.pairs), compare_pairs);
	*ret = table;
	return NULL;
}

void search_table_deinit(struct search_table *table)
{
	free(table->pairs);
	*table = (struct search_table){ 0 };
}

static struct hs_error *make_table(const struct target_memory *memory, struct module *module)
{
	HS_CLEANUP_FREE uint8_t *bytes = NULL;
	uint64_t vaddr, size;
	struct hs_error *error;

	if (!elf_view_section(&module->elf, ".eh_frame", &vaddr, &size) || size == 0 || size > SECTION_SIZE_MAX)
		return NULL;
	bytes = malloc(size);
	if (!bytes)
		return &hs_error_no_memory;
	// From memory: that is what the payload reads, and the loader may have relocated it.
	error = target_memory_read(memory, module->load_bias + vaddr, bytes, size);
	return error ? error : search_table_build(bytes, size, module->load_bias + vaddr, &module->search);
}

struct hs_error *search_tables_make(const struct target_memory *memory, struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		struct module *module = &modules->items[i];
		uint64_t ignored;
		struct hs_error *error;

		if (elf_view_unwind(&module->elf, &ignored, &ignored, &ignored, &ignored))
			continue;
		error = make_table(memory, module);
		if (error && error->code == HS_ERROR_NO_MEMORY)
			return error;
		if (error)
			hs_verbose("no unwind information of %s: %s", module->path, error->message);
		hs_error_destroy(error);
	}
	return NULL;
}
