// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/headline.h"
#include "cli/site_json.h"
#include "cli/site_rows.h"
#include "lib/own_rules.h"
#include "lib/read_profile.h"

static bool print_json(const struct options *options, const struct profile_view *view)
{
	const struct heap_profile *profile = view->named.profile;
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "report");
	json_string(&json, "file", options->paths[0]);
	json_number(&json, "pid", (uint64_t)profile->pid);
	json_bool(&json, "estimate", profile->is_estimate);
	json_number(&json, "live_objects", (uint64_t)profile->total.live_objects);
	json_number(&json, "live_bytes", (uint64_t)profile->total.live_bytes);
	json_number(&json, "alloc_objects", (uint64_t)profile->total.alloc_objects);
	json_number(&json, "alloc_bytes", (uint64_t)profile->total.alloc_bytes);
	sites_put_json(&json, view);
	return json_end(&json);
}

static struct hs_error *show(const struct options *options, const struct heap_profile *profile,
			     const struct frame_rules *rules)
{
	struct profile_view view;
	struct hs_error *error = profile_view_make(profile, rules, &view);

	if (error)
		return error;
	if (options->json) {
		if (!print_json(options, &view))
			error = hs_error_create(HS_ERROR_SYSTEM, "standard output cannot be written");
	} else {
		headline_print(options, profile);
		error = site_rows_print(options, &view.named, &view.sites, options->limit);
		if (!error)
			truth_print(options, profile);
	}
	profile_view_deinit(&view);
	return error;
}

enum exit_status command_report(const struct options *options)
{
	struct frame_rules *rules = NULL;
	struct heap_profile profile;
	struct hs_error *error = hs_own_rules(options->own_rules, options->own_rule_count, &rules);

	if (!error)
		error = hs_read_profile(options->paths[0], &profile);
	if (!error) {
		console_results_to_output();
		error = show(options, &profile, rules);
		heap_profile_deinit(&profile);
	}
	frame_rules_destroy(rules);
	return error ? console_fail(options, error) : EXIT_DONE;
}
