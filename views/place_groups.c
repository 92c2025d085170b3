// SPDX-License-Identifier: Apache-2.0
#include "views/place_groups.h"

#include "base/array.h"
#include "views/key_table.h"

#include <stdlib.h>
#include <string.h>

// What debug information calls a lambda that has no symbol: all of a file may have no other name.
static bool is_lambda(const struct code_place *place) { return strcmp(place->full_name, "operator()") == 0; }

// Where the function begins; 0 = unknown. Of a lambda of which that is not known (-g1), the line itself.
// pre: the place is of the profile's functions or has none
static int64_t function_line(const struct named_profile *named, const struct code_place *place)
{
	int64_t line = place->function < named->profile->function_count
			       ? named->profile->functions[place->function].start_line
			       : 0;

	return line || !is_lambda(place) ? line : place->line;
}

static struct hs_error *add_place(struct key_table *keys, const struct named_profile *named,
				  const struct code_place *place, enum place_unit unit)
{
	struct hs_error *error = NULL;

	if (unit == UNIT_FUNCTION || unit == UNIT_LINE)
		error = key_add_text(keys, place->full_name);
	if (!error && unit == UNIT_FUNCTION && is_lambda(place))
		error = key_add_number(keys, (uint64_t)function_line(named, place));
	if (!error && unit != UNIT_MODULE)
		error = key_add_text(keys, place->file);
	if (!error)
		error = key_add_text(keys, unit != UNIT_MODULE && place->file[0] ? "" : place->module);
	if (!error && unit == UNIT_LINE)
		error = key_add_number(keys, (uint64_t)place->line);
	return error;
}

struct hs_error *place_groups_make(const struct named_profile *named, enum place_unit unit, struct place_groups *ret)
{
	struct key_table keys = { 0 };
	struct hs_error *error = NULL;

	*ret = (struct place_groups){
		.named = named,
		.unit = unit,
		.of_place = calloc(named->place_count + 1, sizeof(*ret->of_place)),
		.example = calloc(named->place_count + 1, sizeof(*ret->example)),
	};
	if (!ret->of_place || !ret->example)
		error = &hs_error_no_memory;
	for (size_t i = 0; i < named->place_count && !error; i++) {
		bool is_new = false;

		error = add_place(&keys, named, &named->places[i], unit);
		if (!error)
			error = key_number(&keys, &ret->of_place[i], &is_new);
		if (!error && is_new)
			ret->example[ret->of_place[i]] = (uint32_t)i;
	}
	if (!error) {
		ret->example[keys.count] = PLACE_NONE;
		ret->count = keys.count + 1;
	}
	key_table_deinit(&keys);
	if (error)
		place_groups_deinit(ret);
	return error;
}

void place_groups_deinit(struct place_groups *groups)
{
	free(groups->of_place);
	free(groups->example);
	*groups = (struct place_groups){ 0 };
}

struct group_text group_text(const struct place_groups *groups, uint32_t group)
{
	const uint32_t example = groups->example[group];
	struct group_text text = { .full_name = "", .file = "", .module = "" };
	const struct code_place *place;

	if (example == PLACE_NONE) {
		text.name = "[stack unknown]";
		return text;
	}
	place = place_of(groups->named, example);
	switch (groups->unit) {
	case UNIT_FUNCTION:
	case UNIT_LINE:
		return (struct group_text){
			.name = place->name,
			.full_name = place->full_name,
			.file = place->file,
			.module = place->module,
			.line = groups->unit == UNIT_LINE ? place->line : function_line(groups->named, place),
			.class = place->judgement.class,
		};
	case UNIT_FILE:
		text.file = place->file;
		break;
	case UNIT_MODULE:
		break;
	}
	if (!text.file[0])
		text.module = place->module;
	text.name = text.file[0] ? text.file : text.module[0] ? text.module : "[unknown]";
	return text;
}

static bool is_hidden(const struct code_place *place, unsigned hidden)
{
	return hidden & frame_class_bit(place->judgement.class) ||
	       (hidden & FRAME_START_BIT && place->judgement.role == ROLE_START);
}

// Of a stack with nobody's own code the runtime is all that there is to see.
static unsigned hidden_of(const struct named_profile *named, const struct stack_buffer *stack, unsigned hidden)
{
	for (size_t i = 0; i < stack->count; i++)
		if (place_of(named, stack->items[i])->judgement.class == FRAME_OWN)
			return hidden;
	return hidden & ~frame_class_bit(FRAME_RUNTIME);
}

// A file or module that calls itself says nothing, as a recursion does.
static bool is_whole(enum place_unit unit) { return unit == UNIT_FILE || unit == UNIT_MODULE; }

struct hs_error *stack_groups(const struct place_groups *groups, const struct profile_sample *sample, unsigned hidden,
			      struct stack_buffer *buffer)
{
	const struct named_profile *named = groups->named;
	struct hs_error *error = buffer->room ? NULL : ARRAY_RESERVE(buffer->items, 1, &buffer->room);
	uint32_t innermost;
	size_t kept = 0;

	if (!error)
		error = stack_places(named, sample, buffer);
	if (error)
		return error;
	hidden = hidden_of(named, buffer, hidden);
	innermost = buffer->count ? groups->of_place[buffer->items[0]] : (uint32_t)groups->count - 1;
	for (size_t i = 0; i < buffer->count; i++) {
		const uint32_t place = buffer->items[i];

		if (is_hidden(place_of(named, place), hidden))
			continue;
		if (!is_whole(groups->unit) || kept == 0 || buffer->items[kept - 1] != groups->of_place[place])
			buffer->items[kept++] = groups->of_place[place];
	}
	if (kept == 0)
		buffer->items[kept++] = innermost;
	buffer->count = kept;
	return NULL;
}
