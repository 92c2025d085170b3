// SPDX-License-Identifier: Apache-2.0
// The check of a region's header. Input: what is changed (xor) in an honest one. What passes must be what it promises.
#include "fuzz.h"
#include "test/unit/made_region.h"

#include "attach/region/region_access.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_region region;
	struct region_header header;
	struct hs_error *error;

	if (!region.bytes)
		made_region_init(&region, 64);
	header = *region.header;
	for (size_t i = 0; i < size && i < sizeof(header); i++)
		((uint8_t *)&header)[i] ^= data[i];
	error = region_check_header(&header, region.size);
	if (!error) {
		REACHED();
		REQUIRE(header.stable.hook_count <= HS_HOOKS_MAX && header.module_count <= HS_MODULES_MAX);
		REQUIRE(header.max_pages * HS_PAGE_SIZE <= region.size && header.max_pages >= header.first_page);
		REQUIRE(header.depth > 0 && header.depth <= HS_DEPTH_MAX && header.string_bytes <= HS_STRINGS_SIZE);
		REQUIRE(header.stable.island_count <= sizeof(header.stable.islands) / sizeof(header.stable.islands[0]));
		REQUIRE(header.pages.offset + header.pages.size == region.size);
	}
	hs_error_destroy(error);
	return 0;
}
