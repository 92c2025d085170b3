// SPDX-License-Identifier: Apache-2.0
// The view of an ELF file: headers, build id, symbol tables by sections and by the dynamic segment, segments, unwind
// section. Input: the file.
#include "fuzz.h"

#include "attach/elf/elf_view.h"
#include "attach/elf/program_kind.h"

#include <stdlib.h>
#include <string.h>

struct visit {
	const struct elf_view *view;
	size_t symbols, sum;
};

static bool look_at(const struct elf_symbol *symbol, void *context)
{
	struct visit *visit = context;
	const uint8_t *bytes = elf_view_bytes(visit->view, symbol->value, symbol->size < 4096 ? symbol->size : 4096);

	visit->sum += strlen(symbol->name);
	for (size_t i = 0; bytes && i < symbol->size && i < 4096; i++)
		visit->sum += bytes[i];
	return ++visit->symbols < 100000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	// Fresh memory of the very size, so that a byte too far is seen; aligned as a mapping would be.
	uint8_t *copy = aligned_alloc(16, (size + 15) / 16 * 16 + 16);
	struct elf_symbol symbol;
	struct elf_view view;
	struct hs_error *error;
	uint64_t hdr, hdr_size, low, high;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	error = elf_view_init(copy, size, &view);
	if (!error) {
		struct visit visit = { &view, 0, 0 };

		REACHED();
		REQUIRE(view.build_id_size <= sizeof(view.build_id));
		hs_error_destroy(elf_view_symbols(&view, look_at, &visit));
		elf_view_find_symbol(&view, "malloc", &symbol);
		if (elf_view_unwind(&view, &hdr, &hdr_size, &low, &high))
			REQUIRE(low <= hdr && hdr_size <= high - hdr);
		if (elf_view_section(&view, ".eh_frame", &low, &hdr_size))
			REQUIRE(hdr_size <= size);
		(void)program_is_go(&view);
		elf_view_deinit(&view);
	}
	hs_error_destroy(error);
	free(copy);
	return 0;
}
