// SPDX-License-Identifier: Apache-2.0
// Stacks, their values, and what labels say of these.
#include "proto/pprof/decoding.h"
#include "proto/pprof/pprof_names.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/printable.h"
#include "snapshot/size_age.h"

#include <string.h>

// A sample that is being read.
struct sample_reader {
	struct decoder *decoder;
	struct profile_sample *sample;
	uint64_t value_count;
	bool has_objects_error, has_bytes_error;
};

static struct hs_error *take_frames(struct sample_reader *reader, struct byte_cursor numbers)
{
	struct heap_profile *profile = reader->decoder->profile;
	uint64_t id;

	while (byte_cursor_left(&numbers) > 0) {
		if (!wire_varint(&numbers, &id))
			return message_error();
		if (!id_table_find(&reader->decoder->locations, id, &profile->frames[profile->frame_count]))
			return decoder_refuse_reference("location", id);
		profile->frame_count++;
		reader->sample->frame_count++;
	}
	return NULL;
}

static struct hs_error *take_values(struct sample_reader *reader, struct byte_cursor numbers)
{
	uint64_t value;

	while (byte_cursor_left(&numbers) > 0) {
		if (!wire_varint(&numbers, &value))
			return message_error();
		sample_kinds_put(&reader->decoder->kinds, reader->value_count++, (int64_t)value,
				 &reader->sample->values);
	}
	return NULL;
}

// A label's text; a string becomes one of these once. What is printable may be four times as long.
static struct hs_error *take_text(struct decoder *decoder, uint64_t string, uint32_t *ret)
{
	struct heap_profile *profile = decoder->profile;
	HS_CLEANUP_FREE char *text = NULL;
	struct byte_cursor bytes;
	char *printable;
	struct hs_error *error = decoder_text(decoder, string, &bytes);

	*ret = 0;
	if (error || byte_cursor_left(&bytes) == 0)
		return error;
	*ret = decoder->label_text_of[string];
	if (*ret)
		return NULL;
	error = decoder_charge(decoder, 3 * byte_cursor_left(&bytes));
	if (!error)
		error = decoder_copy_text(decoder, string, &text);
	if (!error)
		error = ARRAY_RESERVE(profile->label_texts, profile->label_text_count + 1, &decoder->label_text_room);
	if (error)
		return error;
	printable = hs_printable(text);
	if (!printable)
		return &hs_error_no_memory;
	profile->label_texts[profile->label_text_count++] = printable;
	*ret = decoder->label_text_of[string] = (uint32_t)profile->label_text_count;
	return NULL;
}

// What is said of the blocks of a sample. *known_ret: it was that.
static struct hs_error *take_block_label(struct sample_reader *reader, struct byte_cursor key, uint64_t string,
					 uint64_t number, bool *known_ret)
{
	struct profile_labels *labels = &reader->sample->labels;
	const uint64_t seconds_max = INT64_MAX / 1000000000;

	*known_ret = true;
	if (wire_text_is(&key, "thread"))
		return take_text(reader->decoder, string, &labels->thread);
	if (wire_text_is(&key, "kind"))
		return take_text(reader->decoder, string, &labels->kind);
	if (wire_text_is(&key, "allocator"))
		return take_text(reader->decoder, string, &labels->allocator);
	if (wire_text_is(&key, "size"))
		labels->size = (uint8_t)size_class_index(number);
	else if (wire_text_is(&key, "age"))
		labels->age =
			(uint8_t)age_class_index((int64_t)(number < seconds_max ? number : seconds_max) * 1000000000);
	else if (wire_text_is(&key, "dump"))
		labels->epoch = number <= UINT32_MAX ? (uint32_t)number : 0;
	else
		*known_ret = false;
	return NULL;
}

// Those of ours; others are only looked at.
static struct hs_error *take_label(struct sample_reader *reader, const struct wire_field *field)
{
	struct decoder *decoder = reader->decoder;
	struct profile_values *values = &reader->sample->values;
	struct message_numbers numbers;
	struct byte_cursor key;
	bool is_known = false;
	struct hs_error *error = decoder_numbers(field, PPROF_LABEL_NUMBERS, &numbers);
	uint64_t number;

	if (!error)
		error = decoder_text(decoder, numbers.of[1], &key);
	if (!error)
		error = decoder_text(decoder, numbers.of[2], NULL);
	if (!error)
		error = decoder_text(decoder, numbers.of[4], NULL);
	if (error || !decoder->is_ours)
		return error;
	number = numbers.of[3] <= INT64_MAX ? numbers.of[3] : 0;
	error = take_block_label(reader, key, numbers.of[2], number, &is_known);
	if (error || is_known)
		return error;
	if (wire_text_is(&key, "n_samples")) {
		reader->sample->samples_per_block = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
	} else if (wire_text_is(&key, "samples")) {
		values->live_records = number;
	} else if (wire_text_is(&key, "inuse_objects_error")) {
		values->live_objects_variance = pprof_variance((double)number);
		reader->has_objects_error = true;
	} else if (wire_text_is(&key, "inuse_space_error")) {
		values->live_bytes_variance = pprof_variance((double)number);
		reader->has_bytes_error = true;
	}
	return NULL;
}

static struct hs_error *take_sample_part(const struct wire_field *field, void *into)
{
	switch (field->number) {
	case 1:
		return take_frames(into, field->bytes);
	case 2:
		return take_values(into, field->bytes);
	case 3:
		return take_label(into, field);
	default:
		return NULL;
	}
}

// Whether it is the location that stands for no stack at all.
static bool is_no_stack(const struct heap_profile *profile, const struct profile_location *location)
{
	return location->address == 0 && location->line_count == 1 &&
	       strcmp(profile->functions[profile->lines[location->first_line].function].name, PPROF_NO_STACK) == 0;
}

struct hs_error *decoder_take_sample(const struct wire_field *field, void *into)
{
	struct decoder *decoder = into;
	struct heap_profile *profile = decoder->profile;
	struct profile_sample *sample = &profile->samples[profile->sample_count];
	struct sample_reader reader = { .decoder = decoder, .sample = sample };
	struct hs_error *error;

	if (field->number != 2)
		return NULL;
	sample->first_frame = (uint32_t)profile->frame_count;
	error = message_read(field->bytes, take_sample_part, &reader);
	if (error)
		return error;
	if (reader.value_count != decoder->kinds.count)
		return hs_error_create(HS_ERROR_BAD_DATA,
				       "it is damaged: a sample has %llu values, of %zu sample types; write or fetch "
				       "it again",
				       (unsigned long long)reader.value_count, decoder->kinds.count);
	if (sample->frame_count == 1 &&
	    is_no_stack(profile, &profile->locations[profile->frames[sample->first_frame]])) {
		sample->frame_count = 0;
		profile->frame_count--;
	}
	decoder->samples_have_errors |= reader.has_objects_error && reader.has_bytes_error;
	profile->sample_count++;
	return NULL;
}
