// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/headline.h"
#include "cli/view_json.h"
#include "cli/view_text.h"
#include "lib/dump.h"
#include "lib/read_profile.h"
#include "views/json_parts.h"
#include "views/survivors.h"

#include <string.h>

// Seconds from one profile to the next; 0 = not known.
static double seconds_between(const struct heap_profile *old, const struct heap_profile *new)
{
	return old->time_ns > 0 && new->time_ns > old->time_ns ? (double)(new->time_ns - old->time_ns) / 1e9 : 0;
}

// Of how much `new` is what has survived.
static void put_before(struct json *json, const struct heap_profile *old, const struct heap_profile *new)
{
	json_integer(json, "live_objects_before", old->total.live_objects);
	json_integer(json, "live_bytes_before", old->total.live_bytes);
	if (seconds_between(old, new) > 0)
		json_real(json, "seconds", seconds_between(old, new));
}

// `old`: what it is compared with; NULL = nothing
static struct hs_error *print_json(const struct options *options, const struct profile_view *view,
				   const struct heap_profile *old, uint64_t bytes)
{
	const struct heap_profile *profile = view->named.profile;
	struct hs_error *error;
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", command_describe(options->command)->name);
	if (options->survivors)
		json_string(&json, "old", options->paths[0]);
	json_string(&json, options->survivors ? "new" : "file", options->paths[options->survivors]);
	json_string(&json, "output", options->output ? options->output : "");
	json_number(&json, "bytes", bytes);
	profile_put_json(&json, profile);
	json_bool(&json, "difference", profile->is_difference);
	if (old)
		put_before(&json, old, profile);
	error = view_put_json(&json, options, view);
	view_warn_empty(options, view);
	if (!error)
		error = stacks_put_json(&json, options, view);
	ledger_put_json(&json, profile);
	if (!console_end_json(&json) && !error)
		error = console_json_error();
	return error;
}

static struct hs_error *print_text(const struct options *options, const struct profile_view *view, uint64_t bytes)
{
	char file[NUMBER_SIZE];
	struct hs_error *error;

	headline_print(options, view->named.profile);
	shown_print(options, view);
	error = view_rows_print(options, view);
	if (error)
		return error;
	truth_print(options, view->named.profile);
	if (options->output && strcmp(options->output, "-") != 0)
		console_print(options, "%s: %s\n", options->output, number_bytes(bytes, file));
	return NULL;
}

static struct hs_error *show(const struct options *options, const struct heap_profile *profile,
			     const struct heap_profile *old, const struct view_options *view_options)
{
	const struct hs_dump_options dump = { .output = options->output, .format = options->format };
	struct profile_view view;
	uint64_t bytes = 0;
	struct hs_error *error = profile_view_make_of(profile, view_options, &view);

	if (error)
		return error;
	if (options->output)
		error = hs_dump_write(&view.named, &dump, NULL, &bytes);
	if (!error)
		error = options->json ? print_json(options, &view, old, bytes) : print_text(options, &view, bytes);
	profile_view_deinit(&view);
	return error;
}

static enum exit_status report_file(const struct options *options)
{
	struct view_setting setting;
	struct heap_profile profile = { 0 };
	struct hs_error *error = view_setting_init(options, &setting);

	if (error)
		return console_fail(options, error);
	error = hs_read_profile(options->paths[0], &profile);
	if (!error)
		error = view_check_file(options, &profile);
	if (!error)
		error = show(options, &profile, NULL, &setting.options);
	heap_profile_deinit(&profile);
	view_setting_deinit(&setting);
	return error ? console_fail(options, error) : EXIT_DONE;
}

// What is left of how much: the new one is of the survivors alone here.
static void print_before(const struct options *options, const struct heap_profile *old, const struct heap_profile *new)
{
	const double seconds = seconds_between(old, new);
	const bool is_about = (old->is_estimate && !profile_is_recorded_exactly(&old->total)) ||
			      (new->is_estimate && !profile_is_recorded_exactly(&new->total));
	char count[NUMBER_SIZE], count_before[NUMBER_SIZE], bytes[NUMBER_SIZE], bytes_before[NUMBER_SIZE],
		duration[NUMBER_SIZE];

	console_print(options, "Survivors%s%s: %s%s of the %s %s that were live in the first dump, %s of %s\n",
		      seconds > 0 ? " after " : "",
		      seconds > 0 ? number_duration((uint64_t)(new->time_ns - old->time_ns), duration) : "",
		      is_about ? "about " : "", number_grouped_of(new->total.live_objects, false, count),
		      number_grouped_of(old->total.live_objects, false, count_before),
		      old->total.live_objects == 1 ? "block" : "blocks",
		      number_bytes_of(new->total.live_bytes, false, bytes),
		      number_bytes_of(old->total.live_bytes, false, bytes_before));
}

static struct hs_error *show_survivors(const struct options *options, const struct view_options *view,
				       const struct heap_profile *old, struct heap_profile *new)
{
	struct hs_error *error = survivors_keep(old, new);

	if (!error)
		error = view_check_file(options, new);
	if (error)
		return error;
	if (!options->json)
		print_before(options, old, new);
	return show(options, new, old, view);
}

enum exit_status report_survivors(const struct options *options)
{
	struct view_setting setting;
	struct heap_profile old = { 0 }, new = { 0 };
	struct hs_error *error = view_setting_init(options, &setting);

	if (error)
		return console_fail(options, error);
	error = hs_read_profile(options->paths[0], &old);
	if (!error)
		error = hs_read_profile(options->paths[1], &new);
	if (!error)
		error = show_survivors(options, &setting.options, &old, &new);
	heap_profile_deinit(&old);
	heap_profile_deinit(&new);
	view_setting_deinit(&setting);
	return error ? console_fail(options, error) : EXIT_DONE;
}

enum exit_status command_report(const struct options *options)
{
	// Of a process, as of a dump that writes no file.
	return options->path_count ? report_file(options) : command_dump(options);
}
