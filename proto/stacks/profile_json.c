// SPDX-License-Identifier: Apache-2.0
#include "proto/stacks/profile_json.h"

#include "base/json.h"
#include "snapshot/size_age.h"
#include "views/memory_json.h"
#include "views/stack_places.h"

static void put_values(struct json *json, const struct heap_profile *profile, const struct profile_values *values)
{
	// Where none of its blocks is live, those tell their size that were freed.
	const bool is_live = values->live_objects > 0;
	const uint64_t objects_error = profile_objects_error(profile, values->live_objects_variance,
							     is_live ? values->live_objects : values->alloc_objects,
							     is_live ? values->live_bytes : values->alloc_bytes);

	json_integer(json, "live_objects", values->live_objects);
	json_integer(json, "live_bytes", values->live_bytes);
	json_integer(json, "alloc_objects", values->alloc_objects);
	json_integer(json, "alloc_bytes", values->alloc_bytes);
	json_number(json, "samples", values->live_records);
	json_number(json, "live_objects_error", objects_error);
	json_number(json, "live_bytes_error", profile_bytes_error(profile, values->live_bytes_variance));
}

static void put_head(struct json *json, const struct heap_profile *profile, const char *compared_with)
{
	json_string(json, "heapsnap", HEAPSNAP_VERSION);
	json_string(json, "program", profile->program ? profile->program : "");
	json_string(json, "name", profile_process_name(profile));
	json_integer(json, "pid", profile->pid);
	json_integer(json, "time_ns", profile->time_ns);
	json_integer(json, "duration_ns", profile->duration_ns);
	if (compared_with)
		json_string(json, "compared_with", compared_with);
	memory_put_json(json, &profile->memory);
	if (profile->selection)
		json_string(json, "selection", profile->selection);
	if (profile->selection && !profile->is_difference) {
		json_integer(json, "recorded_objects", profile->recorded.live_objects);
		json_integer(json, "recorded_bytes", profile->recorded.live_bytes);
		json_integer(json, "undecided_objects", profile->undecided.live_objects);
		json_integer(json, "undecided_bytes", profile->undecided.live_bytes);
	}
	json_bool(json, "stopped", profile->stopped_because);
	json_string(json, "stopped_because", profile->stopped_because ? profile->stopped_because : "");
	json_number(json, "log_records", profile->log_records);
	json_bool(json, "estimate", profile->is_estimate);
	json_integer(json, "interval", profile->period);
	json_integer(json, "interval_most", profile->interval_most);
	put_values(json, profile, &profile->total);
}

static void put_place(struct json *json, const struct code_place *place)
{
	json_open(json, NULL, '{');
	json_string(json, "function", place->full_name);
	json_string(json, "file", place->file);
	json_integer(json, "line", place->line);
	json_string(json, "module", place->module);
	json_close(json, '}');
}

static void put_labels(struct json *json, const struct heap_profile *profile, const struct profile_labels *labels)
{
	if (labels->thread > 0 && labels->thread <= profile->label_text_count)
		json_string(json, "thread", profile->label_texts[labels->thread - 1]);
	if (labels->epoch)
		json_number(json, "dump", labels->epoch);
	if (labels->size)
		json_number(json, "size_class", size_class_least(labels->size));
	if (labels->age)
		json_number(json, "age_class", (uint64_t)age_class_least(labels->age) / 1000000000);
}

static struct hs_error *put_stack(struct json *json, const struct named_profile *named,
				  const struct profile_sample *sample, struct stack_buffer *stack)
{
	struct hs_error *error = stack_places(named, sample, stack);

	if (error)
		return error;
	json_open(json, NULL, '{');
	put_values(json, named->profile, &sample->values);
	put_labels(json, named->profile, &sample->labels);
	if (sample->samples_per_block)
		json_number(json, "n_samples", sample->samples_per_block);
	json_open(json, "frames", '[');
	for (size_t i = 0; i < stack->count; i++)
		put_place(json, place_of(named, stack->items[i]));
	json_close(json, ']');
	json_close(json, '}');
	return NULL;
}

static void put_ledger(struct json *json, const struct heap_profile *profile)
{
	json_open(json, "ledger", '[');
	for (size_t i = 0; i < profile->ledger_count; i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", profile->ledger[i].name);
		json_number(json, "value", profile->ledger[i].value);
		json_string(json, "text", profile->ledger[i].text);
		json_bool(json, "loss", profile->ledger[i].is_loss);
		json_close(json, '}');
	}
	json_close(json, ']');
}

struct hs_error *profile_json_write(const struct named_profile *named, const char *compared_with, FILE *file)
{
	const struct heap_profile *profile = named->profile;
	struct stack_buffer stack = { 0 };
	struct hs_error *error = NULL;
	struct json json;

	json_begin(&json, file);
	put_head(&json, profile, compared_with);
	json_open(&json, "stacks", '[');
	for (size_t i = 0; i < profile->sample_count && !error; i++)
		error = put_stack(&json, named, &profile->samples[i], &stack);
	json_close(&json, ']');
	stack_buffer_deinit(&stack);
	put_ledger(&json, profile);
	(void)json_end(&json); // whether the stream failed is the caller's to see
	return error;
}
