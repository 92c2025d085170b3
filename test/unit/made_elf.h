// SPDX-License-Identifier: Apache-2.0
// A small library as the dynamic loader leaves it in memory. Behind its last page, and before its first, is no access.
//
//   page 0  ELF header, program headers; from NOTE_AT on notes, from HASH_AT on a hash table, from FRAMES_AT on
//           .eh_frame_hdr
//   page 1  code
//   page 2  the dynamic section, up to the end of page 3
#ifndef HEAPSNAP_TEST_UNIT_MADE_ELF_H
#define HEAPSNAP_TEST_UNIT_MADE_ELF_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ELF_PAGE = 4096,
	ELF_PAGES = 4,
	NOTE_AT = 0x300,
	HASH_AT = 0x600,
	FRAMES_AT = 0x800,
	FRAMES_SIZE = 0x40,
	CODE_AT = ELF_PAGE,
	DYNAMIC_AT = 2 * ELF_PAGE
};
enum { SEGMENT_DATA, SEGMENT_CODE, SEGMENT_VARIABLES, SEGMENT_DYNAMIC, SEGMENT_NOTE, SEGMENT_FRAMES, SEGMENT_COUNT };

struct made_elf {
	uint8_t *bytes;
	uint64_t bias; // = the address of `bytes`: the first segment's address in the file is 0
	Elf64_Ehdr *header;
	Elf64_Phdr *segments;
	Elf64_Dyn *dynamic;
};

// A note of one word of name and `size` bytes of text, all of which are `fill`. Returns its size.
static inline uint64_t made_note(uint8_t *place, uint32_t type, const char *name, uint32_t size, uint8_t fill)
{
	const Elf64_Nhdr note = { .n_namesz = 4, .n_descsz = size, .n_type = type };

	memcpy(place, &note, sizeof(note));
	memcpy(place + sizeof(note), name, 4);
	memset(place + sizeof(note) + 4, fill, size);
	return sizeof(note) + 4 + ((size + 3) & ~3u);
}

static inline uint64_t elf_address(const struct made_elf *elf, uint64_t offset) { return elf->bias + offset; }

// Everything that a library has, its build id 20 bytes of `build_id`.
static inline void made_elf_write(struct made_elf *elf, uint8_t build_id)
{
	memset(elf->bytes, 0, ELF_PAGES * ELF_PAGE);
	*elf->header =
		(Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(Elf64_Ehdr),
			      .e_ehsize = sizeof(Elf64_Ehdr),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = SEGMENT_COUNT };
	elf->segments[SEGMENT_DATA] =
		(Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0xa00, .p_memsz = 0xa00 };
	elf->segments[SEGMENT_CODE] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE_AT, .p_filesz = 0x234, .p_memsz = 0x234
	};
	elf->segments[SEGMENT_VARIABLES] = (Elf64_Phdr){ .p_type = PT_LOAD,
							 .p_flags = PF_R | PF_W,
							 .p_vaddr = DYNAMIC_AT,
							 .p_filesz = 0x200,
							 .p_memsz = ELF_PAGE + 1 };
	elf->segments[SEGMENT_DYNAMIC] = (Elf64_Phdr){
		.p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_vaddr = DYNAMIC_AT, .p_filesz = 0x200, .p_memsz = 0x200
	};
	elf->segments[SEGMENT_NOTE] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_flags = PF_R, .p_vaddr = NOTE_AT };
	elf->segments[SEGMENT_FRAMES] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
						      .p_flags = PF_R,
						      .p_vaddr = FRAMES_AT,
						      .p_filesz = FRAMES_SIZE,
						      .p_memsz = FRAMES_SIZE };
	elf->segments[SEGMENT_NOTE].p_filesz = made_note(elf->bytes + NOTE_AT, NT_GNU_BUILD_ID, "GNU", 20, build_id);
	elf->dynamic[0] = (Elf64_Dyn){ .d_tag = DT_STRTAB, .d_un.d_ptr = elf_address(elf, HASH_AT + 0x100) };
	elf->dynamic[1] = (Elf64_Dyn){ .d_tag = DT_GNU_HASH, .d_un.d_ptr = elf_address(elf, HASH_AT) };
	elf->dynamic[2] = (Elf64_Dyn){ .d_tag = DT_SYMTAB, .d_un.d_ptr = elf_address(elf, HASH_AT + 0x80) };
}

static inline void made_elf_init(struct made_elf *elf, uint8_t build_id)
{
	uint8_t *place = mmap(NULL, (ELF_PAGES + 2) * ELF_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED || mprotect(place + ELF_PAGE, ELF_PAGES * ELF_PAGE, PROT_READ | PROT_WRITE) != 0) {
		perror("no address space for a library");
		exit(1);
	}
	elf->bytes = place + ELF_PAGE;
	elf->bias = (uint64_t)elf->bytes;
	elf->header = (Elf64_Ehdr *)elf->bytes;
	elf->segments = (Elf64_Phdr *)(elf->bytes + sizeof(Elf64_Ehdr));
	elf->dynamic = (Elf64_Dyn *)(elf->bytes + DYNAMIC_AT);
	made_elf_write(elf, build_id);
}

static inline void made_elf_deinit(struct made_elf *elf) { munmap(elf->bytes - ELF_PAGE, (ELF_PAGES + 2) * ELF_PAGE); }

#endif
