// SPDX-License-Identifier: Apache-2.0
#include "proto/stacks/speedscope_json.h"

#include "base/json.h"
#include "views/stack_places.h"

#include <inttypes.h>
#include <stdlib.h>

enum kind { LIVE_BYTES, LIVE_BLOCKS, ALLOCATED_BYTES, ALLOCATED_BLOCKS, KIND_COUNT };

static const struct {
	const char *name, *unit;
} kinds[KIND_COUNT] = {
	[LIVE_BYTES] = { "live bytes", "bytes" },
	[LIVE_BLOCKS] = { "live blocks", "none" },
	[ALLOCATED_BYTES] = { "bytes allocated since attach", "bytes" },
	[ALLOCATED_BLOCKS] = { "blocks allocated since attach", "none" },
};

static int64_t value_of(const struct profile_sample *sample, enum kind kind)
{
	const struct profile_values *values = &sample->values;

	switch (kind) {
	case LIVE_BYTES:
		return values->live_bytes;
	case LIVE_BLOCKS:
		return values->live_objects;
	case ALLOCATED_BYTES:
		return values->alloc_bytes;
	default:
		return values->alloc_objects;
	}
}

static void put_name(struct json *json, const struct heap_profile *profile)
{
	char *name = NULL;

	if (asprintf(&name, "%s (PID %" PRId32 ")",
		     profile->name      ? profile->name
		     : profile->program ? profile->program
					: "unknown program",
		     profile->pid) < 0)
		name = NULL;
	json_string(json, "name", name ? name : "heapsnap");
	free(name);
}

// A frame for each place, with its number, and one more for stacks without frames.
static void put_frames(struct json *json, const struct named_profile *named)
{
	json_open(json, "shared", '{');
	json_open(json, "frames", '[');
	for (uint32_t i = 0; i < named->place_count; i++) {
		const struct code_place *place = place_of(named, i);

		json_open(json, NULL, '{');
		json_string(json, "name", *place->full_name ? place->full_name : "[unknown]");
		if (*place->file)
			json_string(json, "file", place->file);
		if (place->line > 0)
			json_integer(json, "line", place->line);
		json_close(json, '}');
	}
	json_open(json, NULL, '{');
	json_string(json, "name", "[stack unknown]");
	json_close(json, '}');
	json_close(json, ']');
	json_close(json, '}');
}

static struct hs_error *put_stack(struct json *json, const struct named_profile *named,
				  const struct profile_sample *sample, struct stack_buffer *buffer)
{
	struct hs_error *error = stack_places(named, sample, buffer);

	if (error)
		return error;
	json_open(json, NULL, '[');
	for (size_t i = buffer->count; i > 0; i--)
		json_number(json, NULL, buffer->items[i - 1]);
	if (buffer->count == 0)
		json_number(json, NULL, named->place_count);
	json_close(json, ']');
	return NULL;
}

static struct hs_error *put_kind(struct json *json, const struct named_profile *named, enum kind kind,
				 struct stack_buffer *buffer)
{
	const struct heap_profile *profile = named->profile;
	struct hs_error *error = NULL;
	double total = 0;

	json_open(json, NULL, '{');
	json_string(json, "type", "sampled");
	json_string(json, "name", kinds[kind].name);
	json_string(json, "unit", kinds[kind].unit);
	json_open(json, "samples", '[');
	for (size_t i = 0; i < profile->sample_count && !error; i++)
		if (value_of(&profile->samples[i], kind) > 0)
			error = put_stack(json, named, &profile->samples[i], buffer);
	json_close(json, ']');
	json_open(json, "weights", '[');
	for (size_t i = 0; i < profile->sample_count; i++) {
		const int64_t value = value_of(&profile->samples[i], kind);

		if (value <= 0)
			continue;
		json_integer(json, NULL, value);
		total += (double)value;
	}
	json_close(json, ']');
	json_number(json, "startValue", 0);
	json_number(json, "endValue", total < 0x1p63 ? (uint64_t)total : INT64_MAX);
	json_close(json, '}');
	return error;
}

struct hs_error *speedscope_json_write(const struct named_profile *named, FILE *file)
{
	struct stack_buffer buffer = { 0 };
	struct hs_error *error = NULL;
	struct json json;

	json_begin(&json, file);
	json_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_string(&json, "exporter", "heapsnap " HEAPSNAP_VERSION);
	put_name(&json, named->profile);
	json_number(&json, "activeProfileIndex", LIVE_BYTES);
	put_frames(&json, named);
	json_open(&json, "profiles", '[');
	for (int kind = 0; kind < KIND_COUNT && !error; kind++)
		error = put_kind(&json, named, (enum kind)kind, &buffer);
	json_close(&json, ']');
	(void)json_end(&json); // whether the stream failed is the caller's to see
	stack_buffer_deinit(&buffer);
	return error;
}
