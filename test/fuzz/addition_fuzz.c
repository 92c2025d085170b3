// SPDX-License-Identifier: Apache-2.0
// What users write after --allocator. Input: the text.
#include "fuzz.h"

#include "attach/hook/hook_addition.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);
	struct hook_addition addition;
	struct hs_error *error;

	if (!text)
		return 0;
	memcpy(text, data, size);
	error = hook_addition_parse(text, &addition);
	if (!error) {
		const struct hook_layout *layout = &addition.signature.layout;

		REACHED();
		REQUIRE(*addition.name && memchr(addition.name, 0, sizeof(addition.name)) && strchr(text, '='));
		REQUIRE(addition.signature.kind < HOOK_KIND_COUNT && addition.signature.kind != HOOK_loader_event);
		// Arguments are in registers, of which there are six.
		REQUIRE(layout->size <= 6 && layout->count <= 6 && layout->block <= 6 && layout->where <= 6 &&
			layout->extra <= 6);
	}
	hs_error_destroy(error);
	free(text);
	return 0;
}
