// SPDX-License-Identifier: Apache-2.0
// An ELF file, read as hostile bytes: program headers, build id, symbols, unwind section. The processor's own, 64 bit,
// little endian only.
#ifndef HEAPSNAP_ATTACH_ELF_ELF_VIEW_H
#define HEAPSNAP_ATTACH_ELF_ELF_VIEW_H

#include "attach/elf/file_copy.h"
#include "base/error.h"
#include "inject/abi/limits.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_view {
	const uint8_t *data;    // the whole file; of a copy only what is loaded
	size_t size;            // bytes
	bool mapped;            // munmap on deinit; otherwise borrowed from the caller
	struct file_copy *copy; // a user of it; NULL: all of `data` is there
	Elf64_Ehdr header;
	const Elf64_Phdr *segments; // inside data, bounds checked, count = header.e_phnum (alignment checked)
	uint8_t build_id[HS_BUILD_ID_MAX];
	uint32_t build_id_size;
};

struct elf_symbol {
	const char *name; // inside the view
	uint64_t value;   // p_vaddr space
	uint64_t size;
	uint8_t type;     // STT_*
	uint8_t binding;  // STB_*
	uint16_t section; // st_shndx
	bool dynamic;     // from .dynsym: other modules can see it
};

// Borrows the bytes. HS_ERROR_BAD_DATA for what is no usable ELF file.
struct hs_error *elf_view_init(const void *data, size_t size, struct elf_view *ret) HS_MUST_CHECK;
// Copies of the file what is asked for (file_copy.h). `fd` stays the caller's.
struct hs_error *elf_view_open_fd(int fd, struct elf_view *ret) HS_MUST_CHECK;
// Over a copy that is there. Takes over its user, also on failure.
struct hs_error *elf_view_open_copy(struct file_copy *copy, struct elf_view *ret) HS_MUST_CHECK;
void elf_view_deinit(struct elf_view *view);

// Calls `visit` for every defined symbol of .dynsym (by section headers, or by PT_DYNAMIC where they are missing) and
// of .symtab. A visit that returns false ends the iteration. HS_ERROR_NOT_FOUND: neither table is there in a form that
// can be read.
struct hs_error *elf_view_symbols(const struct elf_view *view, bool (*visit)(const struct elf_symbol *, void *),
				  void *context) HS_MUST_CHECK;

// The first such symbol of this name, .dynsym before .symtab. false = none.
bool elf_view_find_symbol(const struct elf_view *view, const char *name, struct elf_symbol *ret);

// The description of the first note of this owner and type, inside the view. false = none.
bool elf_view_find_note(const struct elf_view *view, const char *owner, uint32_t type, const uint8_t **data_ret,
			size_t *size_ret);

// The file's bytes for [vaddr, vaddr + size), NULL when they are not wholly inside the file part of one load segment.
const uint8_t *elf_view_bytes(const struct elf_view *view, uint64_t vaddr, size_t size);
// The file's bytes from `vaddr` to the end of its executable segment, *size_ret of them. NULL = no code, or, without
// `may_change`, in a segment that the program may write to.
const uint8_t *elf_view_code(const struct elf_view *view, uint64_t vaddr, bool may_change, size_t *size_ret);
// The value of the entry of PT_DYNAMIC with this tag, the last one, as the loader takes it. false = none.
bool elf_view_dynamic(const struct elf_view *view, int64_t tag, uint64_t *value_ret);
// The section of this name as a p_vaddr range, if all of it is in the file part of one load segment. false = none.
bool elf_view_section(const struct elf_view *view, const char *name, uint64_t *vaddr_ret, uint64_t *size_ret);
// The PT_GNU_EH_FRAME segment and the load segment that holds it, as p_vaddr ranges. false = none.
bool elf_view_unwind(const struct elf_view *view, uint64_t *hdr_vaddr, uint64_t *hdr_size, uint64_t *segment_low,
		     uint64_t *segment_high);

#endif
