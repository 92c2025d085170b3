// SPDX-License-Identifier: Apache-2.0
// The parser of perf-PID.map. Input: the file.
#include "fuzz.h"

#include "snapshot/symbols/perf_map.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct script_function script;
	struct perf_map map;
	struct hs_error *error;

	if (!text)
		return 0;
	memcpy(text, data, size);
	error = perf_map_parse(text, size, &map);
	REQUIRE(!error);
	if (map.index.count)
		REACHED();
	for (size_t i = 0; i < map.index.count; i++) {
		const struct range_index_item *item = &map.index.items[i];
		const char *name = perf_map_find(&map, item->low);

		REQUIRE(item->low < item->high && name && *name && name + strlen(name) <= text + size);
		REQUIRE(perf_map_find(&map, item->high - 1));
		if (perf_map_script_function(name, &script))
			REQUIRE(script.name >= name && script.name + script.name_size < script.file &&
				script.file_size && script.file + script.file_size < name + strlen(name) &&
				script.line >= 0);
	}
	perf_map_deinit(&map);
	free(text);
	return 0;
}
