// SPDX-License-Identifier: Apache-2.0
// No more than a quarter of the mappings that are left.
#include "attach/process/mapping_room.h"
#include "check.h"

static void check(uint64_t limit, size_t used, size_t areas, const char *words)
{
	struct hs_error *error = mapping_room_check(limit, used, areas);

	CHECK(!error == !words);
	if (error && words) {
		CHECK_EQUAL(error->code, HS_ERROR_REFUSED);
		CHECK(strstr(error->message, "vm.max_map_count") && strstr(error->message, words));
	}
	hs_error_destroy(error);
}

int main(void)
{
	check(65530, 60, 2, NULL);
	check(65530, 65530 - 24, 2, NULL);
	check(65530, 65530 - 23, 2, "65507 memory mappings of the 65530");
	check(65530, 65530 - 24, 3, "needs 7");
	check(65530, 65530 - 2, 1, "65528");
	check(65530, 65530, 0, "65530 memory mappings");
	check(65530, 65540, 0, "65540 memory mappings"); // the limit was lowered
	check(UINT64_MAX, 65540, 16, NULL);
	CHECK(mapping_limit() > 1000);
	return CHECK_RESULT();
}
