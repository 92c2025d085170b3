// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/file_cache.h"

#include "base/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

struct kept_file {
	uint64_t device, inode;
	char *name; // an inode's number is used again when its file has gone
	struct file_copy *copy;
};

static struct {
	bool is_used;
	struct kept_file *items;
	size_t count, room;
} cache;

void file_cache_begin(void) { cache.is_used = true; }

void file_cache_end(void)
{
	for (size_t i = 0; i < cache.count; i++) {
		free(cache.items[i].name);
		file_copy_release(cache.items[i].copy);
	}
	free(cache.items);
	cache.items = NULL;
	cache.count = cache.room = 0;
	cache.is_used = false;
}

static struct kept_file *find(const struct proc_map *map)
{
	for (size_t i = 0; i < cache.count; i++)
		if (cache.items[i].inode == map->inode &&
		    cache.items[i].device == makedev(map->device_major, map->device_minor) &&
		    strcmp(cache.items[i].name, map->name) == 0)
			return &cache.items[i];
	return NULL;
}

void file_cache_keep(const struct proc_map *map, struct file_copy *copy)
{
	struct kept_file *known = find(map);
	char *name;

	if (!cache.is_used)
		return;
	if (known) {
		file_copy_release(known->copy);
		known->copy = file_copy_share(copy);
		return;
	}
	name = strdup(map->name);
	if (!name ||
	    ARRAY_RESERVE(cache.items, cache.count + 1, &cache.room)) { // then the next plan may have to be made again
		free(name);
		return;
	}
	cache.items[cache.count++] = (struct kept_file){
		.device = makedev(map->device_major, map->device_minor),
		.inode = map->inode,
		.name = name,
		.copy = file_copy_share(copy),
	};
}

struct file_copy *file_cache_find(const struct proc_map *map)
{
	struct kept_file *known = find(map);

	return known ? file_copy_share(known->copy) : NULL;
}
