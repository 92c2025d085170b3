// SPDX-License-Identifier: Apache-2.0
// Stacks, their values, and what labels say of these.
#include "proto/pprof/decoding.h"
#include "proto/pprof/pprof_names.h"

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

// Those of ours; others are only looked at.
static struct hs_error *take_label(struct sample_reader *reader, const struct wire_field *field)
{
	struct decoder *decoder = reader->decoder;
	struct profile_values *values = &reader->sample->values;
	struct message_numbers numbers;
	struct byte_cursor key;
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
