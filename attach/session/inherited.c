// SPDX-License-Identifier: Apache-2.0
#include "attach/session/inherited.h"

#include "attach/arch/island_code.h"
#include "attach/process/memory_file.h"
#include "attach/region/region_access.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define AREA_SIZE_MAX (HS_HOOKS_MAX * sizeof(struct hook_island) + HS_PAGE_SIZE)

bool inherited_hook(uint64_t address, const struct hook_island *island, struct hook_record *ret)
{
	if (!arch_island_has_stub(island) || island->hook_index >= HS_HOOKS_MAX || island->kind >= HS_HOOK_KINDS_MAX ||
	    island->size != HS_JUMP_SIZE || island->begin < HS_ISLAND_STUB_OFFSET ||
	    island->begin > HS_ISLAND_TRAMPOLINE_OFFSET ||
	    (island->kind < HOOK_KIND_COUNT &&
	     (island->kind == HOOK_exit_point) != (island->begin == HS_ISLAND_TRAMPOLINE_OFFSET)))
		return false;
	*ret = (struct hook_record){
		.address = island->address,
		.function = island->address,
		.island = address,
		.state = HOOK_APPLIED, // or not; the bytes in place tell
		.kind = (uint16_t)island->kind,
		.size = island->size,
		.page_was_clean = 1, // a page that equals its file again may be the file's page again
		.name = "a function",
	};
	memcpy(ret->old_bytes, island->old_bytes, sizeof(ret->old_bytes));
	memcpy(ret->new_bytes, island->old_bytes, sizeof(ret->new_bytes));
	jump_encode(ret->new_bytes, island->address, address + island->begin);
	return true;
}

// Where memory files cannot be executable, our code is anonymous memory, and before that is there a memory file lies in
// its place.
static bool may_be_image(const struct process *process, const struct proc_map *map, const struct code_names *names)
{
	return map->readable && !map->writable && !map->shared && map->offset == 0 && map->start >= HS_LAYOUT_LOW &&
	       map->end <= HS_LAYOUT_HIGH &&
	       (memory_file_is_mapped(process, names, map) || (map->executable && map->inode == 0 && !map->name[0]));
}

static struct hs_error *is_image(const struct proc_map *map, const struct target_memory *memory,
				 struct payload_header *header, bool *ret)
{
	struct hs_error *error = target_memory_read(memory, map->start, header, sizeof(*header));

	if (error)
		return error;
	*ret = header->magic == HS_PAYLOAD_MAGIC && header->config.code == map->start &&
	       header->image_size == map->end - map->start;
	return NULL;
}

// Islands are of the image's file, behind the image in it; or anonymous memory, as the image is.
static bool may_be_islands(const struct proc_map *map, const struct proc_map *image)
{
	if (map == image || !map->readable || !map->executable || map->writable || map->shared)
		return false;
	if (image->inode == 0)
		return map->inode == 0 && !map->name[0];
	return map->inode == image->inode && map->device_major == image->device_major &&
	       map->device_minor == image->device_minor && map->offset >= image->end - image->start;
}

// An area of islands: what is in it, and whether there is anything.
static struct hs_error *read_area(const struct proc_map *map, const struct target_memory *memory,
				  struct inherited *inherited, bool *ret)
{
	uint64_t size = map->end - map->start < AREA_SIZE_MAX ? map->end - map->start : AREA_SIZE_MAX;
	HS_CLEANUP_FREE struct hook_island *islands = malloc(size);
	const struct region_part *image = &inherited->code[0];
	struct hs_error *error;

	*ret = false;
	if (!islands)
		return &hs_error_no_memory;
	error = target_memory_read(memory, map->start, islands, size);
	if (error)
		return error;
	for (size_t i = 0; i < size / sizeof(*islands); i++) {
		struct hook_record hook;

		if (!inherited_hook(map->start + i * sizeof(*islands), &islands[i], &hook) ||
		    islands[i].entry - image->offset >= image->size)
			continue;
		inherited->hooks[islands[i].hook_index] = hook;
		if (islands[i].hook_index >= inherited->hook_count)
			inherited->hook_count = islands[i].hook_index + 1;
		*ret = true;
	}
	return NULL;
}

// *ret NULL = there is none.
static struct hs_error *find_image(const struct proc_maps *maps, const struct target_memory *memory,
				   const struct code_names *names, struct inherited *inherited,
				   const struct proc_map **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < maps->count && !*ret; i++) {
		const struct proc_map *map = &maps->items[i], *next = i + 1 < maps->count ? map + 1 : NULL;
		struct payload_header header;
		bool image = false;
		struct hs_error *error =
			may_be_image(memory->process, map, names) ? is_image(map, memory, &header, &image) : NULL;

		if (error)
			return error;
		if (!image)
			continue;
		*ret = map;
		inherited->code[0] = (struct region_part){ map->start, map->end - map->start };
		inherited->code_count = 1;
		inherited->bare_region = (struct region_part){ header.config.region, header.config.region_size };
		if (!region_is_bare(maps, memory, &inherited->bare_region))
			inherited->bare_region.size = 0;
		// Far from all else, so nothing has been merged with it.
		if (header.config.state == map->end && next && next->start == map->end && next->inode == 0 &&
		    next->writable && !next->shared && next->end - next->start == header.config.state_size)
			inherited->state_size = header.config.state_size;
	}
	return NULL;
}

static struct hs_error *find_islands(const struct proc_maps *maps, const struct target_memory *memory,
				     const struct proc_map *image, struct inherited *inherited)
{
	for (size_t i = 0; image && i < maps->count && inherited->code_count < HS_CODE_PARTS_MAX; i++) {
		const struct proc_map *map = &maps->items[i];
		bool islands = false;
		struct hs_error *error;

		if (!may_be_islands(map, image))
			continue;
		error = read_area(map, memory, inherited, &islands);
		if (error)
			return error;
		if (islands || image->inode != 0)
			inherited->code[inherited->code_count++] =
				(struct region_part){ map->start, map->end - map->start };
	}
	return NULL;
}

struct hs_error *inherited_read(const struct proc_maps *maps, const struct target_memory *memory,
				const struct code_names *names, struct inherited *ret)
{
	const struct proc_map *image;
	struct hs_error *error;

	*ret = (struct inherited){ 0 };
	ret->hooks = calloc(HS_HOOKS_MAX, sizeof(*ret->hooks));
	if (!ret->hooks)
		return &hs_error_no_memory;
	error = find_image(maps, memory, names, ret, &image);
	if (!error)
		error = find_islands(maps, memory, image, ret);
	if (error)
		inherited_deinit(ret);
	return error;
}

void inherited_deinit(struct inherited *inherited)
{
	free(inherited->hooks);
	*inherited = (struct inherited){ 0 };
}

bool inherited_is_hooked(const struct inherited *inherited, const struct target_memory *memory)
{
	for (size_t i = 0; i < inherited->hook_count; i++) {
		const struct hook_record *hook = &inherited->hooks[i];
		uint8_t now[sizeof(hook->new_bytes)];
		struct hs_error *error;

		if (hook->state != HOOK_APPLIED)
			continue;
		error = target_memory_read(memory, hook->address, now, hook->size);
		if (!error && memcmp(now, hook->new_bytes, hook->size) == 0)
			return true;
		hs_error_destroy(error);
	}
	return false;
}
