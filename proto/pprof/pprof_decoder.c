// SPDX-License-Identifier: Apache-2.0
// The message is not unpacked into a tree, which would take many times its size: it is walked several times instead.
// The first time counts what is in it, so that each array has its size; then come texts and numbers of the profile,
// then what refers to texts alone, then locations, which refer to those, then samples. So its parts may stand in any
// order.
#include "proto/pprof/pprof_decoder.h"

#include "proto/pprof/assumed_errors.h"
#include "proto/pprof/decoding.h"
#include "proto/pprof/profile_modules.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t MEMORY_MAX = UINT64_C(4) << 30;

// A text in the profile is there once, and in the plain result for each function and mapping that has it. Names and
// files of real programs come to less than four times the profile's size.
static const uint64_t TEXTS_FACTOR = 16, TEXTS_MIN = 1 << 16;

// What malloc takes for a text beyond its bytes, at most.
enum { TEXT_OVERHEAD = 32 };

static void decoder_deinit(struct decoder *decoder)
{
	comment_reader_deinit(&decoder->comments);
	free(decoder->strings);
	free(decoder->label_text_of);
	sample_kinds_deinit(&decoder->kinds);
	id_table_deinit(&decoder->mappings);
	id_table_deinit(&decoder->functions);
	id_table_deinit(&decoder->locations);
}

// Of a string that is a label's text, without its bytes: its number, and twice, since arrays grow, the pointer to it.
enum { LABEL_TEXT_BYTES = sizeof(uint32_t) + 2 * sizeof(char *) + TEXT_OVERHEAD };

// Bytes for all that is counted, without what the texts hold.
static uint64_t memory_needed(const struct pprof_counts *counts)
{
	const struct heap_profile *profile = NULL;

	return counts->sample_types * SAMPLE_KIND_BYTES +
	       counts->strings * (sizeof(struct byte_cursor) + LABEL_TEXT_BYTES) +
	       counts->samples * sizeof(*profile->samples) + counts->frames * sizeof(*profile->frames) +
	       counts->lines * sizeof(*profile->lines) +
	       counts->locations * (sizeof(*profile->locations) + ID_TABLE_BYTES) +
	       counts->functions * (sizeof(*profile->functions) + ID_TABLE_BYTES + 3 * TEXT_OVERHEAD) +
	       counts->mappings * (sizeof(*profile->mappings) + sizeof(*profile->modules) +
				   2 * (uint64_t)ID_TABLE_BYTES + 3 * TEXT_OVERHEAD);
}

static struct hs_error *reckon_memory(struct decoder *decoder)
{
	const uint64_t size = byte_cursor_left(&decoder->data), needed = memory_needed(&decoder->counts);

	if (size > UINT32_MAX || needed > MEMORY_MAX)
		return hs_error_create(HS_ERROR_BAD_DATA,
				       "it would take more than %u GiB of memory; take a profile with fewer stacks",
				       (unsigned)(MEMORY_MAX >> 30));
	decoder->texts_left = TEXTS_FACTOR * size + TEXTS_MIN;
	if (decoder->texts_left > MEMORY_MAX - needed)
		decoder->texts_left = MEMORY_MAX - needed;
	return NULL;
}

// calloc that never asks for 0 bytes, so that NULL always means "no memory".
static void *allocate(uint64_t count, size_t size) { return calloc(count ? count : 1, size); }

// pre: reckon_memory, so that each count fits into 32 bits
static struct hs_error *reserve(struct decoder *decoder)
{
	const struct pprof_counts *counts = &decoder->counts;
	struct heap_profile *profile = decoder->profile;
	struct hs_error *error = sample_kinds_init(&decoder->kinds, counts->sample_types);

	if (!error)
		error = id_table_init(&decoder->mappings, (uint32_t)counts->mappings);
	if (!error)
		error = id_table_init(&decoder->functions, (uint32_t)counts->functions);
	if (!error)
		error = id_table_init(&decoder->locations, (uint32_t)counts->locations);
	if (error)
		return error;
	decoder->strings = allocate(counts->strings, sizeof(*decoder->strings));
	decoder->label_text_of = allocate(counts->strings, sizeof(*decoder->label_text_of));
	profile->mappings = allocate(counts->mappings, sizeof(*profile->mappings));
	profile->functions = allocate(counts->functions, sizeof(*profile->functions));
	profile->locations = allocate(counts->locations, sizeof(*profile->locations));
	profile->lines = allocate(counts->lines, sizeof(*profile->lines));
	profile->samples = allocate(counts->samples, sizeof(*profile->samples));
	profile->frames = allocate(counts->frames, sizeof(*profile->frames));
	return decoder->strings && decoder->label_text_of && profile->mappings && profile->functions &&
			       profile->locations && profile->lines && profile->samples && profile->frames
		       ? NULL
		       : &hs_error_no_memory;
}

struct hs_error *decoder_numbers(const struct wire_field *field, uint32_t known, struct message_numbers *ret)
{
	*ret = (struct message_numbers){ .known = known };
	return message_read(field->bytes, message_take_number, ret);
}

struct hs_error *decoder_refuse_reference(const char *what, uint64_t id)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "it is damaged: there is no %s %llu; write or fetch it again", what,
			       (unsigned long long)id);
}

struct hs_error *decoder_refuse_id(const char *what, uint64_t id)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "it is damaged: %s %llu %s; write or fetch it again", what,
			       (unsigned long long)id, id ? "is there twice" : "is no id");
}

struct hs_error *decoder_text(const struct decoder *decoder, uint64_t index, struct byte_cursor *ret)
{
	if (index >= decoder->string_count)
		return decoder_refuse_reference("string", index);
	if (ret)
		*ret = decoder->strings[index];
	return NULL;
}

struct hs_error *decoder_charge(struct decoder *decoder, uint64_t size)
{
	if (size > decoder->texts_left)
		return hs_error_create(HS_ERROR_BAD_DATA,
				       "its names are many times as long as the file; no program has such names");
	decoder->texts_left -= size;
	return NULL;
}

struct hs_error *decoder_copy_text(struct decoder *decoder, uint64_t index, char **ret)
{
	struct byte_cursor text = byte_cursor_make("", 0);
	struct hs_error *error = decoder_text(decoder, index, &text);

	if (!error)
		error = decoder_charge(decoder, byte_cursor_left(&text));
	if (error)
		return error;
	*ret = strndup((const char *)text.position, byte_cursor_left(&text));
	return *ret ? NULL : &hs_error_no_memory;
}

// Concatenated profiles are a valid message, with all ids twice and the numbers of the last one.
static struct hs_error *take_header(const struct wire_field *field, void *into)
{
	struct decoder *decoder = into;

	switch (field->number) {
	case 1:
		return sample_kinds_add(&decoder->kinds, field->bytes);
	case 6:
		decoder->strings[decoder->string_count++] = field->bytes;
		return NULL;
	case 9:
		if (decoder->header.of[9])
			return hs_error_create(HS_ERROR_BAD_DATA,
					       "it is several profiles in one; merge them with: pprof -proto");
		break;
	case 11:
		return message_read(field->bytes, message_take_number, &decoder->period_type);
	default:
		break;
	}
	return message_take_number(field, &decoder->header);
}

static struct hs_error *read_header(struct decoder *decoder)
{
	static const uint32_t texts[] = { 7, 8, 14, 15 }; // drop_frames, keep_frames, default_sample_type, doc_url
	struct hs_error *error;

	decoder->header.known = PPROF_PROFILE_NUMBERS;
	decoder->period_type.known = PPROF_VALUE_TYPE_NUMBERS;
	error = message_read(decoder->data, take_header, decoder);
	if (!error && (decoder->string_count == 0 || byte_cursor_left(&decoder->strings[0]) > 0))
		error = message_error();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !error; i++)
		error = decoder_text(decoder, decoder->header.of[texts[i]], NULL);
	if (!error)
		error = decoder_text(decoder, decoder->period_type.of[1], NULL);
	if (!error)
		error = decoder_text(decoder, decoder->period_type.of[2], NULL);
	if (error)
		return error;
	return sample_kinds_choose(&decoder->kinds, decoder->strings, decoder->string_count);
}

// What its main binary is called.
static struct hs_error *name_program(struct heap_profile *profile)
{
	const char *file = profile->mapping_count > 0 ? profile->mappings[0].file : "";
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

	if (!profile->program)
		profile->program = strdup(*name ? name : "unknown");
	return profile->program ? NULL : &hs_error_no_memory;
}

static uint64_t magnitude(int64_t value) { return value < 0 ? -(uint64_t)value : (uint64_t)value; }

// Sums that no honest heap comes near would stop at their limit, and there depend on the order.
static bool overflows(const struct heap_profile *profile)
{
	uint64_t sums[SAMPLE_KINDS] = { 0 };

	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_values *values = &profile->samples[i].values;
		const uint64_t added[SAMPLE_KINDS] = { magnitude(values->alloc_objects), magnitude(values->alloc_bytes),
						       magnitude(values->live_objects), magnitude(values->live_bytes),
						       magnitude(values->temporary_objects) };

		for (int kind = 0; kind < SAMPLE_KINDS; kind++) {
			if (added[kind] > INT64_MAX - sums[kind])
				return true;
			sums[kind] += added[kind];
		}
	}
	return false;
}

static bool has_negative(const struct profile_values *values)
{
	return values->alloc_objects < 0 || values->alloc_bytes < 0 || values->live_objects < 0 ||
	       values->live_bytes < 0 || values->temporary_objects < 0;
}

// What comments say of the total counts more than the sum of what was rounded.
static struct hs_error *add_up(struct decoder *decoder)
{
	struct heap_profile *profile = decoder->profile;
	const struct profile_values said = profile->total;

	if (overflows(profile))
		return hs_error_create(HS_ERROR_BAD_DATA, "its values add up to more than 2^63; no heap is that large");
	profile->total = (struct profile_values){ 0 };
	for (size_t i = 0; i < profile->sample_count; i++) {
		profile_values_add(&profile->total, &profile->samples[i].values);
		profile->is_difference |= has_negative(&profile->samples[i].values);
	}
	if (said.live_records)
		profile->total.live_records = said.live_records;
	if (decoder->comments.has_errors) {
		profile->total.live_objects_variance = said.live_objects_variance;
		profile->total.live_bytes_variance = said.live_bytes_variance;
	} else if (profile->is_estimate) { // of which assumed_errors_apply adds up what they are in the end
		profile->total.live_objects_variance = profile->total.live_bytes_variance = 0;
	}
	return NULL;
}

static struct hs_error *finish(struct decoder *decoder)
{
	struct heap_profile *profile = decoder->profile;
	struct byte_cursor unit = decoder->strings[decoder->period_type.of[2]];
	struct hs_error *error = name_program(profile);

	profile->time_ns = (int64_t)decoder->header.of[9];
	profile->duration_ns = (int64_t)decoder->header.of[10];
	profile->period = (int64_t)decoder->header.of[12];
	profile->is_foreign = !decoder->is_ours;
	profile->has_temporaries = decoder->kinds.type_of[SAMPLE_TEMPORARY] != UINT64_MAX;
	if (profile->period < 1 || (profile->is_foreign && !wire_text_is(&unit, "bytes")))
		profile->period = 1; // that of a clock, say
	profile->is_estimate |= profile->is_foreign && profile->period > 1;
	if (!error)
		error = add_up(decoder);
	comment_mark_wrappers(&decoder->comments, profile);
	if (!error)
		error = profile_modules_make(profile);
	if (!error && profile->is_estimate && decoder->comments.is_exact)
		assumed_errors_clear(profile);
	else if (!error && profile->is_estimate)
		assumed_errors_apply(profile, decoder->samples_have_errors, decoder->comments.has_errors);
	return error;
}

static struct hs_error *decode(struct decoder *decoder)
{
	struct hs_error *error = pprof_count(decoder->data, &decoder->counts);

	if (!error)
		error = reckon_memory(decoder);
	if (!error)
		error = reserve(decoder);
	if (!error)
		error = read_header(decoder);
	if (!error)
		error = message_read(decoder->data, decoder_take_named, decoder);
	if (!error)
		error = message_read(decoder->data, decoder_take_location, decoder);
	if (!error)
		error = message_read(decoder->data, decoder_take_sample, decoder);
	return error ? error : finish(decoder);
}

struct hs_error *pprof_decode(const uint8_t *data, size_t size, struct heap_profile *ret)
{
	struct decoder decoder = { .data = byte_cursor_make(data, size), .profile = ret };
	struct hs_error *error;

	*ret = (struct heap_profile){ 0 };
	error = decode(&decoder);
	decoder_deinit(&decoder);
	if (error)
		heap_profile_deinit(ret);
	return error;
}
