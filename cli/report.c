// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/headline.h"
#include "cli/view_json.h"
#include "cli/view_text.h"
#include "lib/dump.h"
#include "lib/read_profile.h"
#include "views/survivors.h"

#include <string.h>

static struct hs_error *print_json(const struct options *options, const struct profile_view *view, uint64_t bytes)
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
	json_number(&json, "pid", (uint64_t)profile->pid);
	json_bool(&json, "estimate", profile->is_estimate);
	json_bool(&json, "difference", profile->is_difference);
	selection_put_json(&json, profile);
	json_integer(&json, "live_objects", profile->total.live_objects);
	json_integer(&json, "live_bytes", profile->total.live_bytes);
	json_integer(&json, "alloc_objects", profile->total.alloc_objects);
	json_integer(&json, "alloc_bytes", profile->total.alloc_bytes);
	error = view_put_json(&json, options, view);
	if (!error)
		error = stacks_put_json(&json, options, view);
	if (!console_end_json(&json) && !error)
		error = hs_error_create(HS_ERROR_SYSTEM, "standard output cannot be written");
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
			     const struct view_options *view_options)
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
		error = options->json ? print_json(options, &view, bytes) : print_text(options, &view, bytes);
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
		error = show(options, &profile, &setting.options);
	heap_profile_deinit(&profile);
	view_setting_deinit(&setting);
	return error ? console_fail(options, error) : EXIT_DONE;
}

static void print_before(const struct options *options, const struct heap_profile *old)
{
	char bytes[NUMBER_SIZE], count[NUMBER_SIZE];

	console_print(options, "Live in the first dump: %s in %s %s\n",
		      number_bytes_of(old->total.live_bytes, false, bytes),
		      number_grouped_of(old->total.live_objects, false, count),
		      old->total.live_objects == 1 ? "block" : "blocks");
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
		print_before(options, old);
	return show(options, new, view);
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
