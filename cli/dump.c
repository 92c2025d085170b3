// SPDX-License-Identifier: Apache-2.0
#include "lib/dump.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/dump.h"
#include "cli/each_process.h"
#include "cli/headline.h"
#include "cli/memory_text.h"
#include "cli/view_json.h"
#include "cli/view_text.h"
#include "lib/dump_path.h"
#include "views/json_parts.h"

#include <string.h>

// How the snapshot was taken: without stopping a thread, or why not.
static void print_copying(const struct options *options, const struct hs_dump_result *result)
{
	const struct heap_profile *profile = &result->profile;
	char copied[32], stopped[32], records[COUNT_SIZE];

	if (profile->stopped_because)
		console_print(options, "threads stopped for %s: %s\n", console_time(result->stopped_ns, stopped),
			      profile->stopped_because);
	else
		console_print(options, "no pause; copied concurrently in %s, with %s%s\n",
			      console_time(result->copy_ns, copied),
			      console_count(profile->log_records, "log record", records),
			      profile->copies > 1 ? "; the log of a first copy got full" : "");
}

static void print_output(const struct options *options, const struct hs_dump_result *result)
{
	char file[NUMBER_SIZE], total[NUMBER_SIZE], count[COUNT_SIZE];
	const bool is_stream = strcmp(options->output, "-") == 0;

	console_print(options, "%s%s%s, from %s; %s in all\n", is_stream ? "wrote " : options->output,
		      is_stream ? "" : ": ", number_bytes(result->file_bytes, file),
		      console_count(result->profile.sample_count, "stack", count),
		      console_time(result->total_ns, total));
}

static struct hs_error *print_summary(const struct options *options, const struct hs_dump_result *result)
{
	struct hs_error *error;

	headline_print(options, &result->profile);
	shown_print(options, &result->view);
	error = view_rows_print(options, &result->view);
	if (error)
		return error;
	truth_print(options, &result->profile);
	print_copying(options, result);
	if (options->output)
		print_output(options, result);
	return NULL;
}

static struct hs_error *print_json(const struct options *options, const struct hs_dump_result *result,
				   const struct dump_more *more)
{
	const struct heap_profile *profile = &result->profile;
	const bool is_report = options->command == COMMAND_REPORT;
	struct hs_error *error;
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", command_describe(options->command)->name);
	json_string(&json, "output", options->output ? options->output : "");
	json_number(&json, "bytes", result->file_bytes);
	profile_put_json(&json, profile);
	copying_put_json(&json, profile);
	json_number(&json, "stopped_us", result->stopped_ns / 1000);
	json_number(&json, "copies", profile->copies);
	json_number(&json, "copy_us", result->copy_ns / 1000);
	json_number(&json, "symbolize_us", result->symbolize_ns / 1000);
	json_number(&json, "total_us", result->total_ns / 1000);
	error = view_put_json(&json, options, &result->view);
	view_warn_empty(options, &result->view);
	if (!error && is_report)
		error = stacks_put_json(&json, options, &result->view);
	ledger_put_json(&json, profile);
	if (more)
		more->put(&json, more->data);
	if (!console_end_json(&json) && !error)
		error = console_json_error();
	return error;
}

struct hs_error *dump_show(const struct options *options, const struct hs_dump_result *result,
			   const struct dump_more *more)
{
	struct hs_error *error = print_summary(options, result);

	return !error && options->json ? print_json(options, result, more) : error;
}

// The same with the path of the file where a folder was given. *path_ret, which is owned by the caller, lives as long.
static struct hs_error *with_path(const struct options *options, const struct process *process, struct options *ret,
				  char **path_ret)
{
	struct hs_error *error = NULL;

	*ret = *options;
	if (options->output)
		error = hs_dump_path(options->output, options->format, process, path_ret);
	ret->output = *path_ret;
	return error;
}

// `context`: struct dump_setting.
static enum exit_status dump_one(const struct options *options, const struct process *process, void *context)
{
	const struct dump_setting *setting = context;
	struct hs_dump_options dump = {
		.format = options->format,
		.view = setting->view,
		.blocks = setting->blocks,
		.errors = options->errors,
		.stop = options->stop,
		.no_cache = options->no_cache,
		.debuginfod = options->debuginfod,
	};
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_dump_result result;
	struct options to_path;
	struct hs_error *error = with_path(options, process, &to_path, &path);

	dump.output = path;
	if (!error)
		error = hs_dump(process, &dump, &result);
	if (error)
		return fail_and_look(options, process, error);
	error = dump_show(&to_path, &result, NULL);
	hs_dump_result_deinit(&result);
	return error ? console_fail(options, error) : EXIT_DONE;
}

enum exit_status command_dump(const struct options *options)
{
	struct view_setting setting;
	struct dump_setting dump;
	struct hs_error *error = block_words_selection(options, &dump.blocks);
	enum exit_status status;

	if (!error)
		error = view_setting_init(options, &setting);
	if (error)
		return console_fail(options, error);
	dump.view = setting.options;
	status = each_process(options, dump_one, &dump);
	view_setting_deinit(&setting);
	return status;
}
