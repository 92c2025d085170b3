// SPDX-License-Identifier: Apache-2.0
#include "proto/stacks/profile_json.h"

#include "base/json.h"
#include "views/json_parts.h"
#include "views/stack_places.h"

static void put_head(struct json *json, const struct heap_profile *profile, const char *compared_with)
{
	json_string(json, "heapsnap", HEAPSNAP_VERSION);
	if (compared_with)
		json_string(json, "compared_with", compared_with);
	profile_put_json(json, profile);
	copying_put_json(json, profile);
}

static struct hs_error *put_stack(struct json *json, const struct named_profile *named,
				  const struct profile_sample *sample, struct stack_buffer *stack)
{
	struct hs_error *error = stack_places(named, sample, stack);

	if (error)
		return error;
	json_open(json, NULL, '{');
	values_put_json(json, named->profile, &sample->values);
	labels_put_json(json, named->profile, &sample->labels);
	if (sample->samples_per_block)
		json_number(json, "n_samples", sample->samples_per_block);
	json_open(json, "frames", '[');
	for (size_t i = 0; i < stack->count; i++)
		place_put_json(json, place_of(named, stack->items[i]));
	json_close(json, ']');
	json_close(json, '}');
	return NULL;
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
	ledger_put_json(&json, profile);
	(void)json_end(&json); // whether the stream failed is the caller's to see
	return error;
}
