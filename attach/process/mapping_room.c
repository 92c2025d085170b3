// SPDX-License-Identifier: Apache-2.0
#include "attach/process/mapping_room.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <inttypes.h>
#include <stdlib.h>

// The image, the state pages, the region; and one more, while the kernel puts one in place of another.
enum { FIXED = 4, SHARE = 4 };

uint64_t mapping_limit(void)
{
	HS_CLEANUP_FREE char *text = NULL;
	size_t size;
	struct hs_error *error = hs_read_file("/proc/sys/vm/max_map_count", 64, &text, &size);
	uint64_t limit = error ? 0 : strtoull(text, NULL, 10);

	hs_error_destroy(error);
	return limit ? limit : UINT64_MAX;
}

bool mapping_room_suffices(uint64_t limit, size_t used, size_t areas)
{
	const uint64_t left = limit > used ? limit - used : 0;

	return limit == UINT64_MAX || FIXED + areas <= left / SHARE;
}

struct hs_error *mapping_room_check(uint64_t limit, size_t used, size_t areas)
{
	const uint64_t needed = FIXED + areas;

	if (mapping_room_suffices(limit, used, areas))
		return NULL;
	return hs_error_create(HS_ERROR_REFUSED,
			       "the target has %zu memory mappings of the %" PRIu64
			       " that vm.max_map_count allows; attach needs %" PRIu64
			       " and takes no more than a quarter of what is left; raise it (sysctl vm.max_map_count)",
			       used, limit, needed);
}
