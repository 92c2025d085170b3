// SPDX-License-Identifier: Apache-2.0
// The answer of the process that reads symbols, which a hostile file may have taken over. Input: messages, each after
// its size (2 bytes).
#include "fuzz.h"

#include "snapshot/symbols/symbol_answer.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_answer answer;
	struct hs_error *error = symbol_answer_init(5, &answer);

	while (!error && size >= 2) {
		uint16_t part;

		memcpy(&part, data, sizeof(part));
		data += 2;
		size -= 2;
		if (part > size)
			part = (uint16_t)size;
		error = symbol_answer_take(&answer, data, part);
		data += part;
		size -= part;
	}
	if (!error && answer.location_count)
		REACHED();
	for (size_t i = 0; !error && i < answer.location_count; i++) {
		const struct answer_location *location = &answer.locations[i];

		REQUIRE(location->line_count <= SYMBOL_LINES_MAX &&
			location->first_line + location->line_count <= answer.line_count);
		for (uint32_t j = 0; j < location->line_count; j++) {
			const struct profile_line *line = &answer.lines[location->first_line + j];

			REQUIRE(line->line >= 0 && line->function < answer.functions.count);
			REQUIRE(*answer.functions.items[line->function].system_name);
		}
	}
	hs_error_destroy(error);
	symbol_answer_deinit(&answer);
	return 0;
}
