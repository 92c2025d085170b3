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

// What the target's memory cgroup leaves: the region is charged to it. Version 2; UINT64_MAX = no limit known.
static uint64_t cgroup_room(pid_t pid)
{
	static const char *const names[2] = { "memory.max", "memory.current" };
	HS_CLEANUP_FREE char *path = NULL;
	HS_CLEANUP_FREE char *text = NULL;
	uint64_t values[2] = { 0 };
	const char *group;
	size_t size;
	struct hs_error *error = hs_format(&path, "/proc/%d/cgroup", pid);

	if (!error)
		error = hs_read_file(path, 1 << 16, &text, &size);
	hs_error_destroy(error);
	group = text ? strstr(text, "0::/") : NULL;
	if (!group)
		return UINT64_MAX;
	group += strlen("0::");
	for (int i = 0; i < 2; i++) {
		HS_CLEANUP_FREE char *file = NULL;
		HS_CLEANUP_FREE char *number = NULL;

		error = hs_format(&file, "/sys/fs/cgroup%.*s/%s", (int)strcspn(group, "\n"), group, names[i]);
		if (!error)
			error = hs_read_file(file, 4096, &number, &size);
		hs_error_destroy(error);
		if (!number || *number < '0' || *number > '9') // "max", or no such controller
			return UINT64_MAX;
		values[i] = strtoull(number, NULL, 10);
	}
	return values[0] > values[1] ? values[0] - values[1] : 0;
}

static uint64_t default_memory(pid_t pid)
{
	uint64_t available = hs_available_memory(), group = cgroup_room(pid);
	uint64_t quarter = (available < group ? available : group) / 4;
	uint64_t most = UINT64_C(64) << 30, least = UINT64_C(16) << 20;

	return quarter > most ? most : quarter < least ? least : quarter;
}

struct hs_error *region_size_choose(const struct target_info *target, uint64_t asked, uint64_t *ret)
{
	uint64_t fixed = HS_OFFSET_PAGES + (UINT64_C(4) << 20); // the region's fixed parts, code, islands
	uint64_t room;

	*ret = asked ? asked : default_memory(target->pid);
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
