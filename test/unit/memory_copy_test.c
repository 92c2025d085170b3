// SPDX-License-Identifier: Apache-2.0
// What is read of modules in memory against what their files say, of this very process.
#include "attach/elf/import_names.h"
#include "attach/elf/memory_copy.h"
#include "base/pagemap.h"
#include "check.h"
#include "live_child.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <sys/mman.h>

static struct hs_error *view(const struct live_target *target, const struct module *module, struct elf_view *ret)
{
	const struct loaded_place place = {
		.maps = &target->maps,
		.first = proc_maps_find(&target->maps, module->start),
		.load_bias = module->load_bias,
		.start = module->start,
		.end = module->end,
	};

	return memory_copy_view(&module->elf, &place, &target->memory, ret);
}

static void check_bytes(const struct module *module, const struct elf_view *memory)
{
	for (unsigned i = 0; i < module->elf.header.e_phnum; i++) {
		const Elf64_Phdr *segment = &module->elf.segments[i];
		const uint8_t *of_file = elf_view_bytes(&module->elf, segment->p_vaddr, segment->p_filesz);
		const uint8_t *of_memory = elf_view_bytes(memory, segment->p_vaddr, segment->p_filesz);

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W) {
			CHECK(!of_memory); // what a program may have changed is not known
		} else if (segment->p_type == PT_LOAD && segment->p_filesz > 0) {
			CHECK(of_file && of_memory && memcmp(of_file, of_memory, segment->p_filesz) == 0);
		} else if (segment->p_type == PT_DYNAMIC) {
			CHECK(of_file && of_memory && segment->p_filesz > 0);
			for (uint64_t at = 0; at < segment->p_filesz && of_file && of_memory; at += sizeof(Elf64_Dyn))
				if (((const Elf64_Dyn *)(const void *)(of_file + at))->d_tag != DT_DEBUG)
					CHECK(memcmp(of_file + at, of_memory + at, sizeof(Elf64_Dyn)) == 0);
		}
	}
}

static bool find_same(const struct elf_symbol *symbol, void *context)
{
	const struct elf_view *other = context;
	struct elf_symbol found;

	if (symbol->dynamic)
		CHECK(elf_view_find_symbol(other, symbol->name, &found) && found.dynamic);
	return symbol->dynamic;
}

static bool count_symbol(const struct elf_symbol *symbol, void *context)
{
	*(size_t *)context += symbol->dynamic;
	return true;
}

static void check_names(const struct module *module, const struct elf_view *memory)
{
	struct imports of_file, of_memory;
	size_t in_file = 0, in_memory = 0;

	CHECK(elf_view_symbols(&module->elf, count_symbol, &in_file) == NULL);
	CHECK(elf_view_symbols(memory, count_symbol, &in_memory) == NULL);
	CHECK_EQUAL(in_memory, in_file);
	if (in_file < 300) // each is looked for among all
		hs_error_destroy(elf_view_symbols(&module->elf, find_same, (void *)(uintptr_t)memory));
	imports_read(&module->elf, &of_file);
	imports_read(memory, &of_memory);
	CHECK(!of_file.is_incomplete && !of_memory.is_incomplete);
	CHECK_EQUAL(of_memory.count, of_file.count);
	for (size_t i = 0; i < of_file.count && i < of_memory.count; i++) {
		CHECK_EQUAL(of_memory.items[i].vaddr, of_file.items[i].vaddr);
		CHECK_STRING(of_memory.items[i].name, of_file.items[i].name);
		CHECK_EQUAL(of_memory.items[i].lazy, of_file.items[i].lazy);
	}
	imports_deinit(&of_file);
	imports_deinit(&of_memory);
}

static void test_against_files(void)
{
	struct live_target target;
	unsigned checked = 0;

	if (!live_target_open(getpid(), &target))
		return;
	CHECK_EQUAL(target.modules.unread_count, 0);
	for (size_t i = 0; i < target.modules.count; i++) {
		const struct module *module = &target.modules.items[i];
		struct elf_view memory;
		struct hs_error *error;

		if (module->is_vdso)
			continue;
		error = view(&target, module, &memory);
		if (error)
			fprintf(stderr, "%s: %s\n", module->path, error->message);
		CHECK(error == NULL);
		if (error) {
			hs_error_destroy(error);
			continue;
		}
		checked++;
		check_bytes(module, &memory);
		check_names(module, &memory);
		CHECK_EQUAL(memory.build_id_size, module->elf.build_id_size);
		CHECK(memcmp(memory.build_id, module->elf.build_id, sizeof(memory.build_id)) == 0);
		elf_view_deinit(&memory);
	}
	CHECK(checked >= 3);
	live_target_close(&target);
}

// A single page that was written to, with whatever: then it need not be what the file has.
static void test_changed_page(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	uint8_t *function = library ? dlsym(library, "lgamma") : NULL, *page;
	struct live_target target;
	struct elf_view memory;
	struct hs_error *error = NULL;
	char address[32];

	CHECK(function != NULL);
	if (!function || !live_target_open(getpid(), &target))
		return;
	page = (uint8_t *)page_of((uint64_t)(uintptr_t)function);
	CHECK(mprotect(page, HS_PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	*(volatile uint8_t *)function = *(volatile uint8_t *)function; // the same
	CHECK(mprotect(page, HS_PAGE_SIZE, PROT_READ | PROT_EXEC) == 0);
	snprintf(address, sizeof(address), "0x%" PRIx64, (uint64_t)(uintptr_t)page);
	for (size_t i = 0; i < target.modules.count; i++)
		if (strstr(target.modules.items[i].path, "/libm.so"))
			error = view(&target, &target.modules.items[i], &memory);
	CHECK(error && strstr(error->message, address));
	hs_error_destroy(error);
	target.memory.pagemap = -1;
	error = view(&target, &target.modules.items[0], &memory);
	CHECK(error && strstr(error->message, "the kernel does not say"));
	hs_error_destroy(error);
	live_target_close(&target);
	dlclose(library);
}

static void test_pages(void)
{
	static const struct {
		uint64_t entry;
		bool is_files_own;
	} cases[] = {
		{ PAGEMAP_PRESENT | PAGEMAP_FILE, true },
		{ PAGEMAP_PRESENT | PAGEMAP_FILE | 0x1234, true },
		{ PAGEMAP_PRESENT, false },
		{ PAGEMAP_FILE, false },
		{ PAGEMAP_SWAPPED | PAGEMAP_FILE, false },
		{ PAGEMAP_SWAPPED, false },
		{ 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQUAL(memory_copy_is_files_own(cases[i].entry), cases[i].is_files_own);
}

static void test_undo_bias(void)
{
	static const struct {
		uint64_t bias, start, end;
		int64_t tag;
		uint64_t in_memory, in_file;
		bool can_tell;
	} cases[] = {
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_SYMTAB, 0x7f0000001000, 0x1000, true },
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_SYMTAB, 0x7f0000000000, 0, true },
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_SYMTAB, 0x7f0000100000, 0x7f0000100000, true },
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_SYMTAB, 0x7effffffffff, 0x7effffffffff, true },
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_STRTAB, 0x1000, 0x1000, true }, // musl
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_STRSZ, 0x7f0000001000, 0x7f0000001000, true },
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_JMPREL, 0x7f0000002000, 0x2000, true },
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_RELA, 0x7f0000002000, 0x2000, true },
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, 36 /* DT_RELR */, 0x7f0000002000, 0x2000, true },
		{ 0x7f0000000000, 0x7f0000000000, 0x7f0000100000, DT_GNU_HASH, 0x7f0000002000, 0x2000, true },
		{ 0x7f0000000000, 0x7f0000400000, 0x7f0000500000, DT_HASH, 0x7f0000401000, 0x401000, true },
		{ 0, 0x400000, 0x500000, DT_SYMTAB, 0x401000, 0x401000, true },
		{ 0x80000, 0x80000, 0x180000, DT_SYMTAB, 0x90000, 0x90000, false }, // in the file, or in memory?
		{ 0x100000, 0x100000, 0x200000, DT_SYMTAB, 0x110000, 0x10000, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct loaded_place place = { .load_bias = cases[i].bias,
						    .start = cases[i].start,
						    .end = cases[i].end };
		Elf64_Dyn entries[] = { { .d_tag = DT_NEEDED, .d_un.d_val = 1 },
					{ .d_tag = cases[i].tag, .d_un.d_ptr = cases[i].in_memory },
					{ .d_tag = DT_NULL },
					{ .d_tag = DT_SYMTAB, .d_un.d_ptr = cases[i].start } };

		CHECK_EQUAL(memory_copy_undo_bias((uint8_t *)entries, sizeof(entries), &place), cases[i].can_tell);
		CHECK_EQUAL(entries[0].d_un.d_val, 1);
		CHECK_EQUAL(entries[1].d_un.d_ptr, cases[i].in_file);
		CHECK_EQUAL(entries[3].d_un.d_ptr, cases[i].start); // behind the end
	}
}

int main(void)
{
	test_pages();
	test_undo_bias();
	test_against_files();
	test_changed_page();
	return CHECK_RESULT();
}
