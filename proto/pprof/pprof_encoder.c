// SPDX-License-Identifier: Apache-2.0
// The only file that knows protobuf-c.
//
// protobuf-c packs a tree of structs and pointers. All structs of one kind stand in one array here, and beside it
// stands one of pointers to them; both are counted before they are filled. Only locations and functions that a
// written stack uses are written, and their ids are 1, 2, 3, ... in the order of use, which is what pprof decodes
// fastest.
#include "proto/pprof/pprof_encoder.h"

#include "base/string_table.h"
#include "profile.pb-c.h"
#include "proto/pprof/pprof_comments.h"
#include "proto/pprof/pprof_names.h"
#include "proto/pprof/pprof_stacks.h"
#include "snapshot/size_age.h"

#include <stdlib.h>

typedef Perftools__Profiles__Function pb_function;
typedef Perftools__Profiles__Label pb_label;
typedef Perftools__Profiles__Line pb_line;
typedef Perftools__Profiles__Location pb_location;
typedef Perftools__Profiles__Mapping pb_mapping;
typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__Sample pb_sample;
typedef Perftools__Profiles__ValueType pb_value_type;

// The last one where it is known.
enum { PPROF_VALUES = 5 };
static const struct {
	const char *type, *unit;
} sample_types[PPROF_VALUES] = {
	{ "alloc_objects", "count" }, { "alloc_space", "bytes" },       { "inuse_objects", "count" },
	{ "inuse_space", "bytes" },   { "temporary_objects", "count" },
};
static const char default_sample_type[] = "inuse_space";

// Labels. Each number has a unit: a reader drops one that is 0 and has none.
enum { LABELS_MAX = 10 };

struct encoder {
	const struct heap_profile *source;
	const struct pprof_options *options;
	pb_profile profile;
	struct string_table strings;
	struct pprof_stack *stacks;
	size_t stack_count;

	uint64_t *location_ids;       // of source->locations[i]; 0 = not used
	uint64_t *function_ids;       // of source->functions[i]; 0 = not used
	uint64_t *stack_location_ids; // of all stacks, one after the other
	uint64_t no_stack_id;         // of the location for stacks without frames; 0 = not used

	pb_value_type sample_types[PPROF_VALUES], period_type;
	pb_value_type *sample_type_pointers[PPROF_VALUES];
	int64_t *values; // PPROF_VALUES of each sample
	pb_sample *samples;
	pb_sample **sample_pointers;
	pb_label *labels;
	pb_label **label_pointers;
	size_t label_count;
	pb_mapping *mappings;
	pb_mapping **mapping_pointers;
	pb_location *locations;
	pb_location **location_pointers;
	pb_line *lines;
	pb_line **line_pointers;
	size_t line_count;
	pb_function *functions;
	pb_function **function_pointers;
	char **string_pointers;
	int64_t *comments;
};

static void encoder_deinit(struct encoder *encoder)
{
	string_table_deinit(&encoder->strings);
	free(encoder->stacks);
	free(encoder->location_ids);
	free(encoder->function_ids);
	free(encoder->stack_location_ids);
	free(encoder->values);
	free(encoder->samples);
	free(encoder->sample_pointers);
	free(encoder->labels);
	free(encoder->label_pointers);
	free(encoder->mappings);
	free(encoder->mapping_pointers);
	free(encoder->locations);
	free(encoder->location_pointers);
	free(encoder->lines);
	free(encoder->line_pointers);
	free(encoder->functions);
	free(encoder->function_pointers);
	free(encoder->string_pointers);
	free(encoder->comments);
}

// calloc that never asks for 0 bytes, so that NULL always means "no memory".
static void *allocate(size_t count, size_t size) { return calloc(count ? count : 1, size); }

// As many of each kind as there can be at most: one location and one function more, for the stack without frames.
static struct hs_error *encoder_init(struct encoder *encoder, const struct heap_profile *source,
				     const struct pprof_options *options)
{
	size_t frame_count = 0;
	struct hs_error *error;

	*encoder = (struct encoder){ .source = source, .options = options };
	perftools__profiles__profile__init(&encoder->profile);
	error = string_table_init(&encoder->strings);
	if (!error)
		error = pprof_stacks_build(source, &encoder->stacks, &encoder->stack_count);
	if (error)
		return error;
	for (size_t i = 0; i < encoder->stack_count; i++)
		frame_count += encoder->stacks[i].frame_count ? encoder->stacks[i].frame_count : 1;

	encoder->location_ids = allocate(source->location_count, sizeof(*encoder->location_ids));
	encoder->function_ids = allocate(source->function_count, sizeof(*encoder->function_ids));
	encoder->stack_location_ids = allocate(frame_count, sizeof(*encoder->stack_location_ids));
	encoder->values = allocate(encoder->stack_count, PPROF_VALUES * sizeof(*encoder->values));
	encoder->samples = allocate(encoder->stack_count, sizeof(*encoder->samples));
	encoder->sample_pointers = allocate(encoder->stack_count, sizeof(*encoder->sample_pointers));
	encoder->labels = allocate(encoder->stack_count, LABELS_MAX * sizeof(*encoder->labels));
	encoder->label_pointers = allocate(encoder->stack_count, LABELS_MAX * sizeof(*encoder->label_pointers));
	encoder->mappings = allocate(source->mapping_count, sizeof(*encoder->mappings));
	encoder->mapping_pointers = allocate(source->mapping_count, sizeof(*encoder->mapping_pointers));
	encoder->locations = allocate(source->location_count + 1, sizeof(*encoder->locations));
	encoder->location_pointers = allocate(source->location_count + 1, sizeof(*encoder->location_pointers));
	encoder->functions = allocate(source->function_count + 1, sizeof(*encoder->functions));
	encoder->function_pointers = allocate(source->function_count + 1, sizeof(*encoder->function_pointers));
	encoder->comments = allocate(PPROF_COMMENTS_MAX, sizeof(*encoder->comments));
	if (!encoder->location_ids || !encoder->function_ids || !encoder->stack_location_ids || !encoder->values ||
	    !encoder->samples || !encoder->sample_pointers || !encoder->labels || !encoder->label_pointers ||
	    !encoder->mappings || !encoder->mapping_pointers || !encoder->locations || !encoder->location_pointers ||
	    !encoder->functions || !encoder->function_pointers || !encoder->comments)
		return &hs_error_no_memory;
	return NULL;
}

static struct hs_error *add_value_type(struct encoder *encoder, pb_value_type *ret, const char *type, const char *unit)
{
	perftools__profiles__value_type__init(ret);

	struct hs_error *error = string_table_add(&encoder->strings, type, &ret->type);

	return error ? error : string_table_add(&encoder->strings, unit, &ret->unit);
}

static size_t value_count(const struct encoder *encoder)
{
	return encoder->source->has_temporaries ? PPROF_VALUES : PPROF_VALUES - 1;
}

static struct hs_error *add_header(struct encoder *encoder)
{
	pb_profile *profile = &encoder->profile;
	struct hs_error *error;

	for (size_t i = 0; i < value_count(encoder); i++) {
		error = add_value_type(encoder, &encoder->sample_types[i], sample_types[i].type, sample_types[i].unit);
		if (error)
			return error;
		encoder->sample_type_pointers[i] = &encoder->sample_types[i];
	}
	error = add_value_type(encoder, &encoder->period_type, "space", "bytes");
	if (!error)
		error = string_table_add(&encoder->strings, default_sample_type, &profile->default_sample_type);
	if (!error)
		error = string_table_add(&encoder->strings, encoder->options->drop_frames, &profile->drop_frames);
	if (!error)
		error = string_table_add(&encoder->strings, encoder->options->keep_frames, &profile->keep_frames);
	profile->n_sample_type = value_count(encoder);
	profile->sample_type = encoder->sample_type_pointers;
	profile->period_type = &encoder->period_type;
	profile->period = encoder->source->period;
	profile->time_nanos = encoder->source->time_ns;
	profile->duration_nanos = encoder->source->duration_ns;
	return error;
}

static struct hs_error *add_mappings(struct encoder *encoder)
{
	const struct heap_profile *source = encoder->source;

	for (size_t i = 0; i < source->mapping_count; i++) {
		const struct profile_mapping *from = &source->mappings[i];
		pb_mapping *to = &encoder->mappings[i];

		perftools__profiles__mapping__init(to);
		to->id = i + 1;
		to->memory_start = from->start;
		to->memory_limit = from->limit;
		to->file_offset = from->file_offset;
		to->has_functions = from->has_functions;
		to->has_filenames = from->has_filenames;
		to->has_line_numbers = from->has_line_numbers;
		to->has_inline_frames = from->has_inline_frames;
		encoder->mapping_pointers[i] = to;

		struct hs_error *error = string_table_add(&encoder->strings, from->file, &to->filename);

		if (!error)
			error = string_table_add(&encoder->strings, from->build_id, &to->build_id);
		if (error)
			return error;
	}
	encoder->profile.n_mapping = source->mapping_count;
	encoder->profile.mapping = encoder->mapping_pointers;
	return NULL;
}

static struct hs_error *append_function(struct encoder *encoder, const struct profile_function *from, uint64_t *id_ret)
{
	size_t index = encoder->profile.n_function++;
	pb_function *to = &encoder->functions[index];

	perftools__profiles__function__init(to);
	to->id = *id_ret = index + 1;
	to->start_line = from->start_line;
	encoder->function_pointers[index] = to;

	struct hs_error *error = string_table_add(&encoder->strings, from->name, &to->name);

	if (!error)
		error = string_table_add(&encoder->strings, from->system_name, &to->system_name);
	if (!error)
		error = string_table_add(&encoder->strings, from->file, &to->filename);
	return error;
}

static pb_location *append_location(struct encoder *encoder)
{
	size_t index = encoder->profile.n_location++;
	pb_location *location = &encoder->locations[index];

	perftools__profiles__location__init(location);
	location->id = index + 1;
	encoder->location_pointers[index] = location;
	return location;
}

// pre: room in encoder->lines. The lines of a location stand one after the other.
static void append_line(struct encoder *encoder, pb_location *location, uint64_t function_id, int64_t line)
{
	size_t index = encoder->line_count++;
	pb_line *to = &encoder->lines[index];

	perftools__profiles__line__init(to);
	to->function_id = function_id;
	to->line = line;
	encoder->line_pointers[index] = to;
	if (location->n_line++ == 0)
		location->line = &encoder->line_pointers[index];
}

static struct hs_error *add_location(struct encoder *encoder, uint32_t source_index)
{
	const struct heap_profile *source = encoder->source;
	const struct profile_location *from = &source->locations[source_index];
	pb_location *location = append_location(encoder);

	encoder->location_ids[source_index] = location->id;
	location->address = from->address;
	location->mapping_id = from->mapping < source->mapping_count ? from->mapping + (uint64_t)1 : 0;
	for (uint32_t i = 0; i < from->line_count; i++) {
		const struct profile_line *line = &source->lines[from->first_line + i];
		uint64_t *function_id = &encoder->function_ids[line->function];

		if (!*function_id) {
			struct hs_error *error =
				append_function(encoder, &source->functions[line->function], function_id);

			if (error)
				return error;
		}
		append_line(encoder, location, *function_id, line->line);
	}
	return NULL;
}

static struct hs_error *add_no_stack_location(struct encoder *encoder)
{
	char name[] = PPROF_NO_STACK, file[] = "";
	pb_location *location = append_location(encoder);
	uint64_t function_id;

	struct profile_function function = { name, name, file, 0 };
	struct hs_error *error = append_function(encoder, &function, &function_id);

	if (!error)
		append_line(encoder, location, function_id, 0);
	encoder->no_stack_id = location->id;
	return error;
}

// Each location of the source is written once at most, so its lines are too.
static struct hs_error *reserve_lines(struct encoder *encoder)
{
	size_t count = 1; // of the stack without frames

	for (size_t i = 0; i < encoder->source->location_count; i++)
		count += encoder->source->locations[i].line_count;
	encoder->lines = allocate(count, sizeof(*encoder->lines));
	encoder->line_pointers = allocate(count, sizeof(*encoder->line_pointers));
	return encoder->lines && encoder->line_pointers ? NULL : &hs_error_no_memory;
}

// pre: the labels of a sample are added one after the other
static pb_label *append_label(struct encoder *encoder, pb_sample *sample)
{
	size_t index = encoder->label_count++;
	pb_label *label = &encoder->labels[index];

	perftools__profiles__label__init(label);
	encoder->label_pointers[index] = label;
	if (sample->n_label++ == 0)
		sample->label = &encoder->label_pointers[index];
	return label;
}

static struct hs_error *add_label(struct encoder *encoder, pb_sample *sample, const char *key, uint64_t value,
				  const char *unit)
{
	pb_label *label = append_label(encoder, sample);
	struct hs_error *error = string_table_add(&encoder->strings, key, &label->key);

	label->num = value < INT64_MAX ? (int64_t)value : INT64_MAX;
	return error ? error : string_table_add(&encoder->strings, unit, &label->num_unit);
}

// `text`: number of a text, + 1; 0 = there is no label.
static struct hs_error *add_text_label(struct encoder *encoder, pb_sample *sample, const char *key, uint32_t text)
{
	const struct heap_profile *source = encoder->source;
	struct hs_error *error;
	pb_label *label;

	if (text == 0 || text > source->label_text_count)
		return NULL;
	label = append_label(encoder, sample);
	error = string_table_add(&encoder->strings, key, &label->key);
	return error ? error : string_table_add(&encoder->strings, source->label_texts[text - 1], &label->str);
}

static struct hs_error *add_block_labels(struct encoder *encoder, pb_sample *sample,
					 const struct profile_labels *labels)
{
	struct hs_error *error = add_text_label(encoder, sample, "thread", labels->thread);

	if (!error)
		error = add_text_label(encoder, sample, "kind", labels->kind);
	if (!error)
		error = add_text_label(encoder, sample, "allocator", labels->allocator);
	if (!error && labels->size)
		error = add_label(encoder, sample, "size", size_class_least(labels->size), "bytes");
	if (!error && labels->epoch)
		error = add_label(encoder, sample, "dump", labels->epoch, "count");
	if (!error && labels->age)
		error = add_label(encoder, sample, "age", (uint64_t)age_class_least(labels->age) / 1000000000,
				  "seconds");
	return error;
}

// Where none of a stack's blocks is live, those tell their size that were freed.
static int64_t known_objects(const struct profile_values *values)
{
	return values->live_objects > 0 ? values->live_objects : values->alloc_objects;
}
static int64_t known_bytes(const struct profile_values *values)
{
	return values->live_objects > 0 ? values->live_bytes : values->alloc_bytes;
}

static struct hs_error *add_labels(struct encoder *encoder, pb_sample *sample, const struct pprof_stack *stack)
{
	struct hs_error *error = NULL;

	if (stack->samples_per_block)
		error = add_label(encoder, sample, "n_samples", stack->samples_per_block, "count");
	if (!error)
		error = add_block_labels(encoder, sample, &stack->labels);
	if (error || !encoder->options->errors)
		return error;
	error = add_label(encoder, sample, "samples", stack->values.live_records, "count");
	if (!error)
		error = add_label(encoder, sample, "inuse_objects_error",
				  profile_objects_error(encoder->source, stack->values.live_objects_variance,
							known_objects(&stack->values), known_bytes(&stack->values)),
				  "count");
	if (!error)
		error = add_label(encoder, sample, "inuse_space_error",
				  profile_bytes_error(encoder->source, stack->values.live_bytes_variance), "bytes");
	return error;
}

// In the order of sample_types.
static void put_values(int64_t *to, const struct profile_values *values)
{
	to[0] = values->alloc_objects;
	to[1] = values->alloc_bytes;
	to[2] = values->live_objects;
	to[3] = values->live_bytes;
	to[4] = values->temporary_objects;
}

static struct hs_error *add_samples(struct encoder *encoder)
{
	uint64_t *next_id = encoder->stack_location_ids;

	for (size_t i = 0; i < encoder->stack_count; i++) {
		struct pprof_stack *stack = &encoder->stacks[i];
		pb_sample *sample = &encoder->samples[i];
		struct hs_error *error = NULL;

		perftools__profiles__sample__init(sample);
		encoder->sample_pointers[i] = sample;
		sample->n_value = value_count(encoder);
		sample->value = encoder->values + i * PPROF_VALUES;
		put_values(sample->value, &stack->values);
		sample->location_id = next_id;
		error = add_labels(encoder, sample, stack);
		for (uint32_t frame = 0; frame < stack->frame_count && !error; frame++) {
			uint32_t location = stack->frames[frame];

			if (!encoder->location_ids[location])
				error = add_location(encoder, location);
			*next_id++ = encoder->location_ids[location];
		}
		if (stack->frame_count == 0 && !encoder->no_stack_id && !error)
			error = add_no_stack_location(encoder);
		if (error)
			return error;
		if (stack->frame_count == 0)
			*next_id++ = encoder->no_stack_id;
		sample->n_location_id = (size_t)(next_id - sample->location_id);
	}
	encoder->profile.n_sample = encoder->stack_count;
	encoder->profile.sample = encoder->sample_pointers;
	encoder->profile.location = encoder->location_pointers;
	encoder->profile.function = encoder->function_pointers;
	return NULL;
}

// To be called when no string will be added any more: only then do they stay where they are.
static struct hs_error *add_string_table(struct encoder *encoder)
{
	size_t count = encoder->strings.count;

	encoder->string_pointers = allocate(count, sizeof(*encoder->string_pointers));
	if (!encoder->string_pointers)
		return &hs_error_no_memory;
	for (size_t i = 0; i < count; i++)
		encoder->string_pointers[i] = encoder->strings.text + encoder->strings.offsets[i];
	encoder->profile.n_string_table = count;
	encoder->profile.string_table = encoder->string_pointers;
	return NULL;
}

static struct hs_error *pack(const pb_profile *profile, uint8_t **data_ret, size_t *size_ret)
{
	size_t size = perftools__profiles__profile__get_packed_size(profile);
	uint8_t *data = malloc(size ? size : 1);

	if (!data)
		return &hs_error_no_memory;
	perftools__profiles__profile__pack(profile, data);
	*data_ret = data;
	*size_ret = size;
	return NULL;
}

struct hs_error *pprof_encode(const struct heap_profile *profile, const struct pprof_options *options,
			      uint8_t **data_ret, size_t *size_ret)
{
	struct encoder encoder;
	struct hs_error *error = encoder_init(&encoder, profile, options);

	if (!error)
		error = add_header(&encoder);
	if (!error)
		error = add_mappings(&encoder);
	if (!error)
		error = reserve_lines(&encoder);
	if (!error)
		error = add_samples(&encoder);
	if (!error)
		error = pprof_comments_add(profile, options->truth, &encoder.strings, encoder.comments,
					   &encoder.profile.n_comment);
	encoder.profile.comment = encoder.comments;
	if (!error)
		error = add_string_table(&encoder);
	if (!error)
		error = pack(&encoder.profile, data_ret, size_ret);
	encoder_deinit(&encoder);
	return error;
}
