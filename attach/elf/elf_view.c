// SPDX-License-Identifier: Apache-2.0
// Layouts: System V gABI chapters 4 and 5 and <elf.h>; the GNU hash table has no published standard and is described by
// the linkers that write it: u32 bucket count, first hashed symbol, bloom words, shift; then bloom words of 64 bits,
// buckets and chains of 32 bits, a chain ending with an entry whose lowest bit is set.
#include "attach/elf/elf_view.h"

#include "attach/arch/elf_types.h"
#include "base/byte_cursor.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// A symbol table and its strings, both inside the view.
struct symbol_table {
	const uint8_t *symbols;
	uint64_t count;
	const char *strings;
	uint64_t strings_size; // bytes; the last one is 0, so every offset below it starts a terminated string
};

static bool inside(uint64_t offset, uint64_t size, uint64_t limit) { return offset <= limit && size <= limit - offset; }

// A range of the file, NULL when it is not inside it or cannot be read. What was returned once stays as it is.
static const uint8_t *range(const struct elf_view *view, uint64_t offset, uint64_t size)
{
	if (!inside(offset, size, view->size) || (view->copy && !file_copy_load(view->copy, offset, size)))
		return NULL;
	return view->data + offset;
}

// Looks through one note segment. ELF64 with alignment 8 pads to 8 bytes, everything else to 4.
static bool find_in_notes(const uint8_t *data, uint64_t size, uint64_t alignment, const char *owner, uint32_t wanted,
			  struct byte_cursor *ret)
{
	struct byte_cursor cursor = byte_cursor_make(data, size);

	for (;;) {
		uint32_t name_size, description_size, type;
		struct byte_cursor name;

		if (!byte_cursor_u32(&cursor, &name_size) || !byte_cursor_u32(&cursor, &description_size) ||
		    !byte_cursor_u32(&cursor, &type) || !byte_cursor_sub(&cursor, name_size, &name))
			return false;
		// Padding counts from the start of the segment, which is itself aligned.
		if (!byte_cursor_skip(&cursor, (size_t)(-(uint64_t)(cursor.position - data) & (alignment - 1))) ||
		    !byte_cursor_sub(&cursor, description_size, ret))
			return false;
		// The size counts the name's final 0; Go counts padding as well.
		if (type == wanted && name_size > strlen(owner) && memcmp(name.position, owner, strlen(owner) + 1) == 0)
			return true;
		if (!byte_cursor_skip(&cursor, (size_t)(-(uint64_t)(cursor.position - data) & (alignment - 1))))
			return false;
	}
}

bool elf_view_find_note(const struct elf_view *view, const char *owner, uint32_t type, const uint8_t **data_ret,
			size_t *size_ret)
{
	for (unsigned i = 0; i < view->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &view->segments[i];
		const uint8_t *notes =
			segment->p_type == PT_NOTE ? range(view, segment->p_offset, segment->p_filesz) : NULL;
		struct byte_cursor description;

		if (notes &&
		    find_in_notes(notes, segment->p_filesz, segment->p_align == 8 ? 8 : 4, owner, type, &description)) {
			*data_ret = description.position;
			*size_ret = byte_cursor_left(&description);
			return true;
		}
	}
	return false;
}

static void read_build_id(struct elf_view *view)
{
	const uint8_t *data;
	size_t size;

	if (!elf_view_find_note(view, ELF_NOTE_GNU, NT_GNU_BUILD_ID, &data, &size))
		return;
	view->build_id_size = size < HS_BUILD_ID_MAX ? (uint32_t)size : HS_BUILD_ID_MAX;
	memcpy(view->build_id, data, view->build_id_size);
}

// data, size and copy are set.
static struct hs_error *read_headers(struct elf_view *view)
{
	const Elf64_Ehdr *header = &view->header;

	if (!range(view, 0, sizeof(view->header)))
		return hs_error_create(HS_ERROR_BAD_DATA, "too short for an ELF file");
	memcpy(&view->header, view->data, sizeof(view->header));
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return hs_error_create(HS_ERROR_BAD_DATA, "not an ELF file");
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != ARCH_ELF_MACHINE)
		return hs_error_create(HS_ERROR_BAD_DATA, "not an ELF file for " ARCH_NAME);
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return hs_error_create(HS_ERROR_BAD_DATA, "an ELF file that is neither program nor shared library");
	// PN_XNUM would put the number of segments elsewhere; no loaded object has that many.
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 || header->e_phnum == PN_XNUM ||
	    !range(view, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr)) ||
	    ((uintptr_t)view->data + header->e_phoff) % alignof(Elf64_Phdr) != 0)
		return hs_error_create(HS_ERROR_BAD_DATA, "an ELF file without usable program headers");
	view->segments = (const Elf64_Phdr *)(const void *)(view->data + header->e_phoff);
	read_build_id(view);
	return NULL;
}

struct hs_error *elf_view_init(const void *data, size_t size, struct elf_view *ret)
{
	struct elf_view view = { .data = data, .size = size };
	struct hs_error *error = read_headers(&view);

	if (!error)
		*ret = view;
	return error;
}

struct hs_error *elf_view_open_copy(struct file_copy *copy, struct elf_view *ret)
{
	struct elf_view view = { .copy = copy, .data = copy->bytes, .size = copy->size };
	struct hs_error *error = read_headers(&view);

	if (error)
		elf_view_deinit(&view);
	else
		*ret = view;
	return error;
}

struct hs_error *elf_view_open_fd(int fd, struct elf_view *ret)
{
	struct file_copy *copy = malloc(sizeof(*copy));
	struct hs_error *error;

	if (!copy)
		return &hs_error_no_memory;
	error = file_copy_open(fd, copy);
	if (error) {
		free(copy);
		return error;
	}
	return elf_view_open_copy(copy, ret);
}

void elf_view_deinit(struct elf_view *view)
{
	if (view->mapped)
		munmap((void *)(uintptr_t)view->data, view->size);
	if (view->copy)
		file_copy_release(view->copy);
	*view = (struct elf_view){ 0 };
}

const uint8_t *elf_view_bytes(const struct elf_view *view, uint64_t vaddr, size_t size)
{
	for (unsigned i = 0; i < view->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &view->segments[i];

		if (segment->p_type != PT_LOAD || vaddr < segment->p_vaddr)
			continue;

		uint64_t skip = vaddr - segment->p_vaddr;

		if (inside(skip, size, segment->p_filesz) && inside(segment->p_offset, segment->p_filesz, view->size))
			return range(view, segment->p_offset + skip, size);
	}
	return NULL;
}

// How many bytes of the file part of a load segment there are from vaddr on.
static uint64_t bytes_from(const struct elf_view *view, uint64_t vaddr)
{
	for (unsigned i = 0; i < view->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &view->segments[i];

		if (segment->p_type == PT_LOAD && vaddr >= segment->p_vaddr &&
		    vaddr - segment->p_vaddr < segment->p_filesz &&
		    inside(segment->p_offset, segment->p_filesz, view->size))
			return segment->p_filesz - (vaddr - segment->p_vaddr);
	}
	return 0;
}

bool elf_view_unwind(const struct elf_view *view, uint64_t *hdr_vaddr, uint64_t *hdr_size, uint64_t *segment_low,
		     uint64_t *segment_high)
{
	const Elf64_Phdr *unwind = NULL;

	for (unsigned i = 0; i < view->header.e_phnum && !unwind; i++) {
		if (view->segments[i].p_type == PT_GNU_EH_FRAME)
			unwind = &view->segments[i];
	}
	if (!unwind || unwind->p_memsz == 0)
		return false;
	for (unsigned i = 0; i < view->header.e_phnum; i++) {
		const Elf64_Phdr *load = &view->segments[i];

		if (load->p_type != PT_LOAD || unwind->p_vaddr < load->p_vaddr ||
		    load->p_filesz > UINT64_MAX - load->p_vaddr ||
		    !inside(unwind->p_vaddr - load->p_vaddr, unwind->p_memsz, load->p_filesz))
			continue;
		*hdr_vaddr = unwind->p_vaddr;
		*hdr_size = unwind->p_memsz;
		*segment_low = load->p_vaddr;
		*segment_high = load->p_vaddr + load->p_filesz;
		return true;
	}
	return false;
}

// Cuts the strings behind their last 0 byte. false = nothing left.
static bool terminate_strings(struct symbol_table *table)
{
	const char *last = table->strings_size ? memrchr(table->strings, 0, table->strings_size) : NULL;

	if (!last)
		return false;
	table->strings_size = (uint64_t)(last - table->strings) + 1;
	return true;
}

static bool read_section(const struct elf_view *view, uint64_t index, Elf64_Shdr *ret)
{
	const Elf64_Ehdr *header = &view->header;
	const uint8_t *bytes;

	if (header->e_shentsize != sizeof(*ret) || header->e_shoff == 0 || header->e_shoff > view->size ||
	    index >= header->e_shnum)
		return false;
	bytes = range(view, header->e_shoff + index * sizeof(*ret), sizeof(*ret));
	if (bytes)
		memcpy(ret, bytes, sizeof(*ret));
	return bytes != NULL;
}

// The first section of this type is the only one looked at, so that hostile headers cannot ask for more than one pass.
static bool find_by_sections(const struct elf_view *view, uint32_t type, struct symbol_table *ret)
{
	Elf64_Shdr section, strings;

	for (uint64_t i = 0; read_section(view, i, &section); i++) {
		if (section.sh_type != type)
			continue;
		if (section.sh_entsize != sizeof(Elf64_Sym) || !read_section(view, section.sh_link, &strings) ||
		    strings.sh_type != SHT_STRTAB)
			return false;
		*ret = (struct symbol_table){
			.symbols = range(view, section.sh_offset, section.sh_size),
			.count = section.sh_size / sizeof(Elf64_Sym),
			.strings = (const char *)range(view, strings.sh_offset, strings.sh_size),
			.strings_size = strings.sh_size,
		};
		return ret->symbols && ret->strings && terminate_strings(ret);
	}
	return false;
}

bool elf_view_section(const struct elf_view *view, const char *name, uint64_t *vaddr_ret, uint64_t *size_ret)
{
	struct symbol_table names = { 0 };
	Elf64_Shdr section;

	if (!read_section(view, view->header.e_shstrndx, &section) || section.sh_type != SHT_STRTAB)
		return false;
	names.strings = (const char *)range(view, section.sh_offset, section.sh_size);
	names.strings_size = section.sh_size;
	if (!names.strings || !terminate_strings(&names))
		return false;
	for (uint64_t i = 0; read_section(view, i, &section); i++) {
		if (!(section.sh_flags & SHF_ALLOC) || section.sh_type == SHT_NOBITS ||
		    section.sh_name >= names.strings_size || strcmp(names.strings + section.sh_name, name) != 0)
			continue;
		*vaddr_ret = section.sh_addr;
		*size_ret = section.sh_size;
		return section.sh_size <= bytes_from(view, section.sh_addr);
	}
	return false;
}

// Words of 32 bits from one address to the end of the file part of its segment.
struct words {
	const struct elf_view *view;
	uint64_t vaddr, count;
};

static struct words words_at(const struct elf_view *view, uint64_t vaddr)
{
	return (struct words){ view, vaddr, bytes_from(view, vaddr) / 4 };
}

static bool read_word(const struct words *words, uint64_t index, uint32_t *ret)
{
	const uint8_t *bytes =
		index < words->count ? elf_view_bytes(words->view, words->vaddr + index * 4, sizeof(*ret)) : NULL;

	if (bytes)
		memcpy(ret, bytes, sizeof(*ret));
	return bytes != NULL;
}

// 0 = the table cannot be read.
static uint64_t count_by_gnu_hash(const struct words *table)
{
	uint32_t bucket_count, first, bloom_words, highest = 0, entry;
	uint64_t buckets, chains; // indices of words

	if (!read_word(table, 0, &bucket_count) || !read_word(table, 1, &first) || !read_word(table, 2, &bloom_words))
		return 0;
	buckets = 4 + 2 * (uint64_t)bloom_words;
	chains = buckets + bucket_count;
	for (uint64_t i = 0; i < bucket_count; i++) {
		if (!read_word(table, buckets + i, &entry))
			return 0;
		if (entry > highest)
			highest = entry;
	}
	if (highest < first)
		return first; // nothing hashed: all symbols come before the first hashed one
	for (uint64_t i = highest;; i++) {
		if (!read_word(table, chains + (i - first), &entry))
			return 0;
		if (entry & 1)
			return i + 1;
	}
}

const uint8_t *elf_view_code(const struct elf_view *view, uint64_t vaddr, bool may_change, size_t *size_ret)
{
	for (unsigned i = 0; i < view->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &view->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    (!may_change && segment->p_flags & PF_W) || vaddr < segment->p_vaddr ||
		    vaddr - segment->p_vaddr >= segment->p_filesz)
			continue;
		*size_ret = segment->p_filesz - (vaddr - segment->p_vaddr);
		return elf_view_bytes(view, vaddr, *size_ret);
	}
	return NULL;
}

bool elf_view_dynamic(const struct elf_view *view, int64_t tag, uint64_t *value_ret)
{
	const Elf64_Phdr *dynamic = NULL;
	const uint8_t *entries;
	bool found = false;

	for (unsigned i = 0; i < view->header.e_phnum && !dynamic; i++) {
		if (view->segments[i].p_type == PT_DYNAMIC)
			dynamic = &view->segments[i];
	}
	entries = dynamic ? elf_view_bytes(view, dynamic->p_vaddr, dynamic->p_filesz) : NULL;
	for (uint64_t i = 0; entries && i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn entry;

		memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag != tag)
			continue;
		*value_ret = entry.d_un.d_val;
		found = true;
	}
	return found;
}

static bool find_by_dynamic_segment(const struct elf_view *view, struct symbol_table *ret)
{
	uint64_t symbols = 0, strings = 0, strings_size = 0, hash = 0, gnu_hash = 0, count = 0,
		 entry_size = sizeof(Elf64_Sym);

	if (!elf_view_dynamic(view, DT_SYMTAB, &symbols) || !elf_view_dynamic(view, DT_STRTAB, &strings) ||
	    !elf_view_dynamic(view, DT_STRSZ, &strings_size))
		return false;
	elf_view_dynamic(view, DT_HASH, &hash);
	elf_view_dynamic(view, DT_GNU_HASH, &gnu_hash);
	if (elf_view_dynamic(view, DT_SYMENT, &entry_size) && entry_size != sizeof(Elf64_Sym))
		return false;

	struct words table = words_at(view, hash ? hash : gnu_hash);
	uint32_t chain_count;

	// The second word of a System V hash table is the number of its chains, one for each symbol.
	if (hash && read_word(&table, 1, &chain_count))
		count = chain_count;
	else if (!hash && gnu_hash)
		count = count_by_gnu_hash(&table);
	if (count > bytes_from(view, symbols) / sizeof(Elf64_Sym))
		count = bytes_from(view, symbols) / sizeof(Elf64_Sym);
	*ret = (struct symbol_table){
		.symbols = elf_view_bytes(view, symbols, count * sizeof(Elf64_Sym)),
		.count = count,
		.strings = (const char *)elf_view_bytes(view, strings, strings_size),
		.strings_size = strings_size,
	};
	return count > 0 && ret->symbols && ret->strings && terminate_strings(ret);
}

static bool visit_table(const struct symbol_table *table, bool dynamic,
			bool (*visit)(const struct elf_symbol *, void *), void *context)
{
	for (uint64_t i = 0; i < table->count; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, table->symbols + i * sizeof(symbol), sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= table->strings_size)
			continue;

		struct elf_symbol visited = {
			.name = table->strings + symbol.st_name,
			.value = symbol.st_value,
			.size = symbol.st_size,
			.type = ELF64_ST_TYPE(symbol.st_info),
			.binding = ELF64_ST_BIND(symbol.st_info),
			.section = symbol.st_shndx,
			.dynamic = dynamic,
		};

		if (!visit(&visited, context))
			return false;
	}
	return true;
}

struct hs_error *elf_view_symbols(const struct elf_view *view, bool (*visit)(const struct elf_symbol *, void *),
				  void *context)
{
	struct symbol_table dynamic, complete;
	bool has_dynamic = find_by_sections(view, SHT_DYNSYM, &dynamic) || find_by_dynamic_segment(view, &dynamic);
	bool has_complete = find_by_sections(view, SHT_SYMTAB, &complete);

	if (!has_dynamic && !has_complete)
		return hs_error_create(HS_ERROR_NOT_FOUND, "no symbol table that can be read");
	if (has_dynamic && !visit_table(&dynamic, true, visit, context))
		return NULL;
	if (has_complete)
		visit_table(&complete, false, visit, context);
	return NULL;
}

struct symbol_search {
	const char *name;
	struct elf_symbol *found;
	bool done;
};

static bool compare_name(const struct elf_symbol *symbol, void *context)
{
	struct symbol_search *search = context;

	if (strcmp(symbol->name, search->name) != 0)
		return true;
	*search->found = *symbol;
	search->done = true;
	return false;
}

bool elf_view_find_symbol(const struct elf_view *view, const char *name, struct elf_symbol *ret)
{
	struct symbol_search search = { .name = name, .found = ret };

	hs_error_destroy(elf_view_symbols(view, compare_name, &search));
	return search.done;
}
