// SPDX-License-Identifier: Apache-2.0
// The parser of /proc/PID/maps; file names in it are the target's choice. Input: the text.
#include "fuzz.h"

#include "base/proc_maps.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_maps maps;
	struct hs_error *error = proc_maps_parse((const char *)data, size, &maps);
	size_t letters = 0;

	if (error) {
		hs_error_destroy(error);
		return 0;
	}
	if (maps.count)
		REACHED();
	for (size_t i = 0; i < maps.count; i++) {
		REQUIRE(maps.items[i].start < maps.items[i].end);
		REQUIRE(i == 0 || maps.items[i - 1].end <= maps.items[i].start);
		REQUIRE(proc_maps_find(&maps, maps.items[i].start) == &maps.items[i]);
		letters += strlen(maps.items[i].name);
	}
	REQUIRE(letters <= size);
	for (int from_top = 0; from_top < 2; from_top++) {
		uint64_t hole = proc_maps_find_hole(&maps, 0x10000, UINT64_C(1) << 47, 0x3000, 0x1000, from_top);

		REQUIRE(!hole || (hole % 4096 == 0 && hole >= 0x10000 && !proc_maps_find(&maps, hole) &&
				  !proc_maps_find(&maps, hole + 0x2fff)));
	}
	proc_maps_deinit(&maps);
	return 0;
}
