// SPDX-License-Identifier: Apache-2.0
// The reader of debug information. Input: the sizes of six sections (2 bytes each: info, abbrev, line, str, lists of
// ranges, tables of addresses and offsets), then the sections; what is left of it is .debug_line_str. The lists are
// also those of older versions, and the tables both kinds.
#include "fuzz.h"

#include "snapshot/symbols/debug_units.h"

#include <stdlib.h>
#include <string.h>

enum { SECTIONS = 6, LOWEST = 0x1000, ADDRESSES = 96 };

// Fresh memory of the very size, so that a byte too far is seen.
static struct memory_span copy_of(const uint8_t *data, size_t size)
{
	uint8_t *copy = size ? malloc(size) : NULL; // as a section that is missing

	REQUIRE(copy || !size);
	if (size)
		memcpy(copy, data, size);
	return (struct memory_span){ copy, 0, size };
}

static void look_up(struct debug_units *units, uint64_t address)
{
	struct debug_frame frames[DEBUG_FRAMES_LIMIT];
	size_t count, sum = 0;
	struct hs_error *error = debug_units_lookup(units, address, frames, &count);

	REQUIRE(!error && count <= DEBUG_FRAMES_LIMIT);
	if (count > 0)
		REACHED();
	for (size_t i = 0; i < count; i++) {
		REQUIRE(frames[i].line >= 0 && frames[i].start_line >= 0);
		sum += frames[i].system_name ? strlen(frames[i].system_name) : 0;
		sum += frames[i].file ? strlen(frames[i].file) : 0;
	}
	REQUIRE(sum < SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_span spans[SECTIONS + 1];
	struct debug_units *units;
	uint16_t sizes[SECTIONS];
	size_t at = sizeof(sizes);

	if (size < sizeof(sizes))
		return 0;
	memcpy(sizes, data, sizeof(sizes));
	for (size_t i = 0; i <= SECTIONS; i++) {
		const size_t left = size - at, wanted = i < SECTIONS ? sizes[i] : left,
			     bytes = wanted < left ? wanted : left;

		spans[i] = copy_of(data + at, bytes);
		at += bytes;
	}

	const struct debug_sections sections = { .info = spans[0],
						 .abbrev = spans[1],
						 .line = spans[2],
						 .str = spans[3],
						 .ranges = spans[4],
						 .rnglists = spans[4],
						 .addr = spans[5],
						 .str_offsets = spans[5],
						 .line_str = spans[6] };

	// The file is its own shared one: a reference to that one finds something.
	REQUIRE(!debug_units_create(&sections, &sections, &units));
	for (uint64_t i = 0; i < ADDRESSES; i++)
		look_up(units, LOWEST + i);
	debug_units_destroy(units);
	for (size_t i = 0; i <= SECTIONS; i++)
		free((void *)(uintptr_t)spans[i].bytes);
	return 0;
}
