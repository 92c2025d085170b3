// SPDX-License-Identifier: Apache-2.0
// struct r_debug and struct link_map: <link.h>, the interface of all dynamic loaders to debuggers. glibc 2.35 added
// r_next for dlmopen namespaces (r_version 2).
#include "attach/elf/link_map.h"

#include "base/log.h"

#include <link.h>
#include <string.h>

// A list of the target may be endless. Every namespace lists the loader again, so there may be more entries than
// modules.
#define LINK_MAP_ENTRIES_MAX (4 * HS_MODULES_MAX)
#define NAMESPACES_MAX       64
#define DYNAMIC_ENTRIES_MAX  4096

// As struct r_debug_extended of glibc; its first 40 bytes are struct r_debug.
struct debug_interface {
	int32_t version;
	uint32_t padding;
	uint64_t map;
	uint64_t event; // r_brk
	int32_t state;
	uint32_t padding2;
	uint64_t loader_base;
	uint64_t next; // only with version 2 and above
};
_Static_assert(offsetof(struct debug_interface, map) == offsetof(struct r_debug, r_map), "r_map");
_Static_assert(offsetof(struct debug_interface, event) == offsetof(struct r_debug, r_brk), "r_brk");
_Static_assert(offsetof(struct debug_interface, next) == sizeof(struct r_debug), "r_next");

// The public part of struct link_map.
struct link_map_entry {
	uint64_t load_bias; // l_addr
	uint64_t name;
	uint64_t dynamic; // l_ld
	uint64_t next, previous;
};
_Static_assert(offsetof(struct link_map_entry, dynamic) == offsetof(struct link_map, l_ld), "l_ld");
_Static_assert(offsetof(struct link_map_entry, next) == offsetof(struct link_map, l_next), "l_next");

static bool read_target(const struct target_memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct hs_error *error = target_memory_read(memory, address, buffer, size);
	bool done = !error;

	hs_error_destroy(error);
	return done;
}

// Where the loader leaves the address of its r_debug for debuggers; read from memory, because the loader fills it in. 0
// = none.
static uint64_t find_debug_entry(const struct target_memory *memory, const struct module *module)
{
	const struct elf_view *elf = &module->elf;

	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		uint64_t address = module->load_bias + elf->segments[i].p_vaddr;
		uint64_t count = elf->segments[i].p_memsz / sizeof(Elf64_Dyn);

		if (elf->segments[i].p_type != PT_DYNAMIC)
			continue;
		for (uint64_t j = 0; j < count && j < DYNAMIC_ENTRIES_MAX; j++) {
			Elf64_Dyn entry;

			if (!read_target(memory, address + j * sizeof(entry), &entry, sizeof(entry)) ||
			    entry.d_tag == DT_NULL)
				break;
			if (entry.d_tag == DT_DEBUG)
				return entry.d_un.d_ptr;
		}
		return 0;
	}
	return 0;
}

static uint64_t find_r_debug(const struct target_memory *memory, const struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		uint64_t address = modules->items[i].is_main ? find_debug_entry(memory, &modules->items[i]) : 0;

		if (address)
			return address;
	}
	// An executable without DT_DEBUG. glibc's loader exports the struct itself.
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];
		struct elf_symbol symbol;

		if (module->is_loader && elf_view_find_symbol(&module->elf, "_r_debug", &symbol) && symbol.dynamic)
			return module->load_bias + symbol.value;
	}
	return 0;
}

// `order` is 0 outside the main namespace.
static void enter(struct module_list *modules, uint64_t address, const struct link_map_entry *entry, size_t order)
{
	for (size_t i = 0; i < modules->count; i++) {
		struct module *module = &modules->items[i];

		// l_addr alone would not do: it is 0 for an executable at a fixed address.
		if (entry->dynamic >= module->start && entry->dynamic < module->end) {
			// The loader's own entry is repeated in each namespace; the first one stays.
			if (!module->link_map) {
				module->link_map = address;
				module->link_order = order;
			}
			return;
		}
	}
	for (size_t i = 0; i < modules->unread_count; i++)
		if (entry->dynamic >= modules->unread[i].start && entry->dynamic < modules->unread[i].end &&
		    !modules->unread[i].link_order)
			modules->unread[i].link_order = order;
}

void link_map_read(const struct target_memory *memory, struct module_list *modules)
{
	uint64_t address = find_r_debug(memory, modules);
	size_t entries = 0;

	for (unsigned i = 0; address && i < NAMESPACES_MAX; i++) {
		struct debug_interface debug = { 0 };

		if (!read_target(memory, address, &debug, sizeof(struct r_debug)) || debug.version < 1)
			break;
		if (debug.version >= 2 &&
		    !read_target(memory, address + sizeof(struct r_debug), &debug.next, sizeof(debug.next)))
			break;
		if (i == 0) {
			modules->r_debug = address;
			for (size_t j = 0; j < modules->count; j++) {
				if (debug.event >= modules->items[j].text_low &&
				    debug.event < modules->items[j].text_high)
					modules->loader_event = debug.event;
			}
		}
		for (uint64_t at = debug.map; at && entries < LINK_MAP_ENTRIES_MAX; entries++) {
			struct link_map_entry entry;

			if (!read_target(memory, at, &entry, sizeof(entry)))
				break;
			enter(modules, at, &entry, i == 0 ? entries + 1 : 0);
			at = entry.next;
		}
		address = debug.next;
	}
	if (entries == LINK_MAP_ENTRIES_MAX)
		hs_verbose("the dynamic loader's list of process %d has no end", memory->process->pid);
}
