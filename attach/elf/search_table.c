// SPDX-License-Identifier: Apache-2.0
// The payload reads the same bytes again (unwind/cfi.c) when it uses an entry, and believes nothing of what stands here
// but where to look.
#include "attach/elf/search_table.h"

#include "attach/elf/modules.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "unwind/cfi_entry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_SIZE_MAX (UINT64_C(256) << 20)

static bool fits(int64_t distance) { return distance == (int32_t)distance; }

static int compare_pairs(const void *left, const void *right)
{
	const struct search_pair *a = left, *b = right;

	return (a->pc > b->pc) - (a->pc < b->pc);
}

// Appends the FDE's pair, if it can be told. `offset`: of the FDE, from the section's start.
static void take_fde(const struct memory_span *section, uint64_t offset, const struct cfi_fde *fde,
		     struct search_table *table)
{
	const int64_t pc = (int64_t)(fde->pc_begin - section->address);

	if (fde->pc_range != 0 && fits(pc) && fits((int64_t)offset))
		table->pairs[table->count++] = (struct search_pair){ (int32_t)pc, (int32_t)offset };
}

struct hs_error *search_table_build(const uint8_t *bytes, size_t size, uint64_t address, struct search_table *ret)
{
	const struct memory_span section = { bytes, address, size };
	const size_t smallest = 4 + 4 + 1 + 1; // of an FDE: length, its CIE, two addresses of a byte each
	struct search_table table = { .low = address,
				      .high = address + size,
				      .pairs = calloc(size / smallest + 1, sizeof(*table.pairs)) };
	struct cfi_fde fde = { .cie.offset = UINT64_MAX };

	if (!table.pairs)
		return &hs_error_no_memory;
	for (uint64_t offset = 0; offset < size;) {
		const uint64_t before = offset;
		const enum cfi_result result = cfi_next_fde(&section, &offset, &fde);

		if (offset == before) {
			search_table_deinit(&table);
			return hs_error_create(HS_ERROR_BAD_DATA, "no entry of .eh_frame at offset 0x%" PRIx64, offset);
		}
		if (result == CFI_OK)
			take_fde(&section, before, &fde, &table);
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
