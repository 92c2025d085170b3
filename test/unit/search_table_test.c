// SPDX-License-Identifier: Apache-2.0
// The search table that is made from .eh_frame, against the one that the linker wrote: for every module of this process
// that has both. And bytes that are no .eh_frame.
#include "check.h"
#include "held_process.h"

#include "attach/elf/modules.h"
#include "attach/session/attach_plan.h"
#include "unwind/cfi.h"

#include <stdlib.h>
#include <unistd.h>

static bool same_row(enum cfi_result left_result, const struct cfi_row *left, enum cfi_result right_result,
		     const struct cfi_row *right)
{
	if (left_result != right_result)
		return false;
	if (left_result != CFI_OK)
		return true;
	if (left->cfa_is_expression != right->cfa_is_expression || left->cfa_register != right->cfa_register ||
	    left->cfa_offset != right->cfa_offset || left->cfa_expression != right->cfa_expression ||
	    left->is_signal_frame != right->is_signal_frame)
		return false;
	for (unsigned i = 0; i < CFI_REGISTERS; i++)
		if (left->registers[i].kind != right->registers[i].kind ||
		    left->registers[i].offset != right->registers[i].offset ||
		    left->registers[i].expression != right->registers[i].expression)
			return false;
	return true;
}

// Returns how many program counters were looked up both ways.
static size_t compare_module(const struct target_memory *memory, const struct module *module)
{
	const struct memory_span whole = { (const uint8_t *)module->start, module->start, module->end - module->start };
	uint64_t hdr, hdr_size, low, high, vaddr, size;
	struct memory_span section, pairs, span;
	struct search_table table;
	struct hs_error *error;
	size_t compared = 0;
	uint8_t *bytes;

	if (!elf_view_unwind(&module->elf, &hdr, &hdr_size, &low, &high) ||
	    !elf_view_section(&module->elf, ".eh_frame", &vaddr, &size))
		return 0;
	bytes = malloc(size);
	CHECK((error = target_memory_read(memory, module->load_bias + vaddr, bytes, size)) == NULL);
	CHECK((error = search_table_build(bytes, size, module->load_bias + vaddr, &table)) == NULL);
	free(bytes);
	CHECK(table.count > 0 && table.low == module->load_bias + vaddr && table.high == table.low + size);
	section = (struct memory_span){ (const uint8_t *)table.low, table.low, table.high - table.low };
	span = (struct memory_span){ whole.bytes + (module->load_bias + low - module->start), module->load_bias + low,
				     high - low };
	pairs = (struct memory_span){ (const uint8_t *)table.pairs, (uint64_t)table.pairs,
				      table.count * sizeof(*table.pairs) };
	for (size_t i = 0; i < table.count; i++) {
		const uint64_t first = table.low + (uint64_t)(int64_t)table.pairs[i].pc,
			       around[] = { first - 1, first, first + 1, first + 40 };

		CHECK(i == 0 || table.pairs[i - 1].pc <= table.pairs[i].pc);
		for (size_t j = 0; j < sizeof(around) / sizeof(around[0]); j++) {
			struct cfi_row by_header = { 0 }, by_table = { 0 };
			enum cfi_result header_result =
				cfi_decode(&span, module->load_bias + hdr, hdr_size, around[j], &by_header);
			enum cfi_result table_result = cfi_decode_by_table(&section, &pairs, around[j], &by_table);
			bool same = same_row(header_result, &by_header, table_result, &by_table);

			compared++;
			if (!same)
				fprintf(stderr, "%s: 0x%lx: %d, %d\n", module->path, around[j], header_result,
					table_result);
			CHECK(same);
		}
	}
	search_table_deinit(&table);
	return compared;
}

static void test_own_modules(void)
{
	struct target_memory memory;
	struct module_list modules;
	struct proc_maps maps;
	size_t compared = 0, with_both = 0;

	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	CHECK(modules_read(held_process(getpid()), &maps, &memory, &modules) == NULL);
	for (size_t i = 0; i < modules.count; i++) {
		size_t some = modules.items[i].is_vdso ? 0 : compare_module(&memory, &modules.items[i]);

		compared += some;
		with_both += some > 0;
	}
	CHECK(search_tables_make(&memory, &modules) == NULL);
	for (size_t i = 0; i < modules.count; i++)
		CHECK(!modules.items[i].search.pairs); // each has a header
	printf("%zu program counters in %zu modules\n", compared, with_both);
	CHECK(with_both >= 3 && compared > 10000);
	modules_deinit(&modules);
	target_memory_close(&memory);
	proc_maps_deinit(&maps);
}

// A CIE "zR" with pcrel sdata4, an FDE of it, an FDE of a CIE that is not there, one of size 0, the end, and bytes
// behind it.
static const uint8_t section[] = {
	16, 0, 0,  0, 0, 0, 0, 0, 1,  'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0,    0,    16,   0,
	0,  0, 24, 0, 0, 0, 0, 1, 0,  0,   32,  0, 0, 0,    0,  0, 0,    0, 16,   0,    0,    0,
	43, 0, 0,  0, 0, 1, 0, 0, 32, 0,   0,   0, 0, 0,    0,  0, 16,   0, 0,    0,    64,   0,
	0,  0, 0,  1, 0, 0, 0, 0, 0,  0,   0,   0, 0, 0,    0,  0, 0,    0, 0xee, 0xee, 0xee,
};

// Forms that are rare: an entry of the 64-bit form, which is passed over; a CIE of version 4 with pcrel sdata2, and an
// FDE of it.
static const uint8_t rare_forms[] = {
	0xff, 0xff, 0xff, 0xff, 4, 0,    0,  0, 0,    0, 0, 0, 0, 0,  0, 0, 15, 0, 0, 0,  0, 0, 0, 0, 4, 'z',
	'R',  0,    8,    0,    1, 0x78, 16, 1, 0x1a, 9, 0, 0, 0, 23, 0, 0, 0,  0, 1, 32, 0, 0, 0, 0, 0, 0,
};

static size_t build(const uint8_t *bytes, size_t size, struct search_table *table)
{
	struct hs_error *error = search_table_build(bytes, size, 0x400000, table);

	if (!error)
		return table->count;
	CHECK_EQUAL(error->code, HS_ERROR_BAD_DATA);
	hs_error_destroy(error);
	return SIZE_MAX;
}

// Nothing but the smallest entries that there can be, eleven bytes each (length, CIE, two addresses, no augmentation
// data), behind one CIE of absolute ULEB128: the table holds them all.
static void test_smallest_entries(void)
{
	static const uint8_t cie[] = { 15, 0, 0, 0, 0, 0, 0, 0, 4, 'z', 'R', 0, 8, 0, 1, 0x78, 16, 1, 0x01 };
	enum { COUNT = 2000 };
	uint8_t *bytes = malloc(sizeof(cie) + COUNT * 11);
	struct search_table table;
	size_t size = sizeof(cie);

	memcpy(bytes, cie, size);
	for (unsigned i = 0; i < COUNT; i++, size += 11) {
		const uint32_t back = (uint32_t)size + 4, length = 7;

		memcpy(bytes + size, &length, 4);
		memcpy(bytes + size + 4, &back, 4);
		memcpy(bytes + size + 8, (const uint8_t[]){ 9, 1, 0 }, 3); // at address 9, one byte, nothing more
	}
	CHECK_EQUAL(build(bytes, size, &table), COUNT);
	search_table_deinit(&table);
	free(bytes);
}

static void test_made_bytes(void)
{
	struct search_table table;
	uint8_t *bytes = malloc(sizeof(section));

	CHECK_EQUAL(build(section, sizeof(section), &table), 1);
	CHECK_EQUAL(table.pairs[0].fde, 20);
	CHECK_EQUAL(table.pairs[0].pc, 28 + 256);
	search_table_deinit(&table);
	CHECK_EQUAL(build(rare_forms, sizeof(rare_forms), &table), 1);
	CHECK_EQUAL(table.pairs[0].fde, 35);
	CHECK_EQUAL(table.pairs[0].pc, 43 + 256);
	search_table_deinit(&table);
	CHECK_EQUAL(build(section, 0, &table), 0);
	search_table_deinit(&table);
	// Cut anywhere: an error, or what stands before; never a read behind the end (sanitizers see that, and the copy
	// is as long as it is).
	for (size_t size = 1; size < sizeof(section); size++) {
		uint8_t *cut = malloc(size);
		size_t count;

		memcpy(cut, section, size);
		count = build(cut, size, &table);
		CHECK(count == SIZE_MAX || count <= 1);
		if (count != SIZE_MAX)
			search_table_deinit(&table);
		free(cut);
	}
	// Any byte replaced.
	for (size_t i = 0; i < sizeof(section); i++) {
		for (unsigned value = 0; value < 256; value++) {
			size_t count;

			memcpy(bytes, section, sizeof(section));
			bytes[i] = (uint8_t)value;
			count = build(bytes, sizeof(section), &table);
			CHECK(count == SIZE_MAX || count <= 3);
			if (count != SIZE_MAX)
				search_table_deinit(&table);
		}
	}
	free(bytes);
}

int main(void)
{
	test_own_modules();
	test_smallest_entries();
	test_made_bytes();
	return CHECK_RESULT();
}
