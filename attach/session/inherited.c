// SPDX-License-Identifier: Apache-2.0
#include "attach/session/inherited.h"

#include "attach/process/memory_file.h"
#include "attach/region/code_proof.h"
#include "attach/region/region_access.h"
#include "attach/region/state_pages.h"

#include <stdlib.h>
#include <string.h>

// Where memory files cannot be executable, our code is anonymous memory, and before that is there a memory file lies in
// its place.
static bool may_be_image(const struct process *process, const struct proc_map *map, const struct code_names *names)
{
	return map->readable && !map->writable && !map->shared && map->offset == 0 && map->start >= HS_LAYOUT_LOW &&
	       map->end <= HS_LAYOUT_HIGH && (memory_file_is_mapped(process, names, map) || code_may_be_anonymous(map));
}

// Islands are of the image's file, behind the image in it; or anonymous memory, as the image is.
static bool may_be_islands(const struct proc_map *map, const struct proc_map *image)
{
	if (map == image || !map->readable || !map->executable || map->writable || map->shared)
		return false;
	if (image->inode == 0)
		return code_may_be_anonymous(map);
	return map->inode == image->inode && map->device_major == image->device_major &&
	       map->device_minor == image->device_minor && map->offset >= image->end - image->start;
}

// *ret NULL = there is none.
static struct hs_error *find_image(const struct proc_maps *maps, const struct target_memory *memory,
				   const struct code_names *names, struct inherited *inherited,
				   const struct proc_map **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < maps->count && !*ret; i++) {
		const struct proc_map *map = &maps->items[i];
		struct payload_header header;
		bool image = false;
		struct hs_error *error = NULL;

		if (may_be_image(memory->process, map, names))
			error = code_is_image(memory, map->start, map->end - map->start, &header, &image);
		if (error)
			return error;
		if (!image)
			continue;
		*ret = map;
		inherited->code[0] = (struct address_range){ map->start, map->end - map->start };
		inherited->code_count = 1;
		inherited->bare_region = (struct address_range){ header.config.region, header.config.region_size };
		if (!region_is_bare(maps, memory, &inherited->bare_region))
			inherited->bare_region.size = 0;
		if (header.config.state == map->end &&
		    state_pages_are_at(maps, header.config.state, header.config.state_size))
			inherited->state_size = header.config.state_size;
	}
	return NULL;
}

static struct hs_error *find_islands(const struct proc_maps *maps, const struct target_memory *memory,
				     const struct proc_map *image, struct inherited *inherited)
{
	for (size_t i = 0; image && i < maps->count && inherited->code_count < HS_CODE_PARTS_MAX; i++) {
		const struct proc_map *map = &maps->items[i];
		const struct address_range area = { map->start, map->end - map->start };
		struct hs_error *error;
		size_t islands;

		if (!may_be_islands(map, image))
			continue;
		error = code_read_islands(memory, &area, &inherited->code[0], inherited->hooks, &islands);
		if (error)
			return error;
		if (islands || image->inode != 0)
			inherited->code[inherited->code_count++] = area;
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
	if (error) {
		inherited_deinit(ret);
		return error;
	}
	for (size_t i = 0; i < HS_HOOKS_MAX; i++)
		if (ret->hooks[i].size)
			ret->hook_count = i + 1;
	return NULL;
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
		error = target_memory_read_resident(memory, hook->address, now, hook->size);
		if (!error && memcmp(now, hook->new_bytes, hook->size) == 0)
			return true;
		hs_error_destroy(error);
	}
	return false;
}
