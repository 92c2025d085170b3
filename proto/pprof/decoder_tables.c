// SPDX-License-Identifier: Apache-2.0
// What samples are made of.
#include "proto/pprof/decoding.h"

#include <stdlib.h>

// What a line of the ledger takes beyond its texts, at most: two of them, and its place in an array that has doubled.
// A file names a comment with a single byte.
enum { LEDGER_LINE_BYTES = 2 * 32 + 3 * sizeof(struct ledger_line), PRINTABLE_FACTOR = 4 };

static struct hs_error *add_mapping(struct decoder *decoder, const struct wire_field *field)
{
	struct heap_profile *profile = decoder->profile;
	struct profile_mapping *mapping = &profile->mappings[profile->mapping_count];
	struct message_numbers numbers;
	struct hs_error *error = decoder_numbers(field, PPROF_MAPPING_NUMBERS, &numbers);
	const uint64_t *of = numbers.of;
	bool is_added;

	if (!error)
		error = id_table_add(&decoder->mappings, of[1], &is_added);
	if (error)
		return error;
	if (!is_added)
		return decoder_refuse_id("mapping", of[1]);
	*mapping = (struct profile_mapping){ .start = of[2],
					     .limit = of[3],
					     .file_offset = of[4],
					     .has_functions = of[7],
					     .has_filenames = of[8],
					     .has_line_numbers = of[9],
					     .has_inline_frames = of[10] };
	profile->mapping_count++;
	error = decoder_copy_text(decoder, of[5], &mapping->file);
	return error ? error : decoder_copy_text(decoder, of[6], &mapping->build_id);
}

// Of the two names each stands for the other where that is not there.
static struct hs_error *add_function(struct decoder *decoder, const struct wire_field *field)
{
	struct heap_profile *profile = decoder->profile;
	struct profile_function *function = &profile->functions[profile->function_count];
	struct message_numbers numbers;
	struct hs_error *error = decoder_numbers(field, PPROF_FUNCTION_NUMBERS, &numbers);
	const uint64_t *of = numbers.of;
	bool is_added;

	if (!error)
		error = id_table_add(&decoder->functions, of[1], &is_added);
	if (error)
		return error;
	if (!is_added)
		return decoder_refuse_id("function", of[1]);
	function->start_line = (int64_t)of[5];
	profile->function_count++;
	error = decoder_copy_text(decoder, of[2] ? of[2] : of[3], &function->name);
	if (!error)
		error = decoder_copy_text(decoder, of[3] ? of[3] : of[2], &function->system_name);
	return error ? error : decoder_copy_text(decoder, of[4], &function->file);
}

static struct hs_error *add_comment(struct decoder *decoder, uint64_t index)
{
	struct byte_cursor raw;
	struct hs_error *error = decoder_text(decoder, index, &raw);
	char *text = NULL;

	if (error)
		return error;
	decoder->is_ours |= comment_is_ours((const char *)raw.position, byte_cursor_left(&raw));
	if (!decoder->is_ours)
		return NULL;
	error = decoder_charge(decoder, PRINTABLE_FACTOR * byte_cursor_left(&raw) +
						LEDGER_LINE_BYTES * comment_lines_max((const char *)raw.position,
										      byte_cursor_left(&raw)));
	if (!error)
		error = decoder_copy_text(decoder, index, &text);
	if (!error)
		error = comment_read(&decoder->comments, text, decoder->profile);
	free(text);
	return error;
}

static struct hs_error *add_comments(struct decoder *decoder, const struct wire_field *field)
{
	struct byte_cursor numbers = field->bytes;
	struct hs_error *error = NULL;
	uint64_t index;

	while (byte_cursor_left(&numbers) > 0 && !error)
		error = wire_varint(&numbers, &index) ? add_comment(decoder, index) : message_error();
	return error;
}

struct hs_error *decoder_take_named(const struct wire_field *field, void *into)
{
	switch (field->number) {
	case 3:
		return add_mapping(into, field);
	case 5:
		return add_function(into, field);
	case 13:
		return add_comments(into, field);
	default:
		return NULL;
	}
}

static struct hs_error *take_line(const struct wire_field *field, void *into)
{
	struct decoder *decoder = into;
	struct heap_profile *profile = decoder->profile;
	struct message_numbers numbers;
	struct hs_error *error;
	uint32_t function;

	if (field->number != 4)
		return NULL;
	error = decoder_numbers(field, PPROF_LINE_NUMBERS, &numbers);
	if (error)
		return error;
	if (!id_table_find(&decoder->functions, numbers.of[1], &function))
		return decoder_refuse_reference("function", numbers.of[1]);
	profile->lines[profile->line_count++] = (struct profile_line){ function, (int64_t)numbers.of[2] };
	return NULL;
}

// As the encoder writes a guess: what stands for the function's name is also in the place of its linkage name.
static bool is_guess(const struct heap_profile *profile, const struct profile_location *location)
{
	const struct profile_line *line = &profile->lines[location->first_line];
	const struct profile_function *function;
	size_t size;

	if (location->line_count != 1 || line->line != 0)
		return false;
	function = &profile->functions[line->function];
	return !*function->file && profile_guess_base(function->name, &size) &&
	       profile_guess_base(function->system_name, &size);
}

struct hs_error *decoder_take_location(const struct wire_field *field, void *into)
{
	struct decoder *decoder = into;
	struct heap_profile *profile = decoder->profile;
	struct profile_location *location = &profile->locations[profile->location_count];
	struct message_numbers numbers;
	struct hs_error *error;
	bool is_added;

	if (field->number != 4)
		return NULL;
	location->first_line = (uint32_t)profile->line_count;
	error = decoder_numbers(field, PPROF_LOCATION_NUMBERS, &numbers);
	if (!error)
		error = message_read(field->bytes, take_line, decoder);
	if (!error)
		error = id_table_add(&decoder->locations, numbers.of[1], &is_added);
	if (error)
		return error;
	if (!is_added)
		return decoder_refuse_id("location", numbers.of[1]);
	location->line_count = (uint32_t)profile->line_count - location->first_line;
	location->is_guess = is_guess(profile, location);
	location->address = numbers.of[3];
	location->module = UINT32_MAX;
	// pprof takes a mapping that is not there for none, too
	if (!id_table_find(&decoder->mappings, numbers.of[2], &location->mapping))
		location->mapping = UINT32_MAX;
	profile->location_count++;
	return NULL;
}
