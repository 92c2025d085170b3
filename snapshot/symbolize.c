// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbolize.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "snapshot/allocator_names.h"
#include "snapshot/debug_info.h"
#include "snapshot/function_table.h"
#include "snapshot/module_files.h"

#include <stdlib.h>

struct symbolizer {
	struct heap_profile *profile;
	struct module_files files;
	struct function_table functions;
	struct profile_line *lines;
	size_t line_count, line_capacity;
	bool *has_inlined; // of locations[i]: DWARF describes the function
};

// A location on its way to be sorted by module and address.
struct location_key {
	uint64_t address;
	uint32_t module;
	uint32_t location;
};

static int compare_keys(const void *left, const void *right)
{
	const struct location_key *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->location > b->location) - (a->location < b->location);
}

static struct hs_error *add_line(struct symbolizer *symbolizer, const struct debug_frame *frame)
{
	if (symbolizer->line_count == symbolizer->line_capacity) {
		size_t wanted = symbolizer->line_capacity ? symbolizer->line_capacity * 2 : 1024;
		struct profile_line *bigger = reallocarray(symbolizer->lines, wanted, sizeof(*bigger));

		if (!bigger || wanted > UINT32_MAX)
			return &hs_error_no_memory;
		symbolizer->lines = bigger;
		symbolizer->line_capacity = wanted;
	}

	struct profile_line *line = &symbolizer->lines[symbolizer->line_count++];

	line->line = frame->line;
	return function_table_add(&symbolizer->functions, frame->system_name, frame->file, frame->start_line,
				  &line->function);
}

static struct hs_error *symbolize_location(struct symbolizer *symbolizer, struct debug_info *info, uint64_t load_bias,
					   uint32_t index)
{
	struct profile_location *location = &symbolizer->profile->locations[index];
	struct debug_frame frames[DEBUG_FRAMES_LIMIT];
	size_t count;
	struct hs_error *error = debug_info_lookup(info, location->address - load_bias, frames, &count,
						   &symbolizer->has_inlined[index]);

	if (error)
		return error;
	location->first_line = (uint32_t)symbolizer->line_count;
	location->line_count = (uint32_t)count;
	location->is_allocator = count > 0 && is_allocator_name(frames[count - 1].system_name);
	for (size_t i = 0; i < count && !error; i++)
		error = add_line(symbolizer, &frames[i]);
	return error;
}

// The locations of one module, in order of addresses.
static struct hs_error *symbolize_module(struct symbolizer *symbolizer, const struct location_key *keys, size_t count)
{
	struct heap_profile *profile = symbolizer->profile;
	const struct profile_module *module = &profile->modules[keys[0].module];
	struct debug_info *info;

	// The vdso has no file, and nothing in it allocates.
	if (module->is_vdso || !module->path)
		return NULL;

	struct hs_error *error = debug_info_open(&symbolizer->files, module, &info);

	if (error && error->code != HS_ERROR_NO_MEMORY) {
		hs_verbose("symbols: %s", error->message);
		hs_error_destroy(error);
		return NULL;
	}
	if (error)
		return error;
	for (size_t i = 0; i < count && !error; i++) {
		if (i > 0 && keys[i].address == keys[i - 1].address) {
			const struct profile_location *same = &profile->locations[keys[i - 1].location];
			struct profile_location *location = &profile->locations[keys[i].location];

			location->first_line = same->first_line;
			location->line_count = same->line_count;
			location->is_allocator = same->is_allocator;
			symbolizer->has_inlined[keys[i].location] = symbolizer->has_inlined[keys[i - 1].location];
		} else {
			error = symbolize_location(symbolizer, info, module->load_bias, keys[i].location);
		}
	}
	debug_info_close(info);
	return error;
}

static struct hs_error *symbolize_locations(struct symbolizer *symbolizer)
{
	struct heap_profile *profile = symbolizer->profile;
	HS_CLEANUP_FREE struct location_key *keys = calloc(profile->location_count + 1, sizeof(*keys));
	size_t count = 0;

	if (!keys)
		return &hs_error_no_memory;
	for (size_t i = 0; i < profile->location_count; i++) {
		struct profile_location *location = &profile->locations[i];

		location->first_line = location->line_count = 0;
		location->is_allocator = false;
		if (location->module < profile->module_count)
			keys[count++] = (struct location_key){ location->address, location->module, (uint32_t)i };
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && keys[end].module == keys[begin].module;)
			end++;
		hs_progress("symbols", begin, count);

		struct hs_error *error = symbolize_module(symbolizer, keys + begin, end - begin);

		if (error)
			return error;
	}
	hs_progress("symbols", count, count);
	return NULL;
}

// has_functions: every location of the mapping has a function. The others: every location with a function has it too.
static void set_mapping_flags(struct symbolizer *symbolizer)
{
	struct heap_profile *profile = symbolizer->profile;

	for (size_t i = 0; i < profile->mapping_count; i++) {
		struct profile_mapping *mapping = &profile->mappings[i];

		mapping->has_functions = mapping->has_filenames = false;
		mapping->has_line_numbers = mapping->has_inline_frames = false;
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		if (location->line_count == 0 || location->mapping >= profile->mapping_count)
			continue;

		struct profile_mapping *mapping = &profile->mappings[location->mapping];

		mapping->has_functions = mapping->has_filenames = true;
		mapping->has_line_numbers = mapping->has_inline_frames = true;
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		if (location->mapping >= profile->mapping_count)
			continue;

		struct profile_mapping *mapping = &profile->mappings[location->mapping];

		if (location->line_count == 0)
			mapping->has_functions = false;
		else if (!symbolizer->has_inlined[i])
			mapping->has_inline_frames = false;
		for (uint32_t j = 0; j < location->line_count; j++) {
			const struct profile_line *line = &profile->lines[location->first_line + j];

			if (!*profile->functions[line->function].file)
				mapping->has_filenames = false;
			if (line->line == 0)
				mapping->has_line_numbers = false;
		}
	}
}

struct hs_error *symbolize_profile(struct heap_profile *profile)
{
	struct symbolizer symbolizer = { .profile = profile };

	symbolizer.has_inlined = calloc(profile->location_count + 1, sizeof(*symbolizer.has_inlined));
	if (!symbolizer.has_inlined)
		return &hs_error_no_memory;

	// A file server for debug files would be asked by libraries below us; a dump must not wait for a network.
	unsetenv("DEBUGINFOD_URLS");
	module_files_open(profile->pid, &symbolizer.files);

	struct hs_error *error = symbolize_locations(&symbolizer);

	module_files_close(&symbolizer.files);
	if (error) {
		for (size_t i = 0; i < profile->location_count; i++)
			profile->locations[i].line_count = 0;
		free(symbolizer.lines);
	} else {
		profile->functions = HS_STEAL_POINTER(symbolizer.functions.items);
		profile->function_count = symbolizer.functions.count;
		symbolizer.functions.count = 0;
		profile->lines = symbolizer.lines;
		profile->line_count = symbolizer.line_count;
		set_mapping_flags(&symbolizer);
	}
	function_table_deinit(&symbolizer.functions);
	free(symbolizer.has_inlined);
	return error;
}
