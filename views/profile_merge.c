// SPDX-License-Identifier: Apache-2.0
#include "views/profile_merge.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_WORDS = 5 }; // at the end of a stack's key

// One profile that is being added.
struct source {
	struct profile_merge *merge;
	const struct heap_profile *profile;
	uint32_t *mappings, *modules, *locations; // where each of its own went
	unsigned side, process;
};

static struct hs_error *copy_text(const char *text, char **ret)
{
	*ret = strdup(text ? text : "");
	return *ret ? NULL : &hs_error_no_memory;
}

// A function with several texts is freed with the profile, also when it lacks some of them.
static struct hs_error *add_function(struct profile_merge *merge, const struct profile_function *from)
{
	struct heap_profile *to = &merge->profile;
	struct hs_error *error = ARRAY_RESERVE(to->functions, to->function_count + 1, &merge->function_room);
	struct profile_function *function;

	if (error)
		return error;
	function = &to->functions[to->function_count++];
	*function = (struct profile_function){ .start_line = from->start_line };
	error = copy_text(from->name, &function->name);
	if (!error)
		error = copy_text(from->system_name, &function->system_name);
	return error ? error : copy_text(from->file, &function->file);
}

static struct hs_error *add_mapping(struct profile_merge *merge, const struct profile_mapping *from)
{
	struct heap_profile *to = &merge->profile;
	struct hs_error *error = ARRAY_RESERVE(to->mappings, to->mapping_count + 1, &merge->mapping_room);
	struct profile_mapping *mapping;

	if (error)
		return error;
	mapping = &to->mappings[to->mapping_count++];
	*mapping = *from;
	mapping->file = mapping->build_id = NULL;
	error = copy_text(from->file, &mapping->file);
	return error ? error : copy_text(from->build_id, &mapping->build_id);
}

static struct hs_error *merge_mapping(struct source *source, uint32_t index)
{
	struct profile_merge *merge = source->merge;
	const struct profile_mapping *from = &source->profile->mappings[index];
	struct key_table *keys = &merge->mapping_keys;
	struct hs_error *error = key_add_text(keys, from->file);
	bool is_new = false;

	if (!error)
		error = key_add_text(keys, from->build_id);
	if (!error)
		error = key_add_number(keys, from->start);
	if (!error)
		error = key_add_number(keys, from->limit);
	if (!error)
		error = key_add_number(keys, from->file_offset);
	if (!error)
		error = key_number(keys, &source->mappings[index], &is_new);
	if (error)
		return error;
	if (is_new)
		return add_mapping(merge, from);

	struct profile_mapping *to = &merge->profile.mappings[source->mappings[index]];

	to->has_functions &= from->has_functions;
	to->has_filenames &= from->has_filenames;
	to->has_line_numbers &= from->has_line_numbers;
	to->has_inline_frames &= from->has_inline_frames;
	return NULL;
}

static struct hs_error *merge_module(struct source *source, uint32_t index)
{
	struct profile_merge *merge = source->merge;
	struct heap_profile *to = &merge->profile;
	const struct profile_module *from = &source->profile->modules[index];
	struct key_table *keys = &merge->module_keys;
	struct hs_error *error = key_add_text(keys, from->path);
	bool is_new = false;

	if (!error)
		error = key_add_number(keys, from->load_bias);
	if (!error)
		error = key_add_number(keys, from->start);
	if (!error)
		error = key_add_number(keys, from->end);
	if (!error)
		error = key_add_bytes(keys, from->build_id, sizeof(from->build_id));
	if (!error)
		error = key_number(keys, &source->modules[index], &is_new);
	if (!error)
		error = ARRAY_RESERVE(to->modules, to->module_count + 1, &merge->module_room);
	if (error || !is_new)
		return error;
	to->modules[to->module_count] = *from;
	error = copy_text(from->path, &to->modules[to->module_count].path);
	to->module_count += !error;
	return error;
}

static const struct profile_mapping *mapping_of(const struct heap_profile *profile,
						const struct profile_location *location)
{
	return location->mapping < profile->mapping_count ? &profile->mappings[location->mapping] : NULL;
}

static const struct profile_module *module_of(const struct heap_profile *profile,
					      const struct profile_location *location)
{
	return location->module < profile->module_count ? &profile->modules[location->module] : NULL;
}

static const char *text_or_empty(const char *text) { return text ? text : ""; }

// A file's name is a path; what is no file is called "[heap]", "[unknown]", "//anon" or nothing.
static bool is_file(const struct profile_mapping *mapping)
{
	const char *file = text_or_empty(mapping->file);

	return (file[0] && file[0] != '[' && strncmp(file, "//", 2) != 0) || text_or_empty(mapping->build_id)[0];
}

// The base name as a key, without what the kernel says of a file that was replaced.
static struct hs_error *add_base_name(struct key_table *keys, const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(text_or_empty(path), '/'), *base = slash ? slash + 1 : text_or_empty(path);
	size_t size = strlen(base);
	struct hs_error *error;

	if (size > strlen(deleted) && strcmp(base + size - strlen(deleted), deleted) == 0)
		size -= strlen(deleted);
	error = key_add_bytes(keys, base, size);
	return error ? error : key_add_bytes(keys, "", 1);
}

static struct hs_error *add_build_id(struct key_table *keys, const struct profile_module *module)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * sizeof(module->build_id) + 1] = "";

	for (uint32_t i = 0; i < module->build_id_size && i < sizeof(module->build_id); i++) {
		text[2 * i] = digits[module->build_id[i] >> 4];
		text[2 * i + 1] = digits[module->build_id[i] & 15];
	}
	return key_add_text(keys, text);
}

// What an offset is in. The mapping comes first: a profile that was read from a file has no modules.
static struct hs_error *origin_of(struct source *source, const struct profile_location *location, uint32_t *ret,
				  uint64_t *offset_ret)
{
	const struct profile_mapping *mapping = mapping_of(source->profile, location);
	const struct profile_module *module = module_of(source->profile, location);
	struct key_table *keys = &source->merge->origin_keys;
	const bool has_file = mapping && is_file(mapping);
	struct hs_error *error = key_add_number(keys, has_file || module ? UINT64_MAX : source->process);
	bool is_new;

	*offset_ret = location->address;
	if (has_file) {
		*offset_ret += mapping->file_offset - mapping->start;
		if (!error)
			error = add_base_name(keys, mapping->file);
		if (!error)
			error = key_add_text(keys, mapping->build_id);
	} else if (module) {
		*offset_ret -= module->load_bias;
		if (!error)
			error = add_base_name(keys, module->path);
		if (!error)
			error = add_build_id(keys, module);
	}
	return error ? error : key_number(keys, ret, &is_new);
}

// The number of a function in the merge.
static struct hs_error *merge_function(struct source *source, const struct profile_location *location,
				       const struct profile_function *function, uint32_t *ret)
{
	const struct profile_mapping *mapping = mapping_of(source->profile, location);
	const struct profile_module *module = module_of(source->profile, location);
	struct key_table *keys = &source->merge->function_keys;
	struct hs_error *error = key_add_text(keys, function->name);
	bool is_new = false;

	if (!error)
		error = key_add_text(keys, function->file);
	if (!error && !text_or_empty(function->file)[0])
		error = add_base_name(keys, mapping && is_file(mapping) ? mapping->file : module ? module->path : "");
	if (!error)
		error = key_number(keys, ret, &is_new);
	return error || !is_new ? error : add_function(source->merge, function);
}

// The lines of a location become the last ones of the merge, and a key.
static struct hs_error *add_lines(struct source *source, const struct profile_location *location)
{
	struct profile_merge *merge = source->merge;
	struct heap_profile *to = &merge->profile;
	struct hs_error *error =
		key_add_number(&merge->location_keys, location->line_count | (uint64_t)location->is_wrapper << 32);

	for (uint32_t i = 0; i < location->line_count && !error; i++) {
		const struct profile_line *from = &source->profile->lines[location->first_line + i];
		uint32_t function = 0;

		error = merge_function(source, location, &source->profile->functions[from->function], &function);
		if (!error)
			error = ARRAY_RESERVE(to->lines, to->line_count + 1, &merge->line_room);
		if (!error)
			error = key_add_number(&merge->location_keys, function);
		if (!error)
			error = key_add_number(&merge->location_keys, (uint64_t)from->line);
		if (!error)
			to->lines[to->line_count++] = (struct profile_line){ function, from->line };
	}
	return error;
}

static struct hs_error *add_origin(struct source *source, const struct profile_location *location)
{
	struct key_table *keys = &source->merge->location_keys;
	uint64_t offset = 0;
	uint32_t origin = 0;
	struct hs_error *error = origin_of(source, location, &origin, &offset);

	if (!error)
		error = key_add_number(keys, 0); // as many lines
	if (!error)
		error = key_add_number(keys, origin);
	return error ? error : key_add_number(keys, offset);
}

static struct hs_error *merge_location(struct source *source, uint32_t index)
{
	struct profile_merge *merge = source->merge;
	struct heap_profile *to = &merge->profile;
	const struct profile_location *from = &source->profile->locations[index];
	const size_t first_line = to->line_count;
	struct profile_location *location;
	bool is_new = false;
	struct hs_error *error = from->line_count ? add_lines(source, from) : NULL;

	// A guess is the code at its address and no other, also where another one has the same name.
	if (!error && (!from->line_count || from->is_guess))
		error = add_origin(source, from);

	if (!error)
		error = key_number(&merge->location_keys, &source->locations[index], &is_new);
	if (!error)
		error = to->line_count > UINT32_MAX
				? &hs_error_no_memory
				: ARRAY_RESERVE(to->locations, to->location_count + 1, &merge->location_room);
	if (error)
		return error;
	if (!is_new) {
		to->line_count = first_line;
		return NULL;
	}
	location = &to->locations[to->location_count++];
	*location = *from;
	location->first_line = (uint32_t)first_line;
	location->module = from->module < source->profile->module_count ? source->modules[from->module] : UINT32_MAX;
	location->mapping =
		from->mapping < source->profile->mapping_count ? source->mappings[from->mapping] : UINT32_MAX;
	return NULL;
}

// A label's text in the merge; 0 = there is none. Threads of the same name are the same one, whichever profile says it.
static struct hs_error *merge_text(struct source *source, uint32_t label, uint32_t *ret)
{
	struct profile_merge *merge = source->merge;
	struct heap_profile *to = &merge->profile;
	uint32_t number = 0;
	bool is_new = false;
	struct hs_error *error;

	*ret = 0;
	if (label == 0 || label > source->profile->label_text_count)
		return NULL;
	error = key_add_text(&merge->text_keys, source->profile->label_texts[label - 1]);
	if (!error)
		error = key_number(&merge->text_keys, &number, &is_new);
	if (!error && is_new)
		error = ARRAY_RESERVE(to->label_texts, to->label_text_count + 1, &merge->text_room);
	if (!error && is_new)
		error = copy_text(source->profile->label_texts[label - 1], &to->label_texts[to->label_text_count]);
	if (error)
		return error;
	to->label_text_count += is_new;
	*ret = number + 1;
	return NULL;
}

// Those that keep stacks apart.
static struct hs_error *merge_labels(struct source *source, const struct profile_labels *labels,
				     struct profile_labels *ret)
{
	const unsigned kept = source->merge->labels;
	struct hs_error *error;

	*ret = (struct profile_labels){
		.size = kept & MERGE_SIZE ? labels->size : 0,
		.age = kept & MERGE_AGE ? labels->age : 0,
	};
	error = merge_text(source, kept & MERGE_THREAD ? labels->thread : 0, &ret->thread);
	if (!error)
		error = merge_text(source, kept & MERGE_KIND ? labels->kind : 0, &ret->kind);
	if (!error)
		error = merge_text(source, kept & MERGE_ALLOCATOR ? labels->allocator : 0, &ret->allocator);
	return error;
}

static struct hs_error *add_label_key(struct key_table *keys, const struct profile_labels *labels)
{
	const uint32_t words[LABEL_WORDS] = { labels->thread, labels->size, labels->age, labels->kind,
					      labels->allocator };

	return key_add_bytes(keys, words, sizeof(words));
}

static struct hs_error *merge_sample(struct source *source, const struct profile_sample *sample)
{
	struct profile_merge *merge = source->merge;
	const uint32_t *frames = source->profile->frames + sample->first_frame;
	struct profile_labels labels;
	struct hs_error *error = merge_labels(source, &sample->labels, &labels);
	uint32_t stack = 0;
	bool is_new = false;

	for (uint32_t i = 0; i < sample->frame_count && !error; i++)
		error = key_add_bytes(&merge->stack_keys, &source->locations[frames[i]], sizeof(*source->locations));
	if (!error)
		error = add_label_key(&merge->stack_keys, &labels);
	if (!error)
		error = key_number(&merge->stack_keys, &stack, &is_new);
	if (!error)
		error = ARRAY_RESERVE(merge->stacks, (size_t)stack + 1, &merge->stack_room);
	if (error)
		return error;
	if (is_new)
		merge->stacks[stack] = (struct merged_stack){ .labels = labels };
	profile_values_add(&merge->stacks[stack].of_side[source->side], &sample->values);
	return NULL;
}

static struct hs_error *merge_all(struct source *source)
{
	const struct heap_profile *profile = source->profile;
	struct hs_error *error = NULL;

	for (uint32_t i = 0; i < profile->mapping_count && !error; i++)
		error = merge_mapping(source, i);
	for (uint32_t i = 0; i < profile->module_count && !error; i++)
		error = merge_module(source, i);
	for (uint32_t i = 0; i < profile->location_count && !error; i++)
		error = merge_location(source, i);
	for (size_t i = 0; i < profile->sample_count && !error; i++)
		error = merge_sample(source, &profile->samples[i]);
	return error;
}

struct hs_error *profile_merge_add(struct profile_merge *merge, const struct heap_profile *profile, unsigned side,
				   unsigned process)
{
	struct source source = {
		.merge = merge,
		.profile = profile,
		.mappings = calloc(profile->mapping_count + 1, sizeof(uint32_t)),
		.modules = calloc(profile->module_count + 1, sizeof(uint32_t)),
		.locations = calloc(profile->location_count + 1, sizeof(uint32_t)),
		.side = side,
		.process = process,
	};
	struct hs_error *error =
		source.mappings && source.modules && source.locations ? merge_all(&source) : &hs_error_no_memory;

	free(source.mappings);
	free(source.modules);
	free(source.locations);
	return error;
}

const uint32_t *merged_frames(const struct profile_merge *merge, size_t stack, size_t *count_ret)
{
	const struct key_table *keys = &merge->stack_keys;
	const size_t begin = stack > 0 ? keys->ends[stack - 1] : 0;

	*count_ret = (keys->ends[stack] - begin) / sizeof(uint32_t) - LABEL_WORDS;
	return (const uint32_t *)(const void *)(keys->bytes + begin); // all keys are whole numbers of uint32_t
}

void profile_merge_deinit(struct profile_merge *merge)
{
	heap_profile_deinit(&merge->profile);
	free(merge->stacks);
	key_table_deinit(&merge->stack_keys);
	key_table_deinit(&merge->mapping_keys);
	key_table_deinit(&merge->module_keys);
	key_table_deinit(&merge->function_keys);
	key_table_deinit(&merge->origin_keys);
	key_table_deinit(&merge->location_keys);
	key_table_deinit(&merge->text_keys);
	*merge = (struct profile_merge){ 0 };
}
