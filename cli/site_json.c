// SPDX-License-Identifier: Apache-2.0
#include "cli/site_json.h"

#include "base/cleanup.h"
#include "views/json_parts.h"
#include "views/stack_places.h"

enum { CALLERS_KEPT = 3 };

// And whose code it is, by which rule.
static void put_judged(struct json *json, const struct code_place *place)
{
	json_open(json, NULL, '{');
	place_fields_put_json(json, place);
	json_string(json, "class", frame_class_name(place->judgement.class));
	json_string(json, "why", place->judgement.why);
	json_close(json, '}');
}

// The whole stack that holds most of it, innermost first, without the allocator.
static void put_stack(struct json *json, const struct named_profile *named, const struct site *site)
{
	const struct profile_sample *sample = &named->profile->samples[site->sample];
	struct stack_buffer stack = { 0 };
	struct hs_error *error = stack_places(named, sample, &stack);

	json_open(json, "stack", '[');
	for (size_t i = 0; !error && i < stack.count; i++)
		put_judged(json, place_of(named, stack.items[i]));
	json_close(json, ']');
	stack_buffer_deinit(&stack);
	hs_error_destroy(error);
}

static void put_site(struct json *json, const struct named_profile *named, const struct site *site)
{
	const struct code_place *place = site->path_length ? place_of(named, site->path[0]) : NULL;
	HS_CLEANUP_FREE char *callers = NULL;
	struct hs_error *error = site_path_text(named, site, 1, CALLERS_KEPT, &callers);

	json_open(json, NULL, '{');
	json_string(json, "function", place ? place->full_name : "[stack unknown]");
	json_string(json, "name", place ? place->name : "[stack unknown]");
	json_string(json, "file", place ? place->file : "");
	json_number(json, "line", place ? (uint64_t)place->line : 0);
	json_bool(json, "own", site->is_own);
	json_string(json, "via", site->via);
	json_string(json, "callers", error ? "" : callers);
	values_put_json(json, named->profile, &site->values);
	json_open(json, "path", '[');
	for (uint32_t i = 0; i < site->path_length; i++)
		place_put_json(json, place_of(named, site->path[i]));
	json_close(json, ']');
	put_stack(json, named, site);
	json_close(json, '}');
	hs_error_destroy(error);
}

void sites_put_json(struct json *json, const struct profile_view *view, size_t limit)
{
	json_open(json, "sites", '[');
	for (size_t i = 0; i < view->sites.count && (!limit || i < limit); i++)
		put_site(json, &view->named, &view->sites.items[i]);
	json_close(json, ']');
}
