// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/profile_build.h"

#include "attach/process/code_names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "snapshot/profile/word_index.h"

#include <stdlib.h>
#include <string.h>

#define NO_INDEX UINT32_MAX

struct builder {
	struct table_view *view;
	const struct proc_maps *maps;
	struct heap_profile *profile;
	struct word_index locations; // by frame word
	size_t location_room, frame_room, mapping_room;
	uint32_t *map_mapping; // by index into maps: mapping index, NO_INDEX = none
	struct module_map {
		uint32_t map, module; // indices
	} * module_maps;              // mappings of modules' code
	size_t module_map_count, module_map_room;
	uint32_t *module_mapping; // by module: mapping made for an unloaded one, NO_INDEX = none yet
	uint32_t unknown_mapping; // for code in no mapping
};

static char *hex(const uint8_t *bytes, uint32_t size)
{
	char *text = calloc(2, size + 1u);

	for (uint32_t i = 0; text && i < size; i++) {
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	return text;
}

static struct hs_error *build_modules(struct builder *builder)
{
	uint32_t count = table_header(builder->view)->module_count;
	struct heap_profile *profile = builder->profile;

	profile->modules = calloc(count + 1u, sizeof(*profile->modules));
	builder->module_mapping = calloc(count + 1u, sizeof(*builder->module_mapping));
	if (!profile->modules || !builder->module_mapping)
		return &hs_error_no_memory;
	for (uint32_t i = 0; i < count; i++) {
		const struct module_record *record = table_module(builder->view, i);
		struct profile_module *module = &profile->modules[i];
		const char *path = "";
		size_t size = 0;

		builder->module_mapping[i] = NO_INDEX;
		profile->module_count++;
		if (record)
			path = table_module_path(builder->view, record, &size);
		module->path = strndup(path, size);
		if (!module->path)
			return &hs_error_no_memory;
		if (!record)
			continue;
		module->load_bias = record->load_bias;
		module->start = record->start;
		module->end = record->end;
		module->text_low = record->text_low;
		module->text_high = record->text_high;
		module->build_id_size = record->build_id_size <= sizeof(module->build_id) ? record->build_id_size : 0;
		memcpy(module->build_id, record->build_id, module->build_id_size);
		module->is_main = record->flags & MODULE_MAIN;
		module->is_vdso = record->flags & MODULE_VDSO;
		module->unloaded = record->unloaded != 0;
	}
	return NULL;
}

// The loaded module at an address.
static uint32_t module_at(const struct heap_profile *profile, uint64_t address)
{
	for (size_t i = 0; i < profile->module_count; i++)
		if (!profile->modules[i].unloaded && address >= profile->modules[i].start &&
		    address < profile->modules[i].end)
			return (uint32_t)i;
	return NO_INDEX;
}

static uint32_t add_mapping(struct builder *builder, uint64_t start, uint64_t limit, uint64_t offset, const char *file,
			    const struct profile_module *module)
{
	struct heap_profile *profile = builder->profile;
	struct profile_mapping *mapping;

	if (ARRAY_RESERVE(profile->mappings, profile->mapping_count + 1, &builder->mapping_room))
		return NO_INDEX;
	mapping = &profile->mappings[profile->mapping_count];
	*mapping = (struct profile_mapping){ .start = start, .limit = limit, .file_offset = offset };
	profile->mapping_count++;
	mapping->file = strdup(file);
	mapping->build_id = module ? hex(module->build_id, module->build_id_size) : strdup("");
	if (!mapping->file || !mapping->build_id)
		return NO_INDEX;
	return (uint32_t)profile->mapping_count - 1;
}

static struct hs_error *build_mappings(struct builder *builder)
{
	const struct heap_profile *profile = builder->profile;
	const struct code_names names = { .nonce = table_header(builder->view)->stable.code_nonce };

	builder->unknown_mapping = NO_INDEX;
	builder->map_mapping = calloc(builder->maps->count + 1, sizeof(*builder->map_mapping));
	if (!builder->map_mapping)
		return &hs_error_no_memory;
	// The main binary's first, the others after it.
	for (int main_first = 1; main_first >= 0; main_first--) {
		for (size_t i = 0; i < builder->maps->count; i++) {
			const struct proc_map *map = &builder->maps->items[i];
			bool is_wanted = map->executable && !code_names_have(&names, map->name) &&
					 strcmp(map->name, "[vsyscall]") != 0;
			uint32_t module = is_wanted ? module_at(profile, map->start) : NO_INDEX;
			bool is_main = module != NO_INDEX && profile->modules[module].is_main;

			if (main_first)
				builder->map_mapping[i] = NO_INDEX;
			if (!is_wanted || is_main != (bool)main_first)
				continue;
			builder->map_mapping[i] = add_mapping(builder, map->start, map->end, map->offset,
							      *map->name ? map->name : "//anon",
							      module == NO_INDEX ? NULL : &profile->modules[module]);
			if (builder->map_mapping[i] == NO_INDEX ||
			    (module != NO_INDEX && ARRAY_RESERVE(builder->module_maps, builder->module_map_count + 1,
								 &builder->module_map_room)))
				return &hs_error_no_memory;
			if (module != NO_INDEX)
				builder->module_maps[builder->module_map_count++] =
					(struct module_map){ (uint32_t)i, module };
		}
	}
	return NULL;
}

// The mapping that a location lies in; every location has one.
static uint32_t mapping_of(struct builder *builder, uint64_t address, uint32_t module_index)
{
	const struct proc_map *map = proc_maps_find(builder->maps, address);
	const struct profile_module *module =
		module_index == NO_INDEX ? NULL : &builder->profile->modules[module_index];

	if (module && module->unloaded) {
		uint32_t *made = &builder->module_mapping[module_index];

		// Its file offsets are not kept; in nearly every file those of the text equal its virtual addresses.
		if (*made == NO_INDEX)
			*made = add_mapping(builder, module->text_low, module->text_high,
					    module->text_low - module->load_bias, module->path, module);
		return *made;
	}
	if (map && builder->map_mapping[map - builder->maps->items] != NO_INDEX)
		return builder->map_mapping[map - builder->maps->items];
	if (builder->unknown_mapping == NO_INDEX)
		builder->unknown_mapping =
			add_mapping(builder, 0, UINT64_C(1) << HS_ADDRESS_BITS, 0, "[unknown]", NULL);
	return builder->unknown_mapping;
}

// Whether two mappings are of one file, and the first one has the bytes at `offset`.
static bool has_same(const struct proc_map *map, const struct proc_map *copy, uint64_t offset)
{
	return map->executable && map->inode == copy->inode && map->device_major == copy->device_major &&
	       map->device_minor == copy->device_minor && offset >= map->offset &&
	       offset - map->offset < map->end - map->start;
}

// Of code that lies in no module, but in a second mapping of a module's file (V8 has its builtins near to the code that
// it makes): where the same bytes are in the module. Else the address itself. *module_ret is changed with it.
static uint64_t original_of(const struct builder *builder, uint64_t address, uint32_t *module_ret)
{
	const struct proc_maps *maps = builder->maps;
	const struct proc_map *copy = proc_maps_find(maps, address);
	uint64_t offset;

	if (!copy || !copy->executable || copy->inode == 0)
		return address;
	offset = copy->offset + (address - copy->start);
	for (size_t i = 0; i < builder->module_map_count; i++) {
		const struct proc_map *map = &maps->items[builder->module_maps[i].map];

		if (has_same(map, copy, offset)) {
			*module_ret = builder->module_maps[i].module;
			return map->start + (offset - map->offset);
		}
	}
	return address;
}

// The location of a frame word. NO_INDEX = out of memory.
static uint32_t location_of(struct builder *builder, uint64_t word)
{
	struct heap_profile *profile = builder->profile;
	uint32_t module_bits = (uint32_t)(word >> HS_FRAME_MODULE_SHIFT);
	uint32_t module = (module_bits & HS_FRAME_MODULE_MASK) - 1; // 0 becomes NO_INDEX
	uint64_t pc = word & HS_FRAME_PC_MASK;
	struct profile_location *location;
	bool is_new;
	uint32_t index = word_index_add(&builder->locations, word, &is_new);

	if (index == NO_INDEX || !is_new)
		return index;
	if (ARRAY_RESERVE(profile->locations, profile->location_count + 1, &builder->location_room))
		return NO_INDEX;
	location = &profile->locations[profile->location_count++];
	*location = (struct profile_location){ .module = module < profile->module_count ? module : NO_INDEX };
	// A return address may be the first of the next line or function; one byte before is inside the call.
	location->address = module_bits & HS_FRAME_EXACT_PC || pc == 0 ? pc : pc - 1;
	if (location->module == NO_INDEX)
		location->address = original_of(builder, location->address, &location->module);
	location->mapping = mapping_of(builder, location->address, location->module);
	return location->mapping == NO_INDEX ? NO_INDEX : index;
}

// Adds to a total what it has room for, and returns that: no honest heap comes near the limit.
static int64_t add_value(struct table_view *view, uint64_t value, int64_t *total)
{
	uint64_t room = (uint64_t)(INT64_MAX - *total);

	if (value > room) {
		view->damaged++;
		value = room;
	}
	*total += (int64_t)value;
	return (int64_t)value;
}

static int64_t whole(double estimate)
{
	const uint64_t value = estimate_round(estimate);

	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

// What blocks are recorded with from now on. Under a budget each thread has an interval of its own: the largest of
// them.
static int64_t interval_in_force(const struct region_header *header, const struct aggregate *aggregate)
{
	uint64_t interval =
		header->sampling_mode == SAMPLING_budget ? aggregate->slots_interval : header->sampling_interval;

	if (header->sampling_mode == SAMPLING_interval && interval < header->interval_floor)
		interval = header->interval_floor;
	return header->sampling_mode == SAMPLING_exact || interval == 0 ? 1 : (int64_t)interval;
}

// The largest since attach. The payload says so; settings that no thread has taken over yet, and records, too.
static int64_t largest_interval(const struct region_header *header, const struct aggregate *aggregate)
{
	bool is_set = header->sampling_mode == SAMPLING_interval || header->sampling_mode == SAMPLING_words;
	uint64_t most = is_set ? header->sampling_interval : 0;

	most = header->interval_most > most ? header->interval_most : most;
	most = aggregate->interval_high > most ? aggregate->interval_high : most;
	return (int64_t)(aggregate->slots_interval > most ? aggregate->slots_interval : most);
}

static struct hs_error *add_sample(struct builder *builder, const struct stack_totals *totals)
{
	struct heap_profile *profile = builder->profile;
	struct profile_sample *sample = &profile->samples[profile->sample_count];
	uint32_t ref = totals->node;

	*sample = (struct profile_sample){
		.first_frame = (uint32_t)profile->frame_count,
		.samples_per_block = totals->samples_per_block,
		.labels = totals->labels,
		.values = {
			.alloc_objects = add_value(builder->view, estimate_round(totals->alloc_objects),
						   &profile->total.alloc_objects),
			.alloc_bytes = add_value(builder->view, estimate_round(totals->alloc_bytes),
						 &profile->total.alloc_bytes),
			.temporary_objects = add_value(builder->view, estimate_round(totals->temporary_objects),
						       &profile->total.temporary_objects),
			.live_objects = add_value(builder->view, estimate_round(totals->live.objects),
						  &profile->total.live_objects),
			.live_bytes = add_value(builder->view, estimate_round(totals->live.bytes),
						&profile->total.live_bytes),
			.live_records = totals->live.records,
			.live_objects_variance = totals->live.objects_variance,
			.live_bytes_variance = totals->live.bytes_variance,
		},
	};
	profile->sample_count++;
	profile->total.live_records += totals->live.records;
	profile->total.live_objects_variance += totals->live.objects_variance;
	profile->total.live_bytes_variance += totals->live.bytes_variance;
	for (uint32_t depth = 0; ref; depth++) {
		const struct stack_node *node = table_node(builder->view, ref);
		uint32_t location;

		if (!node)
			break;
		if (depth > HS_DEPTH_MAX) { // parents in a circle
			builder->view->damaged++;
			break;
		}
		ref = node->parent;
		if (node->frame >> HS_FRAME_MODULE_SHIFT & HS_FRAME_CUT)
			break; // no frame: says why the walk ended, and is counted in the ledger
		location = location_of(builder, node->frame);
		if (location == NO_INDEX ||
		    ARRAY_RESERVE(profile->frames, profile->frame_count + 1, &builder->frame_room))
			return &hs_error_no_memory;
		profile->frames[profile->frame_count++] = location;
		sample->frame_count++;
	}
	return NULL;
}

// The first samples are those of aggregate->stacks, one for each.
static struct hs_error *add_cohorts(const struct aggregate *aggregate, struct heap_profile *profile)
{
	profile->cohorts = calloc(aggregate->cohorts.count + 1, sizeof(*profile->cohorts));
	if (!profile->cohorts)
		return &hs_error_no_memory;
	for (size_t i = 0; i < aggregate->cohorts.count; i++) {
		const struct cohort_totals *cohort = &aggregate->cohorts.items[i];

		profile->cohorts[profile->cohort_count++] = (struct profile_cohort){
			.sample = cohort->stack,
			.number = cohort->number,
			.live = {
				.live_objects = whole(cohort->live.objects),
				.live_bytes = whole(cohort->live.bytes),
				.live_records = cohort->live.records,
				.live_objects_variance = cohort->live.objects_variance,
				.live_bytes_variance = cohort->live.bytes_variance,
			},
		};
	}
	return NULL;
}

struct hs_error *profile_build(struct table_view *view, const struct aggregate *aggregate, const struct proc_maps *maps,
			       struct heap_profile *profile)
{
	struct builder builder = { .view = view, .maps = maps, .profile = profile };
	struct hs_error *error = build_modules(&builder);

	if (!error)
		error = build_mappings(&builder);
	if (!error) {
		profile->samples =
			calloc(aggregate->stacks.count + aggregate->counted.count + 1, sizeof(*profile->samples));
		if (!profile->samples)
			error = &hs_error_no_memory;
	}
	for (size_t i = 0; i < aggregate->stacks.count && !error; i++)
		error = add_sample(&builder, &aggregate->stacks.items[i]);
	for (size_t i = 0; i < aggregate->counted.count && !error; i++)
		error = add_sample(&builder, &aggregate->counted.items[i]);
	if (!error && aggregate->has_cohorts)
		error = add_cohorts(aggregate, profile);
	profile->period = interval_in_force(table_header(view), aggregate);
	profile->is_stopped = table_header(view)->sampling_mode == SAMPLING_stopped;
	// regions of version 13 do not count them
	profile->has_temporaries = table_header(view)->stable.abi_version >= 14;
	profile->is_estimate = !table_header(view)->always_exact || aggregate->sampled;
	profile->interval_most = profile->is_estimate ? largest_interval(table_header(view), aggregate) : 0;
	word_index_deinit(&builder.locations);
	free(builder.map_mapping);
	free(builder.module_maps);
	free(builder.module_mapping);
	return error;
}
