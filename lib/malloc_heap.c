// SPDX-License-Identifier: Apache-2.0
#include "lib/malloc_heap.h"

#include <stdbool.h>
#include <string.h>

#define ARENA_HEAP UINT64_C(0x4000000) // bytes; of 64-bit programs, 2 * DEFAULT_MMAP_THRESHOLD_MAX

static bool is_plain(const struct proc_map *map) { return !map->shared && !*map->name; }

// The writable part of an arena's heap: the rest up to the next multiple is reserved, if there is any.
static bool is_arena_heap(const struct proc_maps *maps, size_t i)
{
	const struct proc_map *map = &maps->items[i], *next = i + 1 < maps->count ? map + 1 : NULL;
	const uint64_t end = map->start + ARENA_HEAP;

	if (map->start % ARENA_HEAP || !is_plain(map) || !map->writable || map->end > end)
		return false;
	if (map->end == end)
		return true;
	return next && is_plain(next) && next->start == map->end && next->end >= end && !next->readable &&
	       !next->writable && !next->executable;
}

uint64_t malloc_heap_bytes(const struct proc_maps *maps)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < maps->count; i++)
		if (strcmp(maps->items[i].name, "[heap]") == 0 || is_arena_heap(maps, i))
			bytes += maps->items[i].end - maps->items[i].start;
	return bytes;
}
