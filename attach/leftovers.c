// SPDX-License-Identifier: Apache-2.0
#include "attach/leftovers.h"

#include "attach/region_access.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char ours[] = "/memfd:heapsnap-";

// The next descriptor of ours above `after`; -1 = none.
static long next_descriptor(pid_t pid, long after)
{
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_error *error = hs_format(&path, "/proc/%d/fd", pid);
	DIR *directory = error ? NULL : opendir(path);
	long next = -1;

	hs_error_destroy(error);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		char target[64];
		ssize_t size = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);
		long fd = strtol(entry->d_name, NULL, 10);

		target[size > 0 ? size : 0] = 0;
		if (strncmp(target, ours, strlen(ours)) == 0 && fd > after && (next < 0 || fd < next))
			next = fd;
	}
	if (directory)
		closedir(directory);
	return next;
}

static bool is_orphan(const struct proc_map *map, const struct proc_maps *maps)
{
	return strcmp(map->name, "/memfd:" HS_CODE_NAME) == 0 && !region_find(maps);
}

bool leftovers_exist(pid_t pid, const struct proc_maps *maps, const struct target_memory *memory)
{
	for (size_t i = 0; i < maps->count; i++)
		if (is_orphan(&maps->items[i], maps))
			return true;
	return next_descriptor(pid, -1) >= 0 || entry_patch_is_left(pid, memory);
}

static bool leads_to_orphan(const struct proc_maps *maps, uint64_t target)
{
	const struct proc_map *map = proc_maps_find(maps, target);

	return map && is_orphan(map, maps);
}

// Looks for a `jmp rel32` into our code.
static struct hs_error *mapping_leads_to_orphan(const struct proc_map *map, const struct proc_maps *maps,
						const struct target_memory *memory, bool *ret)
{
	const size_t chunk = 1 << 20;
	HS_CLEANUP_FREE uint8_t *bytes = malloc(chunk + 4);

	if (!bytes)
		return &hs_error_no_memory;
	for (uint64_t start = map->start; start < map->end && !*ret; start += chunk) {
		size_t size = map->end - start < chunk + 4 ? map->end - start : chunk + 4; // a jump may cross into the next chunk
		struct hs_error *error = target_memory_read(memory, start, bytes, size);

		if (error)
			return error;
		for (size_t i = 0; i + 5 <= size && !*ret; i++) {
			int32_t distance;

			if (bytes[i] != 0xe9)
				continue;
			memcpy(&distance, bytes + i + 1, sizeof(distance));
			*ret = leads_to_orphan(maps, start + i + 5 + (uint64_t)(int64_t)distance);
		}
	}
	return NULL;
}

struct hs_error *leftovers_check_unused(pid_t pid, const struct proc_maps *maps, const struct target_memory *memory)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_map *map = &maps->items[i];
		bool leads = false;
		struct hs_error *error = NULL;

		if (map->executable && map->readable && map->inode && !is_orphan(map, maps))
			error = mapping_leads_to_orphan(map, maps, memory, &leads);
		if (error)
			return error;
		if (leads)
			return hs_error_create(HS_ERROR_REFUSED, "process %d was forked from a process that was attached: its code still "
					       "passes through the hooks, which do nothing in it; it cannot be attached by itself before "
					       "it runs another program", pid);
	}
	return NULL;
}

static struct hs_error *call(struct remote_caller *caller, const char *what, long number, uint64_t first, uint64_t second)
{
	const uint64_t arguments[6] = { first, second };
	uint64_t result;

	return remote_call_checked(caller, what, number, arguments, &result);
}

// A caller that has to write its own code there takes the old one away with it; then the private copy of the page stays.
static struct hs_error *clear_entry_point(struct remote_caller *caller)
{
	uint64_t arguments[6] = { 0, HS_PAGE_SIZE, MADV_DONTNEED };
	struct hs_error *error;
	int64_t result;

	if (caller->entry.address != 0 || !entry_patch_is_left(caller->process->pid, caller->memory))
		return NULL;
	hs_verbose("putting back the bytes of the entry point that an unfinished attach has left changed");
	error = entry_patch_remove_left(caller->process, caller->memory, caller->victim->tid, &arguments[0]);
	if (error || arguments[0] == 0)
		return error;
	error = remote_call(caller, SYS_madvise, arguments, &result);
	if (!error && result < 0) // locked memory: the copy stays, and holds what the file holds
		hs_verbose("the copied page at the entry point stays: errno %d", (int)-result);
	return error;
}

struct hs_error *leftovers_clear(struct remote_caller *caller)
{
	pid_t pid = caller->process->pid;
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(pid, &maps);

	if (error)
		return error;
	for (size_t i = 0; i < maps.count; i++) {
		const struct proc_map *map = &maps.items[i];
		const struct proc_map *next = i + 1 < maps.count ? &maps.items[i + 1] : NULL;
		uint64_t end = map->end;

		if (!is_orphan(map, &maps))
			continue;
		// The image comes first in its memfd; the state page is mapped right behind it, far from all else.
		if (map->offset == 0 && next && next->start == end && next->inode == 0 && next->end - next->start == HS_PAGE_SIZE)
			end = next->end;
		hs_verbose("unmapping code that an unfinished attach has left");
		error = hs_error_join(error, call(caller, "munmap", SYS_munmap, map->start, end - map->start));
	}
	proc_maps_deinit(&maps);
	for (long fd = next_descriptor(pid, -1); fd >= 0; fd = next_descriptor(pid, fd)) {
		hs_verbose("closing a descriptor that an unfinished attach has left");
		error = hs_error_join(error, call(caller, "close", SYS_close, (uint64_t)fd, 0));
	}
	return hs_error_join(error, clear_entry_point(caller));
}
