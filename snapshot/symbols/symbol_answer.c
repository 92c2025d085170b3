// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/symbol_answer.h"

#include "base/array.h"
#include "base/byte_cursor.h"
#include "snapshot/symbols/symbol_messages.h"

#include <stdlib.h>
#include <string.h>

// Far above what the functions on the stacks of one module have.
static const uint64_t TEXT_BYTES_MAX = UINT64_C(256) << 20;

struct hs_error *symbol_answer_init(size_t address_count, struct symbol_answer *ret)
{
	*ret = (struct symbol_answer){ .location_count = address_count };
	ret->locations = calloc(address_count + 1, sizeof(*ret->locations));
	return ret->locations ? NULL : &hs_error_no_memory;
}

void symbol_answer_deinit(struct symbol_answer *answer)
{
	function_table_deinit(&answer->functions);
	free(answer->locations);
	free(answer->numbers);
	free(answer->lines);
	*answer = (struct symbol_answer){ 0 };
}

static struct hs_error *bad(const char *what)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "sent an invalid answer: %s", what);
}

// A text of `size` bytes, as a string in `buffer`. False when it is too long, cut off or holds a 0 byte.
static bool take_text(struct byte_cursor *cursor, uint32_t size, char buffer[SYMBOL_TEXT_MAX + 1])
{
	if (size > SYMBOL_TEXT_MAX || !byte_cursor_bytes(cursor, buffer, size) || memchr(buffer, 0, size))
		return false;
	buffer[size] = 0;
	return true;
}

static struct hs_error *take_function(struct symbol_answer *answer, struct byte_cursor *cursor)
{
	char name[SYMBOL_TEXT_MAX + 1], system_name[SYMBOL_TEXT_MAX + 1], file[SYMBOL_TEXT_MAX + 1];
	uint32_t name_size, system_size, file_size;
	uint64_t start_line;
	struct hs_error *error;

	if (!byte_cursor_u32(cursor, &name_size) || !byte_cursor_u32(cursor, &system_size) ||
	    !byte_cursor_u32(cursor, &file_size) || !byte_cursor_u64(cursor, &start_line) ||
	    !take_text(cursor, name_size, name) || !take_text(cursor, system_size, system_name) ||
	    !take_text(cursor, file_size, file))
		return bad("a function that is cut off");
	if (system_size == 0 || start_line > INT64_MAX)
		return bad("a function without a name, or before the first line");
	answer->text_bytes += (uint64_t)name_size + system_size + file_size;
	// Each line of a location names one function, so more functions than lines are for nothing.
	if (answer->text_bytes > TEXT_BYTES_MAX || answer->number_count >= answer->location_count * SYMBOL_LINES_MAX)
		return bad("too many functions");
	if (ARRAY_RESERVE(answer->numbers, answer->number_count + 1, &answer->number_room))
		return &hs_error_no_memory;
	error = function_table_add(
		&answer->functions,
		&(struct function_text){ name_size ? name : system_name, system_name, file, (int64_t)start_line },
		&answer->numbers[answer->number_count]);
	if (!error)
		answer->number_count++;
	return error;
}

// What says that it is a guess has to look like one.
static bool is_guess_rightly(const struct symbol_answer *answer, const struct answer_location *location)
{
	const struct profile_function *function;
	const struct profile_line *line;
	size_t size;

	if (location->line_count != 1 || location->has_inlined) // without a line there may be no lines at all
		return false;
	line = &answer->lines[location->first_line];
	if (line->line != 0)
		return false;
	function = &answer->functions.items[line->function];
	return !*function->file && profile_guess_base(function->name, &size) &&
	       profile_guess_base(function->system_name, &size);
}

static struct hs_error *take_location(struct symbol_answer *answer, struct byte_cursor *cursor)
{
	uint32_t index, flags, count;
	struct answer_location *location;

	if (!byte_cursor_u32(cursor, &index) || !byte_cursor_u32(cursor, &flags) || !byte_cursor_u32(cursor, &count))
		return bad("a location that is cut off");
	if (index >= answer->location_count || answer->locations[index].is_answered || count > SYMBOL_LINES_MAX)
		return bad("a location that was not asked for");
	location = &answer->locations[index];
	*location = (struct answer_location){
		.first_line = (uint32_t)answer->line_count,
		.line_count = count,
		.is_answered = true,
		.has_inlined = flags & SYMBOL_HAS_INLINED,
		.is_guess = flags & SYMBOL_IS_GUESS,
		.is_wrapper = flags & SYMBOL_IS_WRAPPER && !(flags & SYMBOL_IS_GUESS) && count > 0,
	};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t function;
		uint64_t line;

		if (!byte_cursor_u32(cursor, &function) || !byte_cursor_u64(cursor, &line) ||
		    function >= answer->number_count || line > INT64_MAX)
			return bad("a line of no function");
		if (answer->line_count == UINT32_MAX ||
		    ARRAY_RESERVE(answer->lines, answer->line_count + 1, &answer->line_room))
			return &hs_error_no_memory;
		answer->lines[answer->line_count++] = (struct profile_line){ answer->numbers[function], (int64_t)line };
	}
	if (location->is_guess && !is_guess_rightly(answer, location))
		return bad("a guess that is none");
	return NULL;
}

struct hs_error *symbol_answer_take(struct symbol_answer *answer, const void *items, size_t size)
{
	struct byte_cursor cursor = byte_cursor_make(items, size);

	while (byte_cursor_left(&cursor) > 0) {
		struct hs_error *error;
		uint32_t kind;

		if (!byte_cursor_u32(&cursor, &kind))
			return bad("an item that is cut off");
		if (kind == SYMBOL_ITEM_FUNCTION)
			error = take_function(answer, &cursor);
		else if (kind == SYMBOL_ITEM_LOCATION)
			error = take_location(answer, &cursor);
		else
			error = bad("an item of no kind");
		if (error)
			return error;
	}
	return NULL;
}

// The number of a function of `from` in `to`. map[i] is it and one, 0 = not taken yet.
static struct hs_error *copy_function(struct symbol_answer *to, const struct symbol_answer *from, uint32_t index,
				      uint32_t *map, uint32_t *ret)
{
	const struct profile_function *item = &from->functions.items[index];

	if (!map[index]) {
		struct hs_error *error = function_table_add(
			&to->functions,
			&(struct function_text){ item->name, item->system_name, item->file, item->start_line }, ret);

		if (error)
			return error;
		map[index] = *ret + 1;
	}
	*ret = map[index] - 1;
	return NULL;
}

struct hs_error *symbol_answer_copy(struct symbol_answer *to, size_t to_index, const struct symbol_answer *from,
				    size_t from_index, uint32_t *map)
{
	const struct answer_location *location = &from->locations[from_index];
	struct hs_error *error = ARRAY_RESERVE(to->lines, to->line_count + location->line_count + 1, &to->line_room);

	if (error || to->line_count + location->line_count > UINT32_MAX)
		return &hs_error_no_memory;
	to->locations[to_index] = *location;
	to->locations[to_index].first_line = (uint32_t)to->line_count;
	for (uint32_t i = 0; i < location->line_count && !error; i++) {
		const struct profile_line *line = &from->lines[location->first_line + i];
		uint32_t function = 0;

		error = copy_function(to, from, line->function, map, &function);
		to->lines[to->line_count++] = (struct profile_line){ function, line->line };
	}
	return error;
}
