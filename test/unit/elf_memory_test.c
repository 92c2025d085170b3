// SPDX-License-Identifier: Apache-2.0
// What the payload finds out of a library's own memory (inject/walk/elf_memory.c), on made libraries between pages
// without access.
#include "check.h"
#include "made_elf.h"

#include "inject/walk/elf_memory.h"

static struct made_elf elf;

static uint64_t at(uint64_t offset) { return elf_address(&elf, offset); }

static bool describe(struct module_record *ret)
{
	memset(ret, 0xa5, sizeof(*ret)); // as an attempt that failed may leave it
	return elf_memory_describe(elf.bias, at(DYNAMIC_AT), ret);
}

static void test_whole(void)
{
	struct module_record module;

	made_elf_write(&elf, 0x17);
	CHECK(describe(&module));
	CHECK_EQUAL(module.load_bias, elf.bias);
	CHECK_EQUAL(module.start, at(0));
	CHECK_EQUAL(module.end, at(4 * ELF_PAGE));
	CHECK_EQUAL(module.text_low, at(CODE_AT));
	CHECK_EQUAL(module.text_high, at(2 * ELF_PAGE));
	CHECK_EQUAL(module.readable_low, at(CODE_AT));
	CHECK_EQUAL(module.readable_high, at(2 * ELF_PAGE));
	CHECK_EQUAL(module.eh_frame_hdr, at(FRAMES_AT));
	CHECK_EQUAL(module.eh_frame_hdr_size, FRAMES_SIZE);
	CHECK_EQUAL(module.cfi_low, at(0));
	CHECK_EQUAL(module.cfi_high, at(0xa00)); // as far as the file goes
	CHECK_EQUAL(module.flags, 0);
	CHECK_EQUAL(module.build_id_size, 20);
	for (unsigned i = 0; i < 20; i++)
		CHECK_EQUAL(module.build_id[i], 0x17);
}

// Nothing is left of what the record held before.
static void test_bare(void)
{
	struct module_record module;

	made_elf_write(&elf, 1);
	elf.segments[SEGMENT_NOTE].p_type = elf.segments[SEGMENT_FRAMES].p_type = elf.segments[SEGMENT_CODE].p_type =
		PT_NULL;
	CHECK(describe(&module));
	CHECK_EQUAL(module.eh_frame_hdr, 0);
	CHECK_EQUAL(module.build_id_size, 0);
	CHECK_EQUAL(module.flags, 0);
	CHECK(module.text_low == 0 && module.text_high == 0);
	for (unsigned i = 0; i < SEGMENT_DYNAMIC; i++)
		elf.segments[i].p_type = PT_NULL;
	CHECK(!describe(&module)); // loaded, and nothing of it
}

// The first segment of a library that is made for an address of its own is not at 0.
static void test_made_for_an_address(void)
{
	enum { LOW = 0x10000 };
	struct module_record module;

	made_elf_write(&elf, 1);
	for (unsigned i = 0; i < SEGMENT_COUNT; i++)
		elf.segments[i].p_vaddr += LOW;
	CHECK(elf_memory_describe(elf.bias - LOW, at(DYNAMIC_AT), &module));
	CHECK_EQUAL(module.load_bias, elf.bias - LOW);
	CHECK_EQUAL(module.start, at(0));
	CHECK_EQUAL(module.eh_frame_hdr, at(FRAMES_AT));
}

#define CHECK_REFUSED(change)                                                                                          \
	do {                                                                                                           \
		struct module_record module_;                                                                          \
                                                                                                                       \
		made_elf_write(&elf, 1);                                                                               \
		CHECK(describe(&module_));                                                                             \
		change;                                                                                                \
		CHECK(!describe(&module_));                                                                            \
	} while (0)

static void test_no_header(void)
{
	for (unsigned i = 0; i <= EI_CLASS; i++)
		CHECK_REFUSED(elf.header->e_ident[i]++);
	CHECK_REFUSED(elf.header->e_phoff += 4);
	CHECK_REFUSED(elf.header->e_phentsize -= 8);
	CHECK_REFUSED(elf.header->e_phnum = 65);
	CHECK_REFUSED(elf.header->e_phoff = UINT64_MAX - 7);
	// Another file's header: its dynamic section is elsewhere, before this one or behind it.
	CHECK_REFUSED(elf.segments[SEGMENT_DYNAMIC].p_vaddr -= sizeof(Elf64_Dyn));
	CHECK_REFUSED(elf.segments[SEGMENT_DYNAMIC].p_vaddr += sizeof(Elf64_Dyn));
	CHECK_REFUSED(elf.segments[SEGMENT_DYNAMIC].p_type = PT_NULL);
}

// The program headers may end where the page does, and not behind it.
static void test_headers_at_the_end(void)
{
	for (unsigned outside = 0; outside <= 1; outside++) {
		struct module_record module;
		uint64_t place = ELF_PAGE - (SEGMENT_COUNT - outside) * sizeof(Elf64_Phdr);

		made_elf_write(&elf, 1);
		memcpy(elf.bytes + place, elf.segments, SEGMENT_COUNT * sizeof(Elf64_Phdr));
		elf.header->e_phoff = place;
		CHECK_EQUAL(describe(&module), !outside);
		CHECK(outside || module.end == at(4 * ELF_PAGE));
	}
}

// The header is in the page of the lowest of what the dynamic section points at.
static void test_dynamic_section(void)
{
	static const int64_t tags[] = { DT_HASH, DT_GNU_HASH, DT_SYMTAB, DT_STRTAB };
	struct module_record module;

	for (unsigned i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		made_elf_write(&elf, 1);
		elf.dynamic[0] = (Elf64_Dyn){ .d_tag = DT_RELA, .d_un.d_ptr = 1 };
		elf.dynamic[1] = (Elf64_Dyn){ .d_tag = tags[i], .d_un.d_ptr = at(ELF_PAGE - 1) };
		elf.dynamic[2] = (Elf64_Dyn){ .d_tag = DT_NULL };
		CHECK(describe(&module));
		elf.dynamic[1].d_un.d_ptr = ELF_PAGE - 1; // as musl leaves them
		CHECK(describe(&module));
		elf.dynamic[1].d_un.d_ptr = at(ELF_PAGE); // no header there
		CHECK(!describe(&module));
		elf.dynamic[1].d_tag = DT_RELA;
		CHECK(!describe(&module));
	}
	made_elf_write(&elf, 1);
	elf.dynamic[0].d_un.d_ptr = at(CODE_AT); // not the lowest
	CHECK(describe(&module));
}

// One without an end is read as far as any is long, and this one lies at the end of what is mapped.
static void test_dynamic_section_without_end(void)
{
	struct module_record module;

	made_elf_write(&elf, 1);
	for (unsigned i = 0; i < (ELF_PAGES * ELF_PAGE - DYNAMIC_AT) / sizeof(Elf64_Dyn); i++)
		elf.dynamic[i] = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = 1 };
	CHECK(!describe(&module));
	elf.dynamic[511] = (Elf64_Dyn){ .d_tag = DT_SYMTAB, .d_un.d_ptr = at(HASH_AT) };
	CHECK(describe(&module));
}

// The build id among others, and what looks like one.
static void test_notes(void)
{
	static const struct {
		uint32_t type;
		const char *name;
		uint32_t size;
	} others[] = { { NT_GNU_BUILD_ID, "GNX", 20 },
		       { NT_GNU_ABI_TAG, "GNU", 16 },
		       { NT_GNU_PROPERTY_TYPE_0, "GNU", 13 },
		       { NT_GNU_BUILD_ID, "XNU", 0 } };
	struct module_record module;
	uint64_t size = 0;

	made_elf_write(&elf, 1);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		size += made_note(elf.bytes + NOTE_AT + size, others[i].type, others[i].name, others[i].size, 0x66);
	elf.segments[SEGMENT_NOTE].p_filesz = size;
	CHECK(describe(&module));
	CHECK_EQUAL(module.build_id_size, 0);
	size += made_note(elf.bytes + NOTE_AT + size, NT_GNU_BUILD_ID, "GNU", 8, 0x55);
	elf.segments[SEGMENT_NOTE].p_filesz = size;
	CHECK(describe(&module));
	CHECK(module.build_id_size == 8 && module.build_id[0] == 0x55 && module.build_id[7] == 0x55);
	elf.segments[SEGMENT_NOTE].p_filesz = size - 1; // cut short
	CHECK(describe(&module));
	CHECK_EQUAL(module.build_id_size, 0);

	made_elf_write(&elf, 1);
	elf.segments[SEGMENT_NOTE].p_filesz =
		made_note(elf.bytes + NOTE_AT, NT_GNU_BUILD_ID, "GNU", HS_BUILD_ID_MAX + 4, 0x44);
	CHECK(describe(&module));
	CHECK_EQUAL(module.build_id_size, HS_BUILD_ID_MAX); // as much as there is room for
	CHECK_EQUAL(module.flags, 0);

	// Sizes that lead elsewhere.
	made_elf_write(&elf, 1);
	((Elf64_Nhdr *)(elf.bytes + NOTE_AT))->n_namesz = UINT32_MAX;
	CHECK(describe(&module));
	CHECK_EQUAL(module.build_id_size, 0);
	made_elf_write(&elf, 1);
	((Elf64_Nhdr *)(elf.bytes + NOTE_AT))->n_descsz = UINT32_MAX;
	CHECK(describe(&module));
	CHECK_EQUAL(module.build_id_size, 0);
}

// Notes and unwind information count where the file holds all of them. Here the segment ends with the last page that is
// mapped.
static void test_behind_the_file(void)
{
	enum { END = ELF_PAGES * ELF_PAGE, NOTE_SIZE = 36 };
	static const struct {
		uint64_t vaddr, size;
		bool is_held;
	} cases[] = {
		{ END - NOTE_SIZE, NOTE_SIZE, true },      // up to the last byte
		{ END - NOTE_SIZE, NOTE_SIZE + 4, false }, // one more note would begin behind it
		{ END - 16, NOTE_SIZE, false },            // header and name are there
		{ END - 4, NOTE_SIZE, false },             // a part of the header
		{ END, NOTE_SIZE, false },
		{ END - NOTE_SIZE, UINT64_MAX, false },
		{ 3 * ELF_PAGE - 4, NOTE_SIZE, false }, // before it
		{ UINT64_MAX - 3, NOTE_SIZE, false },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct module_record module;
		uint8_t note[NOTE_SIZE];
		uint64_t size = made_note(note, NT_GNU_BUILD_ID, "GNU", 20, 0x33);

		CHECK_EQUAL(size, NOTE_SIZE);
		made_elf_write(&elf, 1);
		elf.segments[SEGMENT_VARIABLES] = (Elf64_Phdr){ .p_type = PT_LOAD,
								.p_flags = PF_R | PF_W,
								.p_vaddr = 3 * ELF_PAGE,
								.p_filesz = ELF_PAGE,
								.p_memsz = ELF_PAGE };
		for (uint64_t k = 0; k < NOTE_SIZE && cases[i].vaddr < END && cases[i].vaddr + k < END; k++)
			elf.bytes[cases[i].vaddr + k] = note[k];
		elf.segments[SEGMENT_NOTE].p_vaddr = cases[i].vaddr;
		elf.segments[SEGMENT_NOTE].p_filesz = cases[i].size;
		CHECK(describe(&module));
		CHECK_EQUAL(module.build_id_size, cases[i].is_held ? 20 : 0);

		elf.segments[SEGMENT_FRAMES].p_vaddr = cases[i].vaddr;
		elf.segments[SEGMENT_FRAMES].p_filesz = cases[i].size;
		CHECK(describe(&module));
		CHECK_EQUAL(module.eh_frame_hdr, cases[i].is_held ? at(cases[i].vaddr) : 0);
		if (cases[i].is_held)
			CHECK(module.cfi_low == at(3 * ELF_PAGE) && module.cfi_high == at(END));
	}
}

// Code counts as readable where it is one segment, all of it from the file, and may be read: the longest such one.
static void test_readable_code(void)
{
	struct module_record module;

	made_elf_write(&elf, 1);
	elf.segments[SEGMENT_CODE].p_flags = PF_X;
	CHECK(describe(&module));
	CHECK(module.readable_low == 0 && module.readable_high == 0);
	CHECK_EQUAL(module.text_low, at(CODE_AT));

	made_elf_write(&elf, 1);
	elf.segments[SEGMENT_CODE].p_memsz++;
	CHECK(describe(&module));
	CHECK(module.readable_low == 0 && module.readable_high == 0);

	// Between two may be a hole.
	made_elf_write(&elf, 1);
	elf.segments[SEGMENT_VARIABLES].p_flags |= PF_X;
	elf.segments[SEGMENT_VARIABLES].p_filesz = elf.segments[SEGMENT_VARIABLES].p_memsz;
	CHECK(describe(&module));
	CHECK_EQUAL(module.text_low, at(CODE_AT));
	CHECK_EQUAL(module.text_high, at(4 * ELF_PAGE));
	CHECK(module.readable_low == at(2 * ELF_PAGE) && module.readable_high == at(4 * ELF_PAGE));
	elf.segments[SEGMENT_VARIABLES].p_flags = PF_X;
	CHECK(describe(&module));
	CHECK(module.readable_low == at(CODE_AT) && module.readable_high == at(2 * ELF_PAGE));
}

int main(void)
{
	made_elf_init(&elf, 1);
	test_whole();
	test_bare();
	test_made_for_an_address();
	test_no_header();
	test_headers_at_the_end();
	test_dynamic_section();
	test_dynamic_section_without_end();
	test_notes();
	test_behind_the_file();
	test_readable_code();
	made_elf_deinit(&elf);
	return CHECK_RESULT();
}
