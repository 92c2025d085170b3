// SPDX-License-Identifier: Apache-2.0
#include "attach/region/code_proof.h"

#include "attach/arch/island_code.h"
#include "attach/process/memory_file.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define AREA_SIZE_MAX      (HS_HOOKS_MAX * sizeof(struct hook_island) + HS_PAGE_SIZE)
#define UNWRITTEN_SIZE_MAX (UINT64_C(1) << 20) // the image has some 60 KiB, an area at most AREA_SIZE_MAX

bool code_island_hook(uint64_t address, const struct hook_island *island, struct hook_record *ret)
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

struct hs_error *code_is_image(const struct target_memory *memory, uint64_t address, uint64_t size,
			       struct payload_header *header_ret, bool *ret)
{
	struct hs_error *error = NULL;

	*ret = false;
	if (size < sizeof(*header_ret))
		return NULL;
	error = target_memory_read(memory, address, header_ret, sizeof(*header_ret));
	*ret = !error && header_ret->magic == HS_PAYLOAD_MAGIC && header_ret->config.code == address &&
	       header_ret->image_size == size;
	return error;
}

struct hs_error *code_read_islands(const struct target_memory *memory, const struct address_range *area,
				   const struct address_range *image, struct hook_record *hooks, size_t *count_ret)
{
	uint64_t size = area->size < AREA_SIZE_MAX ? area->size : AREA_SIZE_MAX;
	HS_CLEANUP_FREE struct hook_island *islands = malloc(size);
	struct hs_error *error;

	*count_ret = 0;
	if (!islands)
		return &hs_error_no_memory;
	error = target_memory_read(memory, area->address, islands, size);
	if (error)
		return error;
	for (size_t i = 0; i < size / sizeof(*islands); i++) {
		struct hook_record hook;

		if (!code_island_hook(area->address + i * sizeof(*islands), &islands[i], &hook) ||
		    islands[i].entry - image->address >= image->size)
			continue;
		if (hooks)
			hooks[islands[i].hook_index] = hook;
		++*count_ret;
	}
	return NULL;
}

bool code_may_be_anonymous(const struct proc_map *map)
{
	return map->readable && map->executable && !map->writable && !map->shared && map->inode == 0 && !map->name[0];
}

static bool is_zero(const struct target_memory *memory, const struct address_range *part)
{
	static const uint8_t zeros[HS_PAGE_SIZE];

	for (uint64_t done = 0; done < part->size; done += sizeof(zeros)) {
		uint64_t left = part->size - done;

		if (!target_memory_equals(memory, part->address + done, zeros,
					  left < sizeof(zeros) ? left : sizeof(zeros)))
			return false;
	}
	return true;
}

static bool is_written_image(const struct code_proof *proof)
{
	struct payload_header header;
	bool is_image = false;

	hs_error_destroy(code_is_image(proof->memory, proof->image.address, proof->image.size, &header, &is_image));
	return is_image;
}

static bool has_islands(const struct code_proof *proof, const struct address_range *area)
{
	size_t count = 0;

	hs_error_destroy(code_read_islands(proof->memory, area, &proof->image, NULL, &count));
	return count > 0;
}

// Attach maps a piece of anonymous code, then writes it; the image first. Where it was killed between the two, nothing
// tells the mapping from one that the program has made in the same place, in the same size and with the same
// protection, and in which nothing is. Nobody executes such a one.
static bool is_unwritten(const struct code_proof *proof, const struct proc_map *map, const struct address_range *part)
{
	return proof->may_be_unwritten && map->end - map->start == part->size && part->size <= UNWRITTEN_SIZE_MAX &&
	       is_zero(proof->memory, part);
}

bool code_is_ours(const struct code_proof *proof, const struct proc_maps *maps, const struct address_range *part)
{
	const struct proc_map *map = proc_maps_find(maps, part->address);

	if (!map || map->start != part->address || part->size > map->end - map->start || map->writable || map->shared)
		return false;
	// before anonymous code is there, a memory file that is not executable stands for it
	if (memory_file_is_mapped(proof->memory->process, proof->names, map))
		return true;
	if (!code_may_be_anonymous(map))
		return false;
	if (part->address == proof->image.address)
		return is_written_image(proof) || is_unwritten(proof, map, part);
	return has_islands(proof, part) || (is_written_image(proof) && is_unwritten(proof, map, part));
}
