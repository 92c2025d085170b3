// SPDX-License-Identifier: Apache-2.0
#include "attach/region/region_fill.h"

#include "attach/region/region_layout.h"
#include "attach/region/region_stable.h"
#include "base/clock.h"
#include "base/log.h"
#include "inject/abi/page.h"

#include <inttypes.h>
#include <string.h>

void region_main_stack(const struct proc_maps *maps, uint64_t stack_limit, uint64_t *low_ret, uint64_t *high_ret)
{
	const uint64_t least = UINT64_C(8) << 20, most = UINT64_C(128) << 20;
	uint64_t reach = stack_limit < least ? least : stack_limit > most ? most : stack_limit;

	*low_ret = *high_ret = 0;
	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_map *map = &maps->items[i];

		if (strcmp(map->name, "[stack]") != 0)
			continue;
		if (reach < map->end - map->start)
			reach = map->end - map->start;
		*high_ret = map->end;
		*low_ret = map->end > reach ? map->end - reach : 0;
		// Anything mapped there by hand ends the range.
		if (i > 0 && maps->items[i - 1].end > *low_ret)
			*low_ret = maps->items[i - 1].end;
	}
}

// The log may add an eighth to the memory that the records may have, while a dump runs.
static uint32_t log_entries(uint64_t memory)
{
	uint64_t entries = memory / 8 / sizeof(struct log_entry);

	return entries > HS_LOG_ENTRIES       ? HS_LOG_ENTRIES
	       : entries < HS_LOG_ENTRIES_MIN ? HS_LOG_ENTRIES_MIN
					      : (uint32_t)entries;
}

static void fill_parts(struct region_header *header)
{
	const struct region_layout *layout = &region_layout_own;

	header->modules = layout->modules;
	header->strings = layout->strings;
	header->threads = layout->threads;
	header->rules = layout->rules;
	header->log = layout->log;
	header->buckets = layout->buckets;
	header->root = layout->root;
	header->samples = layout->samples;
	header->pages = (struct region_part){ layout->pages, header->stable.size - layout->pages };
}

// Puts a module's search table into pages of its own. They are few, and counted as used; a table that would take much
// of a small region is left out, and stacks through the module are cut.
static void fill_search_table(struct region_header *header, const struct search_table *table,
			      struct module_record *record)
{
	uint64_t bytes = table->count * sizeof(*table->pairs);
	uint64_t pages = page_up(bytes) / HS_PAGE_SIZE;

	if (!table->count || pages > (header->max_pages - header->next_page) / 4) {
		if (table->count)
			hs_verbose("no room for a search table of %" PRIu64 " pages", pages);
		return;
	}
	record->search_page = (uint32_t)header->next_page;
	record->search_count = (uint32_t)table->count;
	record->cfi_low = table->low;
	record->cfi_high = table->high;
	memcpy((uint8_t *)header + header->next_page * HS_PAGE_SIZE, table->pairs, bytes);
	header->next_page += pages;
}

// Nobody tells when a module goes that the loader does not list, or when the loader is not followed: nothing of it is
// read later.
static void fill_module(struct region_header *header, const struct module *module, bool followed,
			struct module_record *record)
{
	bool stays = module->is_main || module->is_vdso || module->is_loader;
	char *pool = (char *)header + HS_OFFSET_STRINGS;
	size_t path_size = strlen(module->path);
	uint64_t hdr, hdr_size, low, high;

	if (path_size > HS_STRINGS_SIZE - header->string_bytes)
		path_size = HS_STRINGS_SIZE - header->string_bytes;
	memcpy(pool + header->string_bytes, module->path, path_size);
	*record = (struct module_record){
		.load_bias = module->load_bias,
		.start = module->start,
		.end = module->end,
		.text_low = module->text_low,
		.text_high = module->text_high,
		.link_map = module->link_map,
		.flags = (module->link_map ? MODULE_IN_LINK_MAP : 0u) | (module->is_main ? MODULE_MAIN : 0u) |
			 (module->is_vdso ? MODULE_VDSO : 0u) |
			 (module->is_main || module->is_vdso || module->is_loader ? 0u : MODULE_CAN_UNLOAD) |
			 (module->is_go ? MODULE_GO : 0u),
		.loaded = 1,
		.path = header->string_bytes,
		.path_size = (uint32_t)path_size,
		.build_id_size = module->elf.build_id_size,
		.ready = 1,
	};
	header->string_bytes += (uint32_t)path_size;
	memcpy(record->build_id, module->elf.build_id, sizeof(record->build_id));
	if (!stays && !(followed && module->link_map))
		return;
	record->readable_low = module->readable_low;
	record->readable_high = module->readable_high;
	if (elf_view_unwind(&module->elf, &hdr, &hdr_size, &low, &high)) {
		record->eh_frame_hdr = module->load_bias + hdr;
		record->eh_frame_hdr_size = hdr_size;
		record->cfi_low = module->load_bias + low;
		record->cfi_high = module->load_bias + high;
	} else {
		fill_search_table(header, &module->search, record);
	}
}

void region_fill(struct region_header *header, void *context)
{
	const struct region_filling *filling = context;
	const struct payload_layout *layout = filling->layout;
	struct module_record *modules = (struct module_record *)((uint8_t *)header + HS_OFFSET_MODULES);
	struct stack_node *full;
	struct shared_slot *nobodys;

	region_stable_begin(&header->stable);
	header->stable.state = REGION_ATTACHING;
	header->stable.size = layout->region_size;
	fill_parts(header);
	header->stable.region_address = layout->region;
	header->stable.code_address = layout->code;
	header->stable.code_size = layout->code_size;
	header->stable.state_address = layout->state;
	header->stable.island_count = (uint32_t)filling->hooks->area_count;
	for (size_t i = 0; i < filling->hooks->area_count; i++)
		header->stable.islands[i] = (struct region_part){ filling->hooks->areas[i].address,
								  filling->hooks->areas[i].pages * HS_PAGE_SIZE };
	header->depth = filling->depth;
	header->pid = (uint32_t)filling->target->pid;
	header->max_pages = layout->region_size / HS_PAGE_SIZE;
	header->first_page = HS_OFFSET_PAGES / HS_PAGE_SIZE;
	header->stable.attach_wall_ns = hs_wall_ns();
	header->attach_monotonic_ns = hs_monotonic_ns();
	header->epoch = 1;
	header->log_taken = UINT64_C(1) << 32; // an entry that was never written is of generation 0
	header->log_limit = log_entries((header->max_pages - header->first_page) * HS_PAGE_SIZE);
	header->module_generation = 1;
	sampling_settings_begin(header, &filling->sampling, filling->sampling_seed, filling->ticks_per_us);
	header->next_page = header->first_page + 1;
	bool followed = hook_plan_follows_loader(filling->hooks);
	for (size_t i = 0; i < filling->modules->count && header->module_count < HS_MODULES_MAX; i++)
		fill_module(header, &filling->modules->items[i], followed, &modules[header->module_count++]);

	// The first page of `pages` begins with the node for stacks that find no room.
	full = (struct stack_node *)((uint8_t *)header + HS_OFFSET_PAGES);
	full->frame = (uint64_t)HS_FRAME_CUT << HS_FRAME_MODULE_SHIFT | CUT_stack_table_full;
	// Unused slots have the key 0, and so has a thread without a thread pointer, whose calls look here: no slot is
	// to be its.
	nobodys = (struct shared_slot *)((uint8_t *)header + HS_OFFSET_SLOTS + thread_slot_index(0) * HS_SLOT_STRIDE);
	nobodys->thread_pointer = HS_KEY_NOBODYS;
	header->stable.magic = HS_REGION_MAGIC;
}
