// SPDX-License-Identifier: Apache-2.0
// The search table that the tool makes of .eh_frame, and the payload's use of it. Input: a distance of a program
// counter (4 bytes), then the section.
#include "fuzz.h"

#include "attach/elf/search_table.h"
#include "unwind/cfi.h"

#include <stdlib.h>
#include <string.h>

#define BASE UINT64_C(0x400000)

static void look_up(const uint8_t *section, size_t size, const struct search_table *table, uint64_t pc)
{
	const struct memory_span span = { section, BASE, size };
	const struct memory_span pairs = { (const uint8_t *)table->pairs, (uint64_t)table->pairs,
					   table->count * sizeof(*table->pairs) };
	struct cfi_row row;

	(void)cfi_decode_by_table(&span, &pairs, pc, &row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct search_table table;
	struct hs_error *error;
	uint8_t *section;
	int32_t distance;

	if (size < sizeof(distance))
		return 0;
	memcpy(&distance, data, sizeof(distance));
	size -= sizeof(distance);
	section = malloc(size ? size : 1); // of the very size, so that a byte too far is seen
	if (!section)
		return 0;
	memcpy(section, data + sizeof(distance), size);
	error = search_table_build(section, size, BASE, &table);
	if (!error) {
		REQUIRE(table.low == BASE && table.high == BASE + size);
		if (table.count)
			REACHED();
		for (size_t i = 0; i < table.count; i++) {
			REQUIRE(i == 0 || table.pairs[i - 1].pc <= table.pairs[i].pc);
			REQUIRE(table.pairs[i].fde >= 0 && (size_t)table.pairs[i].fde < size);
			look_up(section, size, &table, BASE + (uint64_t)(int64_t)table.pairs[i].pc);
		}
		look_up(section, size, &table, BASE + (uint64_t)(int64_t)distance);
		search_table_deinit(&table);
	}
	hs_error_destroy(error);
	free(section);
	return 0;
}
