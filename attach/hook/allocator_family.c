// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/allocator_family.h"

#include <string.h>

static const struct {
	const char *family, *ending;
} marks[] = {
#define X(name, ending) { #name, ending },
	HS_ALLOCATOR_MARKS(X)
#undef X
};
enum { MARK_COUNT = sizeof(marks) / sizeof(marks[0]) };

struct search {
	size_t mark;      // the first one found; MARK_COUNT = none
	const char *name; // of a function; NULL = of none
	bool is_known;    // the function has the prefix of a symbol that marks a family
	bool libc_malloc;
};

static bool ends_with(const char *name, const char *ending)
{
	size_t size = strlen(name), ending_size = strlen(ending);

	return size >= ending_size && memcmp(name + size - ending_size, ending, ending_size) == 0;
}

// glib has no malloc of its own, and a sanitizer's allocator is not hooked.
static bool is_trusted(const char *family) { return strcmp(family, "glib") != 0 && strcmp(family, "sanitizer") != 0; }

static bool visit(const struct elf_symbol *symbol, void *context)
{
	struct search *search = context;

	if (symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC)
		return true;
	for (size_t i = 0; i < search->mark; i++)
		if (ends_with(symbol->name, marks[i].ending))
			search->mark = i;
	for (size_t i = 0; i < MARK_COUNT && search->name; i++)
		search->is_known |=
			ends_with(symbol->name, marks[i].ending) && is_trusted(marks[i].family) &&
			strncmp(search->name, symbol->name, strlen(symbol->name) - strlen(marks[i].ending)) == 0;
	search->libc_malloc |= strcmp(symbol->name, "__libc_malloc") == 0;
	return true;
}

const char *allocator_family(const struct module_list *modules, size_t module, const struct libc_info *libc)
{
	struct search search = { .mark = MARK_COUNT };

	// A C library's own allocator is that, whatever else stands in the same file's symbols.
	if (!libc->is_static && libc->kind != LIBC_unknown && module == libc->module)
		return libc_name(libc->kind);
	hs_error_destroy(elf_view_symbols(&modules->items[module].elf, visit, &search));
	if (search.mark < MARK_COUNT)
		return marks[search.mark].family;
	// In a static program only the symbol table tells its libc's allocator from one of its own.
	return search.libc_malloc && libc->is_static && module == libc->module && libc->kind != LIBC_unknown
		       ? libc_name(libc->kind)
		       : "other";
}

bool allocator_is_known(const struct module_list *modules, size_t module, const struct libc_info *libc,
			const char *name)
{
	struct search search = { .mark = MARK_COUNT, .name = name };

	if (modules->items[module].is_loader ||
	    (!libc->is_static && libc->kind != LIBC_unknown && module == libc->module))
		return true;
	hs_error_destroy(elf_view_symbols(&modules->items[module].elf, visit, &search));
	return search.is_known || search.libc_malloc; // a second copy of glibc too (dlmopen)
}
