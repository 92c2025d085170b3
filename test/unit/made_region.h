// SPDX-License-Identifier: Apache-2.0
// A region made by hand, laid out as the payload does it. It lies between two pages without access, so that whoever
// reads beyond its ends dies at once, in every build.
#ifndef HEAPSNAP_TEST_UNIT_MADE_REGION_H
#define HEAPSNAP_TEST_UNIT_MADE_REGION_H

#include "attach/region/region_fill.h"
#include "held_process.h"
#include "inject/abi/region.h"
#include "snapshot/copy/table_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct made_region {
	uint8_t *bytes;
	uint64_t size;
	struct region_header *header;  // = bytes
	uint32_t records, records_end; // refs not yet used of the last page of records
	uint32_t nodes, nodes_end;
};

// Gives the region the header that region_fill gives it.
static inline void made_region_begin(void *bytes, uint64_t size)
{
	const struct target_info target = { .pid = 1 };
	const struct module_list modules = { 0 };
	const struct hook_plan hooks = { 0 };
	const struct frozen_process process = { .process = held_process(1) };
	const struct payload_layout layout = { .code = 0x100000000000,
					       .code_size = 0x10000,
					       .state = 0x100000010000,
					       .region = (uint64_t)bytes,
					       .region_size = size };
	struct region_filling filling = { .target = &target,
					  .modules = &modules,
					  .layout = &layout,
					  .hooks = &hooks,
					  .frozen = &process,
					  .depth = HS_DEPTH_DEFAULT };

	region_fill(bytes, &filling);
	((struct region_header *)bytes)->stable.state = REGION_ATTACHED;
}

// `pages` pages can be handed out; the first is already.
static inline void made_region_init(struct made_region *region, uint64_t pages)
{
	uint64_t size = HS_OFFSET_PAGES + pages * HS_PAGE_SIZE;
	uint8_t *place =
		mmap(NULL, size + 2 * HS_PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (place == MAP_FAILED || mprotect(place + HS_PAGE_SIZE, size, PROT_READ | PROT_WRITE) != 0) {
		perror("no address space for a region");
		exit(1);
	}
	*region = (struct made_region){ .bytes = place + HS_PAGE_SIZE, .size = size };
	region->header = (struct region_header *)region->bytes;
	made_region_begin(region->bytes, size);
}

static inline void made_region_deinit(struct made_region *region)
{
	munmap(region->bytes - HS_PAGE_SIZE, region->size + 2 * HS_PAGE_SIZE);
}

static inline struct table_view made_view(const struct made_region *region)
{
	struct table_view view;

	table_view_init(&region_layout_own, region->header, region->bytes, region->size, &view);
	return view;
}

static inline void *made_ref(const struct made_region *region, uint32_t ref)
{
	return region->bytes + ((uint64_t)ref << HS_REF_SHIFT);
}

static inline uint32_t *made_table(const struct made_region *region, uint32_t page)
{
	return (uint32_t *)(region->bytes + (uint64_t)page * HS_PAGE_SIZE);
}

static inline uint32_t *made_root(const struct made_region *region)
{
	return (uint32_t *)(region->bytes + HS_OFFSET_ROOT);
}

static inline uint32_t *made_buckets(const struct made_region *region)
{
	return (uint32_t *)(region->bytes + HS_OFFSET_BUCKETS);
}

static inline uint32_t made_pages(struct made_region *region, uint32_t count)
{
	uint32_t first = (uint32_t)region->header->next_page;

	if (first + count > region->header->max_pages) {
		fprintf(stderr, "the made region is too small\n");
		exit(1);
	}
	region->header->next_page += count;
	return first;
}

static inline uint32_t made_unit(struct made_region *region, uint32_t *next, uint32_t *end)
{
	if (*next == *end) {
		*next = made_pages(region, 1) << (12 - HS_REF_SHIFT);
		*end = *next + HS_PAGE_SIZE / 32;
	}
	return (*next)++;
}

static inline uint32_t made_record(struct made_region *region, uint64_t size, uint32_t stack)
{
	uint32_t ref = made_unit(region, &region->records, &region->records_end);

	*(struct block_record *)made_ref(region, ref) =
		(struct block_record){ .size_and_hook = size, .stack = stack, .interval = 1, .epoch = 1 };
	return ref;
}

static inline uint64_t made_frame(uint64_t pc, uint64_t module) { return pc | module << HS_FRAME_MODULE_SHIFT; }

// Any bucket is right for the tool, which goes through all of them.
static inline uint32_t made_node(struct made_region *region, uint32_t bucket, uint64_t frame, uint32_t parent)
{
	uint32_t ref = made_unit(region, &region->nodes, &region->nodes_end);
	uint32_t *head = &made_buckets(region)[bucket];

	*(struct stack_node *)made_ref(region, ref) =
		(struct stack_node){ .frame = frame, .parent = parent, .next = *head };
	*head = ref;
	return ref;
}

static inline uint32_t *made_leaf_entry(struct made_region *region, uint32_t *root, uint64_t middle_index,
					uint64_t leaf_index)
{
	uint32_t *middle;

	if (!*root)
		*root = made_pages(region, 32);
	middle = &made_table(region, *root)[middle_index & 0x7fff];
	if (!*middle)
		*middle = made_pages(region, 1);
	return &made_table(region, *middle)[leaf_index & 0x3ff];
}

// The entry of the live table for an address, narrow or wide, by the drawing in abi/live_table.h.
static inline uint32_t *made_narrow_entry(struct made_region *region, uint64_t address)
{
	return made_leaf_entry(region, &made_root(region)[(address >> 29 & 0x3ffff) + (address & 8 ? 1u << 18 : 0)],
			       address >> 14, address >> 4);
}

static inline uint32_t *made_wide_entry(struct made_region *region, uint64_t address)
{
	return made_leaf_entry(region, &made_root(region)[(2u << 18) + (address >> 31 & 0xffff)], address >> 16,
			       address >> 6);
}

// In the entry that the payload would choose.
static inline uint32_t made_block(struct made_region *region, uint64_t address, uint64_t size, uint32_t stack)
{
	uint32_t ref = made_record(region, size, stack),
		 *wide = size > 48 && address % 16 == 0 ? made_wide_entry(region, address) : NULL;

	if (wide && !*wide)
		*wide = ref | (uint32_t)(address >> 4) << 30;
	else
		*made_narrow_entry(region, address) = ref;
	return ref;
}

// The record of a block that the live table holds.
static inline struct block_record *made_record_at(const struct made_region *region, uint64_t address)
{
	struct table_view view = made_view(region);

	return made_ref(region, table_find_block(&view, address));
}

// In any empty entry of the address's bucket, by the drawing in abi/sample_table.h.
static inline uint32_t made_sample(struct made_region *region, uint64_t address, uint64_t size, uint32_t interval,
				   uint32_t stack)
{
	uint64_t mixed = (address >> 3) * UINT64_C(0x9e3779b97f5) & UINT64_C(0xfffffffffff);
	uint64_t *entry = (uint64_t *)(region->bytes + HS_OFFSET_SAMPLES) + (mixed >> 33) * 16;
	uint32_t ref = made_record(region, size, stack);

	for (unsigned i = 0; *entry; i++, entry++)
		if (i == 15) {
			fprintf(stderr, "a bucket of the made region is full\n");
			exit(1);
		}
	((struct block_record *)made_ref(region, ref))->interval = interval;
	region->header->samples_used = 1;
	*entry = mixed << 31 | ref;
	return ref;
}

static inline struct shared_slot *made_slot(const struct made_region *region, uint32_t index)
{
	struct shared_slot *slot =
		(struct shared_slot *)(region->bytes + HS_OFFSET_SLOTS + (uint64_t)index * HS_SLOT_STRIDE);

	__atomic_fetch_or(&region->header->used_slots[index / 64], UINT64_C(1) << (index % 64), __ATOMIC_RELAXED);
	slot->thread_pointer = 0x7f0000000000 + index * UINT64_C(0x800000);
	return slot;
}

static inline struct module_record *made_module(struct made_region *region, const char *path)
{
	struct module_record *module =
		(struct module_record *)(region->bytes + HS_OFFSET_MODULES) + region->header->module_count++;

	module->path = region->header->string_bytes;
	module->path_size = (uint32_t)strlen(path);
	memcpy(region->bytes + HS_OFFSET_STRINGS + module->path, path, module->path_size);
	region->header->string_bytes += module->path_size;
	module->loaded = 1;
	module->ready = 1;
	return module;
}

static inline struct hook_record *made_hook(struct made_region *region, const char *name)
{
	struct hook_record *hook =
		(struct hook_record *)(region->bytes + HS_OFFSET_HOOKS) + region->header->stable.hook_count++;

	snprintf(hook->name, sizeof(hook->name), "%s", name);
	hook->state = HOOK_APPLIED;
	return hook;
}

#endif
