// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/libc.h"

#include "attach/elf/program_kind.h"

#include <string.h>

const char *libc_name(enum libc_kind kind)
{
	return kind == LIBC_glibc ? "glibc" : kind == LIBC_musl ? "musl" : "unknown";
}

static bool is_version_character(uint8_t c) { return (c >= '0' && c <= '9') || c == '.'; }

// Takes the digits and points at `text`, which end before `end`. false = it is no number with a point in it.
static bool take_version(const uint8_t *text, const uint8_t *end, char ret[32])
{
	size_t size = 0;
	bool has_point = false;

	while (text + size < end && size < 31 && is_version_character(text[size])) {
		has_point |= text[size] == '.';
		size++;
	}
	while (size > 0 && text[size - 1] == '.') // the end of a sentence
		size--;
	if (size == 0 || !has_point || text[0] == '.')
		return false;
	memcpy(ret, text, size);
	ret[size] = 0;
	return true;
}

// Constant bytes of the file: what a load segment that is not writable has. NULL = segment `index` is no such one.
static const uint8_t *constant_bytes(const struct elf_view *elf, unsigned index, size_t *size_ret)
{
	const Elf64_Phdr *segment = &elf->segments[index];

	if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W))
		return NULL;
	*size_ret = segment->p_filesz;
	return elf_view_bytes(elf, segment->p_vaddr, segment->p_filesz);
}

static const uint8_t *find_words(const struct elf_view *elf, const char *words, size_t *left_ret)
{
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		size_t size;
		const uint8_t *bytes = constant_bytes(elf, i, &size),
			      *found = bytes ? memmem(bytes, size, words, strlen(words)) : NULL;

		if (found) {
			*left_ret = size - (size_t)(found - bytes);
			return found;
		}
	}
	return NULL;
}

// csu/version.c: "GNU C Library (distribution's words) stable release version 2.36.\n..."
static bool find_glibc_version(const struct elf_view *elf, char ret[32])
{
	static const char word[] = "release version ";
	size_t left;
	const uint8_t *at = find_words(elf, "GNU C Library ", &left), *end = at ? memchr(at, '\n', left) : NULL,
		      *number;

	if (!end)
		return false;
	number = memmem(at, (size_t)(end - at), word, sizeof(word) - 1);
	return number && take_version(number + sizeof(word) - 1, end, ret);
}

// Whether it is "1.2.3" and nothing else.
static bool is_musl_version(const uint8_t *text, const uint8_t *end)
{
	char version[32];

	return end - text >= 5 && end - text <= 16 && memcmp(text, "1.", 2) == 0 && take_version(text, end, version) &&
	       strlen(version) == (size_t)(end - text) && strchr(version + 2, '.');
}

// ldso/dynlink.c: "musl libc (%s)\nVersion %s\n...". The version is a string of its own somewhere else
// (src/internal/version.h): of all strings of the file that look like one it must be the only one.
static bool find_musl_version(const struct elf_view *elf, char ret[32])
{
	size_t found = 0;

	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		size_t size = 0;
		const uint8_t *at = constant_bytes(elf, i, &size), *end = at ? at + size : NULL, *next;

		for (; at && at < end && (next = memchr(at, 0, (size_t)(end - at))); at = next + 1)
			if (is_musl_version(at, next) && take_version(at, next, ret))
				found++;
	}
	return found == 1;
}

struct marks {
	bool glibc;       // gnu_get_libc_version, in glibc's own module
	bool musl_static; // functions that only musl has, linked into a program
};

static bool visit_mark(const struct elf_symbol *symbol, void *context)
{
	struct marks *marks = context;

	marks->glibc |= symbol->dynamic && strcmp(symbol->name, "gnu_get_libc_version") == 0;
	marks->musl_static |=
		strcmp(symbol->name, "__init_libc") == 0 || strcmp(symbol->name, "__libc_start_init") == 0;
	return true;
}

static bool identify_module(const struct module *module, struct libc_info *ret)
{
	const struct elf_view *elf = &module->elf;
	struct marks marks = { 0 };
	size_t left;

	if (module->is_loader && find_words(elf, "musl libc (", &left)) {
		ret->kind = LIBC_musl;
		if (!find_musl_version(elf, ret->version))
			ret->version[0] = 0;
		return true;
	}
	hs_error_destroy(elf_view_symbols(elf, visit_mark, &marks));
	if (!marks.glibc)
		return false;
	ret->kind = LIBC_glibc;
	if (!find_glibc_version(elf, ret->version))
		ret->version[0] = 0;
	return true;
}

// glibc's start files leave a note in every program that is linked with them. So do those of others that do without it
// (FreePascal's), but not musl's. A static program of glibc also names the variables that it takes out of a privileged
// program's environment, stripped or not: sysdeps/generic/unsecvars.h.
static void identify_static(const struct elf_view *elf, struct libc_info *ret)
{
	struct marks marks = { 0 };
	const uint8_t *data;
	size_t size, left;

	ret->is_static = true;
	if (elf_view_find_note(elf, ELF_NOTE_GNU, NT_GNU_ABI_TAG, &data, &size) &&
	    find_words(elf, "GCONV_PATH", &left)) {
		ret->kind = LIBC_glibc;
		return;
	}
	hs_error_destroy(elf_view_symbols(elf, visit_mark, &marks));
	if (marks.musl_static)
		ret->kind = LIBC_musl;
}

void libc_identify(const struct module_list *modules, struct libc_info *ret)
{
	*ret = (struct libc_info){ 0 };
	if (modules->count == 0)
		return;
	ret->is_go = program_is_go(&modules->items[0].elf);
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];

		if (!module->is_vdso && i > 0 && identify_module(module, ret)) {
			ret->module = i;
			return;
		}
	}
	if (program_is_static(modules))
		identify_static(&modules->items[0].elf, ret);
}
