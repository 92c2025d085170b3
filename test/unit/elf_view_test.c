// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/elf_view.h"
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE UINT64_C(0x10000) // p_vaddr of the generated image

// A shared object of one load segment, with every table that is read. Offsets are p_vaddr - BASE.
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4]; // load, dynamic, note, unwind
	struct {
		uint32_t name_size, description_size, type;
		char name[4];
		uint8_t id[20];
	} note;
	Elf64_Dyn dynamic[6];
	Elf64_Sym symbols[4]; // null, undefined, malloc, free
	char strings[32];
	uint32_t hash[8];      // System V: one bucket
	uint32_t gnu_hash[10]; // one bucket, one bloom word, first hashed symbol 2
	uint8_t unwind[8];
	char section_strings[8];
	Elf64_Sym all_symbols[2]; // null, hidden
	Elf64_Shdr sections[5];
};

#define AT(member) offsetof(struct image, member)

// Longer than 60 lines: one file, laid out from its first byte to its last.
static struct image make_image(void)
{
	struct image image = { 0 };

	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	image.header.e_machine = EM_X86_64;
	image.header.e_type = ET_DYN;
	image.header.e_phoff = AT(segments);
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	image.header.e_phnum = 4;
	image.header.e_shoff = AT(sections);
	image.header.e_shentsize = sizeof(Elf64_Shdr);
	image.header.e_shnum = 5;
	image.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_flags = PF_R | PF_X,
					  .p_vaddr = BASE,
					  .p_filesz = sizeof(image),
					  .p_memsz = sizeof(image) };
	image.segments[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
					  .p_offset = AT(dynamic),
					  .p_vaddr = BASE + AT(dynamic),
					  .p_filesz = sizeof(image.dynamic),
					  .p_memsz = sizeof(image.dynamic) };
	image.segments[2] =
		(Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = AT(note), .p_filesz = sizeof(image.note), .p_align = 4 };
	image.segments[3] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
					  .p_offset = AT(unwind),
					  .p_vaddr = BASE + AT(unwind),
					  .p_filesz = 8,
					  .p_memsz = 8 };
	image.note.name_size = 4;
	image.note.description_size = 20;
	image.note.type = NT_GNU_BUILD_ID;
	memcpy(image.note.name, "GNU", 4);
	for (unsigned i = 0; i < 20; i++)
		image.note.id[i] = (uint8_t)(i + 1);
	image.dynamic[0] = (Elf64_Dyn){ DT_SYMTAB, { BASE + AT(symbols) } };
	image.dynamic[1] = (Elf64_Dyn){ DT_STRTAB, { BASE + AT(strings) } };
	image.dynamic[2] = (Elf64_Dyn){ DT_STRSZ, { sizeof(image.strings) } };
	image.dynamic[3] = (Elf64_Dyn){ DT_SYMENT, { sizeof(Elf64_Sym) } };
	image.dynamic[4] = (Elf64_Dyn){ DT_HASH, { BASE + AT(hash) } };
	memcpy(image.strings, "\0abort\0malloc\0free\0hidden", 26);
	image.symbols[1] = (Elf64_Sym){ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };
	image.symbols[2] = (Elf64_Sym){ .st_name = 7,
					.st_info = ELF64_ST_INFO(STB_WEAK, STT_FUNC),
					.st_shndx = 1,
					.st_value = 0x1234,
					.st_size = 5 };
	image.symbols[3] = (Elf64_Sym){ .st_name = 14,
					.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
					.st_shndx = 1,
					.st_value = 0x5678,
					.st_size = 6 };
	image.hash[0] = 1;
	image.hash[1] = 4;
	image.gnu_hash[0] = 1;    // buckets
	image.gnu_hash[1] = 2;    // first hashed symbol
	image.gnu_hash[2] = 1;    // bloom words, two words of 32 bits each, at 4 and 5
	image.gnu_hash[6] = 2;    // the bucket
	image.gnu_hash[7] = 0x10; // chain of symbol 2
	image.gnu_hash[8] = 0x11; // chain of symbol 3, the last
	image.all_symbols[1] = (Elf64_Sym){
		.st_name = 19, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 1, .st_value = 0x9abc
	};
	image.sections[1] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
					  .sh_offset = AT(symbols),
					  .sh_size = sizeof(image.symbols),
					  .sh_link = 2,
					  .sh_entsize = sizeof(Elf64_Sym) };
	image.sections[2] =
		(Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = AT(strings), .sh_size = sizeof(image.strings) };
	image.sections[3] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
					  .sh_offset = AT(all_symbols),
					  .sh_size = sizeof(image.all_symbols),
					  .sh_link = 2,
					  .sh_entsize = sizeof(Elf64_Sym) };
	return image;
}

struct seen {
	unsigned count, dynamic;
	uint64_t sum; // of values
	size_t name_bytes;
	uint8_t last_type;
	unsigned limit; // visits until the visitor has enough; 0 = none
};

static bool see(const struct elf_symbol *symbol, void *context)
{
	struct seen *seen = context;

	seen->count++;
	seen->dynamic += symbol->dynamic;
	seen->sum += symbol->value;
	// Hostile names may overlap and be long; the end of each must be in bounds all the same.
	seen->name_bytes += strnlen(symbol->name, 64);
	if (symbol->dynamic)
		seen->last_type = symbol->type;
	return seen->limit == 0 || seen->count < seen->limit;
}

static struct seen visit_all(const struct elf_view *view, unsigned limit)
{
	struct seen seen = { .limit = limit };

	hs_error_destroy(elf_view_symbols(view, see, &seen));
	return seen;
}

static void test_generated(void)
{
	struct image image = make_image();
	struct elf_view view;
	struct elf_symbol symbol;
	struct seen seen;
	uint64_t hdr, hdr_size, low, high;

	CHECK(elf_view_init(&image, sizeof(image), &view) == NULL);
	CHECK_EQUAL(view.build_id_size, 20);
	CHECK_EQUAL(view.build_id[0], 1);
	CHECK_EQUAL(view.build_id[19], 20);
	CHECK(elf_view_unwind(&view, &hdr, &hdr_size, &low, &high));
	CHECK_EQUAL(hdr, BASE + AT(unwind));
	CHECK_EQUAL(hdr_size, 8);
	CHECK_EQUAL(low, BASE);
	CHECK_EQUAL(high, BASE + sizeof(image));

	seen = visit_all(&view, 0);
	CHECK_EQUAL(seen.count, 3); // malloc, free, hidden
	CHECK_EQUAL(seen.dynamic, 2);
	CHECK_EQUAL(seen.sum, 0x1234 + 0x5678 + 0x9abc);
	CHECK_EQUAL(seen.last_type, STT_GNU_IFUNC);
	CHECK_EQUAL(visit_all(&view, 1).count, 1);
	CHECK(elf_view_find_symbol(&view, "malloc", &symbol));
	CHECK_EQUAL(symbol.value, 0x1234);
	CHECK_EQUAL(symbol.binding, STB_WEAK);
	CHECK(symbol.dynamic);
	CHECK(elf_view_find_symbol(&view, "hidden", &symbol) && !symbol.dynamic);
	CHECK(!elf_view_find_symbol(&view, "abort", &symbol)); // not defined here

	// Strings that end with the file and without a 0 byte cannot be used.
	image.sections[3].sh_link = 4;
	image.sections[4] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = sizeof(image) - 4, .sh_size = 4, .sh_entsize = UINT64_MAX
	};
	image.all_symbols[1].st_name = 1;
	CHECK_EQUAL(visit_all(&view, 0).count, 2);
	image = make_image();
	image.sections[2].sh_size = 22; // within the last name, which has no end then
	CHECK_EQUAL(visit_all(&view, 0).count, 2);
	CHECK(!elf_view_find_symbol(&view, "hid", &symbol));

	// Symbols of another size.
	image = make_image();
	image.sections[3].sh_entsize = sizeof(Elf64_Sym) + 8;
	CHECK_EQUAL(visit_all(&view, 0).count, 2);

	// Unwind information that begins in the loaded file, and ends behind it; or begins before it.
	image = make_image();
	image.segments[3].p_memsz = sizeof(image) - AT(unwind);
	CHECK(elf_view_unwind(&view, &hdr, &hdr_size, &low, &high));
	image.segments[3].p_memsz++;
	CHECK(!elf_view_unwind(&view, &hdr, &hdr_size, &low, &high));
	image.segments[3].p_memsz = UINT64_MAX;
	CHECK(!elf_view_unwind(&view, &hdr, &hdr_size, &low, &high));
	image.segments[3].p_memsz = 8;
	image.segments[3].p_vaddr = BASE - 4;
	CHECK(!elf_view_unwind(&view, &hdr, &hdr_size, &low, &high));
	elf_view_deinit(&view);
}

static void test_without_sections(void)
{
	struct image image = make_image();
	struct elf_view view;

	image.header.e_shoff = 0;
	image.header.e_shnum = 0;
	CHECK(elf_view_init(&image, sizeof(image), &view) == NULL);
	CHECK_EQUAL(visit_all(&view, 0).count, 2); // DT_HASH
	image.dynamic[4] = (Elf64_Dyn){ DT_GNU_HASH, { BASE + AT(gnu_hash) } };
	CHECK_EQUAL(visit_all(&view, 0).count, 2);
	image.gnu_hash[8] = 0x10; // the chain goes on, one word further
	image.gnu_hash[9] = 0x11;
	CHECK_EQUAL(visit_all(&view, 0).count, 2); // a fifth symbol, whose name is outside the strings
	image.gnu_hash[6] = 0;                     // empty bucket
	CHECK_EQUAL(visit_all(&view, 0).count, 0);
	image.gnu_hash[2] = UINT32_MAX;
	CHECK_EQUAL(visit_all(&view, 0).count, 0);
	image.dynamic[4].d_tag = DT_NULL; // no hash table: the number of symbols is unknown
	CHECK_EQUAL(visit_all(&view, 0).count, 0);
}

static void check_bad(struct image *image, size_t size, const char *message)
{
	struct elf_view view;
	struct hs_error *error = elf_view_init(image, size, &view);

	CHECK(error != NULL);
	if (error) {
		CHECK_EQUAL(error->code, HS_ERROR_BAD_DATA);
		CHECK_STRING(error->message, message);
		hs_error_destroy(error);
	}
	*image = make_image();
}

static void test_bad_headers(void)
{
	static const char no_headers[] = "an ELF file without usable program headers";
	struct image image = make_image();

	check_bad(&image, sizeof(Elf64_Ehdr) - 1, "too short for an ELF file");
	image.header.e_ident[0] = 'E';
	check_bad(&image, sizeof(image), "not an ELF file");
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	check_bad(&image, sizeof(image), "not an ELF file for x86-64");
	image.header.e_machine = EM_AARCH64;
	check_bad(&image, sizeof(image), "not an ELF file for x86-64");
	image.header.e_type = ET_REL;
	check_bad(&image, sizeof(image), "an ELF file that is neither program nor shared library");
	image.header.e_phoff = UINT64_MAX - 7;
	check_bad(&image, sizeof(image), no_headers);
	image.header.e_phoff++;
	check_bad(&image, sizeof(image), no_headers);
	image.header.e_phnum = 0;
	check_bad(&image, sizeof(image), no_headers);
	image.header.e_phnum = 0xfffe;
	check_bad(&image, sizeof(image), no_headers);
	image.header.e_phentsize = 32;
	check_bad(&image, sizeof(image), no_headers);
	check_bad(&image, AT(segments) + sizeof(image.segments) - 1, no_headers);
}

static void test_bytes(void)
{
	struct image image = make_image();
	struct elf_view view;

	CHECK(elf_view_init(&image, sizeof(image), &view) == NULL);
	CHECK(elf_view_bytes(&view, BASE, sizeof(image)) == (const uint8_t *)&image);
	CHECK(elf_view_bytes(&view, BASE + 1, sizeof(image)) == NULL);
	CHECK(elf_view_bytes(&view, BASE - 1, 1) == NULL);
	CHECK(elf_view_bytes(&view, BASE + 1, SIZE_MAX) == NULL);
	CHECK(elf_view_bytes(&view, UINT64_MAX, 1) == NULL);
	image.segments[0].p_offset = UINT64_MAX;
	CHECK(elf_view_bytes(&view, BASE, 1) == NULL);
	image.segments[0].p_offset = 1; // the segment is said to end behind the file
	CHECK(elf_view_bytes(&view, BASE, 1) == NULL);
}

static void test_notes(void)
{
	struct image image = make_image();
	struct elf_view view;

	image.note.description_size = UINT32_MAX;
	CHECK(elf_view_init(&image, sizeof(image), &view) == NULL);
	CHECK_EQUAL(view.build_id_size, 0);
	image.note.description_size = 20;
	image.note.name_size = UINT32_MAX;
	CHECK(elf_view_init(&image, sizeof(image), &view) == NULL);
	CHECK_EQUAL(view.build_id_size, 0);
	image.note.name_size = 4;
	image.segments[2].p_filesz = UINT64_MAX;
	CHECK(elf_view_init(&image, sizeof(image), &view) == NULL);
	CHECK_EQUAL(view.build_id_size, 0);
}

// Two notes, padded as their segment says.
static void test_note_alignment(void)
{
	static const struct {
		uint64_t alignment;
		size_t second; // where the second note begins, behind one of 20 bytes
		bool found;
	} cases[] = { { 4, 36, true },  { 8, 40, true }, { 4, 40, false },
		      { 8, 36, false }, { 1, 36, true }, { 0, 36, true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct {
			struct image image;
			_Alignas(8) uint8_t notes[80];
		} file = { .image = make_image() };
		const uint32_t first[3] = { 4, 20, 1 }, second[3] = { 4, 4, NT_GNU_BUILD_ID };
		struct elf_view view;

		memcpy(file.notes, first, sizeof(first));
		memcpy(file.notes + 12, "GNU", 4);
		memcpy(file.notes + cases[i].second, second, sizeof(second));
		memcpy(file.notes + cases[i].second + 12, "GNU\0id42", 8);
		file.image.segments[2].p_offset = (uint64_t)(file.notes - (uint8_t *)&file);
		file.image.segments[2].p_filesz = cases[i].second + 24;
		file.image.segments[2].p_align = cases[i].alignment;
		CHECK(elf_view_init(&file, sizeof(file), &view) == NULL);
		CHECK_EQUAL(view.build_id_size, cases[i].found ? 4 : 0);
		CHECK(!cases[i].found || memcmp(view.build_id, "id42", 4) == 0);
	}
}

// xorshift64: the same mutations in every run.
static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

// Half of the mutations hit the tables that are read, or few would matter.
static uint64_t choose_position(const uint8_t *data, size_t size)
{
	Elf64_Ehdr header;
	uint64_t start, length;

	memcpy(&header, data, sizeof(header));
	switch (next_random(4)) {
	case 0:
		start = 0, length = 1024;
		break;
	case 1:
		start = header.e_shoff, length = (uint64_t)header.e_shnum * sizeof(Elf64_Shdr);
		break;
	default:
		start = 0, length = size;
	}
	if (start >= size || length == 0 || length > size - start)
		return next_random(size);
	return start + next_random(length);
}

static void use_everything(const uint8_t *data, size_t size)
{
	uint64_t hdr, hdr_size, low, high;
	struct elf_view view;
	struct hs_error *error = elf_view_init(data, size, &view);
	volatile uint8_t used;

	if (error) {
		hs_error_destroy(error);
		return;
	}
	visit_all(&view, 2000);
	if (elf_view_unwind(&view, &hdr, &hdr_size, &low, &high)) {
		const uint8_t *bytes = elf_view_bytes(&view, hdr, hdr_size);

		if (bytes && hdr_size)
			used = bytes[hdr_size - 1];
		CHECK(low <= high);
	}
	(void)used;
}

static void test_mutations(const char *path, unsigned rounds)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_view original;
	uint8_t *data;
	size_t size;

	if (fd < 0) {
		CHECK_LEFT_OUT("%s is not here", path);
		return;
	}
	CHECK(elf_view_open_fd(fd, &original) == NULL);
	size = original.size;
	data = malloc(size);
	memcpy(data, original.data, size);
	CHECK(visit_all(&original, 0).count > 0);
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t positions[8];
		unsigned count = 1 + (unsigned)next_random(8);

		for (unsigned j = 0; j < count; j++) {
			positions[j] = choose_position(data, size);
			data[positions[j]] = (uint8_t)next_random(next_random(3) ? 256 : 2);
		}
		use_everything(data, size);
		for (unsigned j = 0; j < count; j++)
			data[positions[j]] = original.data[positions[j]];
	}
	// Cut short: an exact copy, so that the sanitizer sees the end.
	for (unsigned i = 0; i < 200; i++) {
		size_t cut = (size_t)next_random(i < 100 ? 2048 : size);
		uint8_t *copy = malloc(cut ? cut : 1);

		memcpy(copy, data, cut);
		use_everything(copy, cut);
		free(copy);
	}
	free(data);
	elf_view_deinit(&original);
	close(fd);
}

// All 20,000 in one image of a few hundred bytes, where every byte is read.
static void test_mutated_image(void)
{
	for (unsigned i = 0; i < 20000; i++) {
		struct image *image = malloc(sizeof(*image));
		uint8_t *bytes = (uint8_t *)image;

		*image = make_image();
		if (i & 1) {
			image->header.e_shnum = 0;
			if (i & 2)
				image->dynamic[4] = (Elf64_Dyn){ DT_GNU_HASH, { BASE + AT(gnu_hash) } };
		}
		for (uint64_t j = next_random(6); j < 6; j++)
			bytes[next_random(sizeof(*image))] = next_random(2) ? 0xff : (uint8_t)next_random(256);
		use_everything(bytes, sizeof(*image));
		free(image);
	}
}

int main(void)
{
	alarm(100); // a hostile file must not be able to keep us
	test_generated();
	test_without_sections();
	test_bad_headers();
	test_bytes();
	test_notes();
	test_note_alignment();
	test_mutated_image();
	test_mutations("/lib/x86_64-linux-gnu/libc.so.6", 20000);
	test_mutations("/lib/x86_64-linux-gnu/libdl.so.2", 20000);
	return CHECK_RESULT();
}
