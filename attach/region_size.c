// SPDX-License-Identifier: Apache-2.0
#include "attach/region_size.h"

#include "attach/session.h"
#include "base/available_memory.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "inject/abi/region.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The region is charged to the target's memory cgroup.
static uint64_t default_memory(const struct memory_group *memory_group)
{
	uint64_t available = hs_available_memory(), group = memory_group_room(memory_group);
	uint64_t quarter = (available < group ? available : group) / 4;
	uint64_t most = UINT64_C(64) << 30, least = UINT64_C(16) << 20;

	return quarter > most ? most : quarter < least ? least : quarter;
}

struct hs_error *region_size_choose(const struct target_info *target, uint64_t asked, uint64_t *ret)
{
	uint64_t fixed = HS_OFFSET_PAGES + (UINT64_C(4) << 20); // the region's fixed parts, code, islands
	uint64_t room;

	*ret = asked ? asked : default_memory(&target->group);
	if (target->address_space_limit == UINT64_MAX)
		return NULL;
	room = target->address_space_limit > target->address_space_used ? target->address_space_limit - target->address_space_used : 0;
	// Half of what is left stays the target's own.
	if (!asked && room / 2 > fixed + ATTACH_MIN_MEMORY && *ret > room / 2 - fixed)
		*ret = room / 2 - fixed;
	if (*ret + fixed > room)
		return hs_error_create(HS_ERROR_REFUSED, "the target's address space limit (ulimit -v) leaves %" PRIu64
				       " MiB, and %" PRIu64 " are needed; raise it (prlimit --as) or ask for less (--max-memory)",
				       room >> 20, (*ret + fixed) >> 20);
	return NULL;
}
