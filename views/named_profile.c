// SPDX-License-Identifier: Apache-2.0
#include "views/named_profile.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/io.h"
#include "views/short_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct place_key {
	uint64_t function; // index, and above it 1 = of a wrapper; NO_FUNCTION and the module = code without a symbol
	uint64_t line;     // or the address
};
#define NO_FUNCTION UINT32_MAX

struct naming {
	struct named_profile *result;
	const struct frame_rules *rules;
	struct place_key *keys; // of the places
	size_t key_room, place_room, list_room;
	char **short_names; // of the functions; the texts are the result's
	struct hash_table numbers;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct profile_module *module_of(const struct heap_profile *profile,
					      const struct profile_location *location)
{
	return location->module < profile->module_count ? &profile->modules[location->module] : NULL;
}

static const char *text_or_empty(const char *text) { return text ? text : ""; }

// Where the code of a location comes from: "" = unknown.
static const char *module_path(const struct heap_profile *profile, const struct profile_location *location)
{
	const struct profile_module *module = module_of(profile, location);

	if (module)
		return module->path ? module->path : "";
	return location->mapping < profile->mapping_count ? profile->mappings[location->mapping].file : "";
}

// The result owns the text from now on; NULL, where there was no memory for it, is no text.
static void keep_text(struct naming *naming, char *text)
{
	if (text)
		naming->result->texts[naming->result->text_count++] = text;
}

// The address as the file has it.
static uint64_t address_in_file(const struct naming *naming, const struct profile_location *location)
{
	const struct heap_profile *profile = naming->result->profile;
	const struct profile_module *module = module_of(profile, location);
	const struct profile_mapping *mapping =
		location->mapping < profile->mapping_count ? &profile->mappings[location->mapping] : NULL;
	uint64_t address = location->address;

	if (module)
		address -= module->load_bias;
	else if (mapping)
		address = address - mapping->start + mapping->file_offset;
	return address;
}

// "module+0x1234".
static struct hs_error *name_address(struct naming *naming, const struct profile_location *location, char **ret)
{
	struct hs_error *error =
		hs_format(ret, "%s+0x%" PRIx64, base_name(module_path(naming->result->profile, location)),
			  address_in_file(naming, location));

	keep_text(naming, error ? NULL : *ret);
	return error;
}

// Of a guess: "near NAME+0x12 in module", NAME short; and the whole one with the address, which alone says what code it
// is. pre: it is one
static struct hs_error *name_guess(struct naming *naming, const struct profile_location *location, char **ret,
				   char **full_ret)
{
	const struct heap_profile *profile = naming->result->profile;
	const char *text = text_or_empty(profile->functions[profile->lines[location->first_line].function].name);
	const char *module = base_name(module_path(profile, location));
	size_t size = 0;
	const char *base = profile_guess_base(text, &size);
	HS_CLEANUP_FREE char *neighbour = base ? strndup(base, size) : strdup(text);
	HS_CLEANUP_FREE char *shorter = NULL;
	struct hs_error *error = neighbour ? short_name(neighbour, &shorter) : &hs_error_no_memory;

	if (!error)
		error = hs_format(ret, "near %s%s in %s", shorter, base ? base + size : "", module);
	keep_text(naming, error ? NULL : *ret);
	if (!error)
		error = hs_format(full_ret, "%s in %s+0x%" PRIx64, text, module, address_in_file(naming, location));
	else
		*full_ret = NULL;
	keep_text(naming, error ? NULL : *full_ret);
	return error;
}

static bool is_key(const void *elements, uint32_t number, const void *wanted)
{
	const struct place_key *a = (const struct place_key *)elements + number, *b = wanted;

	return a->function == b->function && a->line == b->line;
}

// The number of a place; *new_ret: it is to be filled in.
static struct hs_error *number_of(struct naming *naming, struct place_key key, uint32_t *ret, bool *new_ret)
{
	struct named_profile *named = naming->result;
	struct hs_error *error = hash_table_reserve(&naming->numbers);
	struct hash_slot *slot;
	uint64_t hash;

	if (!error)
		error = ARRAY_RESERVE(naming->keys, named->place_count + 1, &naming->key_room);
	if (!error)
		error = ARRAY_RESERVE(named->places, named->place_count + 1, &naming->place_room);
	if (error)
		return error;
	hash = keyed_hash(&naming->numbers.key, &key, sizeof(key));
	slot = hash_table_find(&naming->numbers, hash, is_key, naming->keys, &key);
	*new_ret = !hash_slot_is_used(slot);
	if (*new_ret) {
		hash_table_put(&naming->numbers, slot, hash, (uint32_t)named->place_count);
		naming->keys[named->place_count] = key;
		named->places[named->place_count] = (struct code_place){ 0 };
		*ret = (uint32_t)named->place_count++;
	} else {
		*ret = hash_slot_number(slot);
	}
	return NULL;
}

static struct hs_error *short_name_of(struct naming *naming, uint32_t function, const char **ret)
{
	const char *name = text_or_empty(naming->result->profile->functions[function].name);

	if (!naming->short_names[function]) {
		struct hs_error *error = short_name(name, &naming->short_names[function]);

		if (error)
			return error;
		keep_text(naming, naming->short_names[function]);
	}
	*ret = naming->short_names[function];
	return NULL;
}

static void judge(const struct naming *naming, const struct profile_location *location, const char *system_name,
		  struct code_place *place)
{
	const struct heap_profile *profile = naming->result->profile;
	const struct profile_module *module = module_of(profile, location);
	bool has_name = place->function != NO_FUNCTION;
	const struct frame_text text = {
		.function = has_name ? place->full_name : "",
		.system_name = system_name,
		.file = place->file,
		.module = module_path(profile, location),
		.is_allocator = location->is_allocator,
		.is_wrapper = location->is_wrapper,
	};

	place->judgement = frame_rules_judge(naming->rules, &text);
	if (place->judgement.class == FRAME_UNKNOWN && module && module->is_main)
		place->judgement = (struct frame_judgement){ .class = FRAME_OWN, .why = "the main program" };
}

static struct hs_error *fill_line(struct naming *naming, const struct profile_location *location,
				  const struct profile_line *line, struct code_place *place)
{
	const struct heap_profile *profile = naming->result->profile;
	const struct profile_function *function = &profile->functions[line->function];
	const char *name;
	struct hs_error *error = short_name_of(naming, line->function, &name);

	if (error)
		return error;
	*place = (struct code_place){
		.name = name,
		.full_name = text_or_empty(function->name),
		.file = text_or_empty(function->file),
		.module = base_name(module_path(profile, location)),
		.line = line->line,
		.function = line->function,
	};
	judge(naming, location, text_or_empty(function->system_name), place);
	return NULL;
}

static struct hs_error *fill_unnamed(struct naming *naming, const struct profile_location *location,
				     struct code_place *place)
{
	char *name = NULL, *full_name = NULL;
	struct hs_error *error = location->is_guess ? name_guess(naming, location, &name, &full_name)
						    : name_address(naming, location, &name);

	if (error)
		return error;
	*place = (struct code_place){
		.name = name,
		.full_name = full_name ? full_name : name,
		.file = "",
		.module = base_name(module_path(naming->result->profile, location)),
		.function = NO_FUNCTION,
	};
	judge(naming, location, "", place);
	return NULL;
}

// `line`: of the location; NULL = it has none, or a guess.
static struct hs_error *add_place(struct naming *naming, const struct profile_location *location,
				  const struct profile_line *line, size_t at)
{
	struct named_profile *named = naming->result;
	const struct place_key key =
		line ? (struct place_key){ line->function | (uint64_t)location->is_wrapper << 32, (uint64_t)line->line }
		     : (struct place_key){ NO_FUNCTION | (uint64_t)location->module << 32, location->address };
	struct hs_error *error = ARRAY_RESERVE(named->location_places, at + 1, &naming->list_room);
	bool is_new = false;

	if (!error)
		error = number_of(naming, key, &named->location_places[at], &is_new);
	if (error || !is_new)
		return error;

	struct code_place *place = &named->places[named->location_places[at]];

	return line ? fill_line(naming, location, line, place) : fill_unnamed(naming, location, place);
}

static struct hs_error *name_locations(struct naming *naming)
{
	const struct heap_profile *profile = naming->result->profile;
	struct hs_error *error = NULL;
	size_t at = 0;

	for (size_t i = 0; i < profile->location_count && !error; i++) {
		const struct profile_location *location = &profile->locations[i];

		naming->result->first_place[i] = (uint32_t)at;
		if (!location->line_count || location->is_guess)
			error = add_place(naming, location, NULL, at++);
		for (uint32_t j = 0; j < location->line_count && !location->is_guess && !error; j++)
			error = add_place(naming, location, &profile->lines[location->first_line + j], at++);
		if (at >= UINT32_MAX && !error)
			error = &hs_error_no_memory;
	}
	naming->result->first_place[profile->location_count] = (uint32_t)at;
	return error;
}

struct hs_error *named_profile_make(const struct heap_profile *profile, const struct frame_rules *rules,
				    struct named_profile *ret)
{
	struct naming naming = { .result = ret, .rules = rules };
	struct hs_error *error = &hs_error_no_memory;

	*ret = (struct named_profile){ .profile = profile, .rules = rules };
	ret->first_place = calloc(profile->location_count + 1, sizeof(*ret->first_place));
	ret->texts = calloc(profile->function_count + 2 * profile->location_count + 1, sizeof(*ret->texts));
	naming.short_names = calloc(profile->function_count + 1, sizeof(*naming.short_names));
	if (ret->first_place && ret->texts && naming.short_names)
		error = name_locations(&naming);
	free(naming.short_names);
	free(naming.keys);
	hash_table_deinit(&naming.numbers);
	if (error)
		named_profile_deinit(ret);
	return error;
}

void named_profile_deinit(struct named_profile *named)
{
	for (size_t i = 0; i < named->text_count; i++)
		free(named->texts[i]);
	free(named->texts);
	free(named->places);
	free(named->first_place);
	free(named->location_places);
	*named = (struct named_profile){ 0 };
}

size_t named_stack(const struct named_profile *named, const struct profile_sample *sample, uint32_t *buffer,
		   size_t room)
{
	const uint32_t *frames = named->profile->frames + sample->first_frame;
	size_t count = 0;

	for (uint32_t i = 0; i < sample->frame_count; i++) {
		uint32_t first = named->first_place[frames[i]], end = named->first_place[frames[i] + 1];

		for (uint32_t j = first; j < end; j++) {
			uint32_t place = named->location_places[j];
			bool is_last = i + 1 == sample->frame_count && j + 1 == end;

			if (count == 0 && !is_last && named->places[place].judgement.class == FRAME_ALLOCATOR)
				continue;
			if (count < room)
				buffer[count] = place;
			count++;
		}
	}
	return count;
}
