// SPDX-License-Identifier: Apache-2.0
// The module history: what the dynamic loader adds and removes after attach.
//
// Context: called by the dynamic loader where it tells debuggers that its list changes, under its own lock, so never by
// two threads at once. The list and the strings are the loader's own and consistent at this point (r_state ==
// RT_CONSISTENT). Structures: glibc and musl <link.h>; the order of events: a debugger's view in glibc's elf/dl-debug.c
// and elf/dl-close.c: RT_DELETE is announced before the first munmap, RT_CONSISTENT after the list is final.
#include "inject/arch/processor.h"
#include "inject/payload.h"

#include "inject/walk/elf_memory.h"

void hook_loader_event(void) HS_HIDDEN;

struct link_map_head {
	uint64_t address_bias;
	uint64_t name;
	uint64_t dynamic;
	uint64_t next;
	uint64_t previous;
};

struct debug_head {
	int32_t version;
	uint64_t map;
	uint64_t brk;
	int32_t state; // 0 consistent, 1 add, 2 delete
	uint64_t loader_base;
	uint64_t next_namespace; // since version 2
};

enum { STATE_DELETE = 2, NAMESPACES_MAX = 16, MAPS_MAX = 8192, WAIT_SPINS = 20000, PATH_LIMIT = 4096 };

static uint32_t add_path(const char *text, uint32_t *size_ret)
{
	struct region_header *header = region();
	char *pool = region_at(HS_OFFSET_STRINGS);
	uint32_t size = 0;
	uint32_t start;

	while (size < PATH_LIMIT && text[size])
		size++;
	start = header->string_bytes;
	if (size > HS_STRINGS_SIZE - start)
		size = HS_STRINGS_SIZE - start;
	for (uint32_t i = 0; i < size; i++)
		pool[start + i] = text[i];
	header->string_bytes = start + size;
	*size_ret = size;
	return start;
}

static struct module_record *find_by_link_map(const struct link_map_head *map)
{
	struct module_record *modules = region_at(HS_OFFSET_MODULES);

	for (uint32_t i = 0; i < region()->module_count; i++) {
		struct module_record *module = &modules[i];

		if (module->unloaded)
			continue;
		if (module->link_map == (uint64_t)map && module->load_bias == map->address_bias)
			return module;
		// Mapped at attach but not listed yet: known by its place.
		if (!module->link_map && map->dynamic >= module->start && map->dynamic < module->end) {
			module->link_map = (uint64_t)map;
			module->flags |= MODULE_IN_LINK_MAP;
			return module;
		}
	}
	return NULL;
}

// A library that was unloaded and is now loaded again at the same place: a program that does so for hours must not fill
// the list.
static struct module_record *revive(const struct link_map_head *map)
{
	struct module_record *modules = region_at(HS_OFFSET_MODULES);
	struct module_record now = { 0 };
	bool described = false;

	for (uint32_t i = region()->module_count; i-- > 0;) {
		struct module_record *module = &modules[i];
		bool same;

		if (!module->unloaded || module->load_bias != map->address_bias || !module->build_id_size)
			continue;
		if (!described && !elf_memory_describe(map->address_bias, map->dynamic, &now))
			return NULL;
		described = true;
		same = module->start == now.start && module->end == now.end &&
		       module->eh_frame_hdr == now.eh_frame_hdr && module->text_low == now.text_low &&
		       module->build_id_size == now.build_id_size;
		for (uint32_t b = 0; same && b < now.build_id_size; b++)
			same = module->build_id[b] == now.build_id[b];
		if (same)
			return module;
	}
	return NULL;
}

// False = there is no room for it, or it cannot be described.
static bool add_module(const struct link_map_head *map, uint32_t scan)
{
	struct region_header *header = region();
	struct module_record *modules = region_at(HS_OFFSET_MODULES);
	struct module_record *module;

	module = revive(map);
	if (module) {
		module->link_map = (uint64_t)map;
		module->seen = scan;
		__atomic_store_n(&module->unloaded, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&header->module_generation, header->module_generation + 1, __ATOMIC_RELEASE);
		return true;
	}
	if (header->module_count >= HS_MODULES_MAX)
		return false;
	module = &modules[header->module_count];
	if (!elf_memory_describe(map->address_bias, map->dynamic, module))
		return false;
	module->link_map = (uint64_t)map;
	module->flags |= MODULE_IN_LINK_MAP | MODULE_AFTER_ATTACH | MODULE_CAN_UNLOAD;
	module->path = add_path(map->name ? (const char *)map->name : "", &module->path_size);
	module->seen = scan;
	module->loaded = header->module_generation + 1;
	__atomic_store_n(&module->ready, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&header->module_count, header->module_count + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&header->module_generation, header->module_generation + 1, __ATOMIC_RELEASE);
	return true;
}

static void scan_list(const struct debug_head *debug, uint32_t scan)
{
	struct region_header *header = region();
	uint64_t lost = 0; // of this scan: a library that is lost is met again by each one
	unsigned count = 0;

	for (unsigned space = 0; debug && space < NAMESPACES_MAX; space++) {
		const struct link_map_head *map = (const struct link_map_head *)debug->map;

		for (; map && count < MAPS_MAX; map = (const struct link_map_head *)map->next, count++) {
			struct module_record *module = find_by_link_map(map);

			if (module)
				module->seen = scan;
			else
				lost += !add_module(map, scan);
		}
		debug = debug->version >= 2 ? (const struct debug_head *)debug->next_namespace : NULL;
	}
	if (lost > header->modules_lost)
		header->modules_lost = lost;
}

static void retire_unseen(uint32_t scan)
{
	struct region_header *header = region();
	struct module_record *modules = region_at(HS_OFFSET_MODULES);

	for (uint32_t i = 0; i < header->module_count; i++) {
		struct module_record *module = &modules[i];

		if (module->unloaded || !(module->flags & MODULE_IN_LINK_MAP) || module->seen == scan)
			continue;
		__atomic_store_n(&module->unloaded, header->module_generation + 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&header->module_generation, header->module_generation + 1, __ATOMIC_RELEASE);
	}
}

void hook_loader_event(void)
{
	struct region_header *header = region();
	const struct debug_head *first = (const struct debug_head *)payload_header.config.r_debug;
	const struct debug_head *debug = first;

	for (unsigned space = 0; debug && space < NAMESPACES_MAX; space++) {
		if (debug->state == STATE_DELETE) {
			__atomic_store_n(&header->loader_busy, 1, __ATOMIC_SEQ_CST);
			// Bounded: a reader that was longjmp'ed out of a signal handler never counts itself out.
			for (unsigned i = 0; i < WAIT_SPINS && __atomic_load_n(&header->decoders, __ATOMIC_SEQ_CST);
			     i++)
				arch_pause();
			return;
		}
		if (debug->state != 0)
			return;
		debug = debug->version >= 2 ? (const struct debug_head *)debug->next_namespace : NULL;
	}
	header->loader_scans++;
	scan_list(first, header->loader_scans);
	retire_unseen(header->loader_scans);
	__atomic_store_n(&header->loader_busy, 0, __ATOMIC_SEQ_CST);
}
