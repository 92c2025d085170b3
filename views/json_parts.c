// SPDX-License-Identifier: Apache-2.0
#include "views/json_parts.h"

#include "snapshot/size_age.h"

void memory_put_json(struct json *json, const struct profile_memory *memory)
{
	if (!memory->is_known)
		return;
	json_open(json, "memory", '{');
	json_number(json, "rss", memory->rss);
	json_number(json, "anonymous", memory->anonymous);
	json_number(json, "swapped", memory->swapped);
	json_number(json, "peak", memory->peak);
	json_close(json, '}');
}

// Where none of the blocks is live, those tell their size that were freed.
static uint64_t objects_error(const struct heap_profile *profile, const struct profile_values *values)
{
	const bool is_live = values->live_objects > 0;

	return profile_objects_error(profile, values->live_objects_variance,
				     is_live ? values->live_objects : values->alloc_objects,
				     is_live ? values->live_bytes : values->alloc_bytes);
}

void values_put_json(struct json *json, const struct heap_profile *profile, const struct profile_values *values)
{
	json_integer(json, "live_objects", values->live_objects);
	json_integer(json, "live_bytes", values->live_bytes);
	json_integer(json, "alloc_objects", values->alloc_objects);
	json_integer(json, "alloc_bytes", values->alloc_bytes);
	if (profile->has_temporaries)
		json_integer(json, "temporary_objects", values->temporary_objects);
	if (values->live_records > 0 || values->live_objects == 0) // of a file they may not be known
		json_number(json, "samples", values->live_records);
	json_number(json, "live_objects_error", objects_error(profile, values));
	json_number(json, "live_bytes_error", profile_bytes_error(profile, values->live_bytes_variance));
}

void profile_put_json(struct json *json, const struct heap_profile *profile)
{
	json_string(json, "program", profile->program ? profile->program : "");
	json_string(json, "name", profile_process_name(profile));
	json_integer(json, "pid", profile->pid);
	json_integer(json, "time_ns", profile->time_ns);
	json_integer(json, "duration_ns", profile->duration_ns);
	if (profile->peak_looks)
		json_number(json, "peak_of_looks", profile->peak_looks);
	memory_put_json(json, &profile->memory);
	json_bool(json, "estimate", profile->is_estimate);
	json_integer(json, "interval", profile->period);
	json_integer(json, "interval_most", profile->interval_most);
	values_put_json(json, profile, &profile->total);
	json_number(json, "stack_count", profile->sample_count);
	selection_put_json(json, profile);
}

void selection_put_json(struct json *json, const struct heap_profile *profile)
{
	if (!profile->selection)
		return;
	json_string(json, "selection", profile->selection);
	if (profile->is_difference)
		return;
	json_integer(json, "recorded_objects", profile->recorded.live_objects);
	json_integer(json, "recorded_bytes", profile->recorded.live_bytes);
	json_integer(json, "undecided_objects", profile->undecided.live_objects);
	json_integer(json, "undecided_bytes", profile->undecided.live_bytes);
}

void copying_put_json(struct json *json, const struct heap_profile *profile)
{
	json_bool(json, "stopped", profile->stopped_because);
	json_string(json, "stopped_because", profile->stopped_because ? profile->stopped_because : "");
	json_number(json, "log_records", profile->log_records);
}

void ledger_put_json(struct json *json, const struct heap_profile *profile)
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

void labels_put_json(struct json *json, const struct heap_profile *profile, const struct profile_labels *labels)
{
	const struct {
		const char *key;
		uint32_t text; // number, + 1
	} texts[] = { { "thread", labels->thread }, { "kind", labels->kind }, { "allocator", labels->allocator } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].text > 0 && texts[i].text <= profile->label_text_count)
			json_string(json, texts[i].key, profile->label_texts[texts[i].text - 1]);
	if (labels->epoch)
		json_number(json, "dump", labels->epoch);
	if (labels->size)
		json_number(json, "size_class", size_class_least(labels->size));
	if (labels->age)
		json_number(json, "age_class", (uint64_t)age_class_least(labels->age) / 1000000000);
}

void place_fields_put_json(struct json *json, const struct code_place *place)
{
	json_string(json, "function", place->full_name);
	json_string(json, "file", place->file);
	json_integer(json, "line", place->line);
	json_string(json, "module", place->module);
}

void place_put_json(struct json *json, const struct code_place *place)
{
	json_open(json, NULL, '{');
	place_fields_put_json(json, place);
	json_close(json, '}');
}
