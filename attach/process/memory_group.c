// SPDX-License-Identifier: Apache-2.0
#include "attach/process/memory_group.h"

#include "attach/process/cgroup.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <stdlib.h>
#include <string.h>

// Version 1 says "no limit" by the largest number of whole pages (PAGE_COUNTER_MAX).
#define NO_LIMIT (UINT64_C(1) << 62)

uint64_t memory_group_room(const struct memory_group *group)
{
	if (group->version == 0)
		return UINT64_MAX;
	uint64_t used = group->used > group->cache ? group->used - group->cache : 0;

	return group->limit > used ? group->limit - used : 0;
}

static struct hs_error *read_text(const char *folder, const char *path, size_t path_size, const char *name, char **ret)
{
	HS_CLEANUP_FREE char *file = NULL;
	size_t size;
	struct hs_error *error = hs_format(&file, "%s%.*s/%s", folder, (int)path_size, path, name);

	return error ? error : hs_read_file(file, 65536, ret, &size);
}

// false: no such file, or no number in it ("max").
static bool read_number(const char *folder, const char *path, size_t path_size, const char *name, uint64_t *ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = read_text(folder, path, path_size, name, &text);

	hs_error_destroy(error);
	if (error || *text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

// A line of memory.stat, "inactive_file 4096"; version 1 has sums over the groups below under names of their own. 0 =
// there is none.
static uint64_t read_old_cache(const char *folder, const char *path, size_t path_size, unsigned version)
{
	const char *key = version == 1 ? "\ntotal_inactive_file " : "\ninactive_file ";
	HS_CLEANUP_FREE char *text = NULL;
	const char *line;
	struct hs_error *error = read_text(folder, path, path_size, "memory.stat", &text);

	hs_error_destroy(error);
	line = error ? NULL : strstr(text, key);
	return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

// The group and all above it: each limit holds for everything below.
static void read_chain(const char *folder, const char *path, size_t path_size, unsigned version,
		       struct memory_group *group)
{
	static const char *const limits[] = { "memory.limit_in_bytes", "memory.max" };
	static const char *const uses[] = { "memory.usage_in_bytes", "memory.current" };

	do {
		struct memory_group found = { .version = version };

		if (!read_number(folder, path, path_size, limits[version - 1], &found.limit) ||
		    found.limit >= NO_LIMIT || !read_number(folder, path, path_size, uses[version - 1], &found.used))
			continue;
		found.cache = read_old_cache(folder, path, path_size, version);
		if (memory_group_room(&found) < memory_group_room(group))
			*group = found;
	} while (cgroup_go_up(path, &path_size));
}

void memory_group_read_below(const char *mount, const char *text, struct memory_group *ret)
{
	// Version 1 has a mount for each controller, and where both are in use version 2 has one too, without this
	// controller.
	HS_CLEANUP_FREE char *controller = NULL;
	struct hs_error *error;
	const char *path;
	size_t size;

	*ret = (struct memory_group){ .limit = UINT64_MAX };
	if (cgroup_path(text, NULL, &path, &size))
		read_chain(mount, path, size, 2, ret);
	if (!cgroup_path(text, "memory", &path, &size))
		return;
	error = hs_format(&controller, "%s/memory", mount);
	if (error)
		hs_error_destroy(error);
	else
		read_chain(controller, path, size, 1, ret);
}

void memory_group_read(const struct process *process, struct memory_group *ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "cgroup", &text, NULL);

	*ret = (struct memory_group){ .limit = UINT64_MAX };
	if (error)
		hs_error_destroy(error);
	else
		memory_group_read_below("/sys/fs/cgroup", text, ret);
}
