// SPDX-License-Identifier: Apache-2.0
#include "lib/set.h"

#include "base/json.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/sampling_text.h"
#include "lib/find_process.h"

static void put_settings(struct json *json, const char *key, const struct hs_settings *settings)
{
	json_open(json, key, '{');
	sampling_put_json(json, &settings->sampling);
	json_number(json, "depth", settings->depth);
	json_close(json, '}');
}

static bool print_json(const struct hs_set_result *result, pid_t pid)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "set");
	json_number(&json, "pid", (uint64_t)pid);
	put_settings(&json, "before", &result->before);
	put_settings(&json, "after", &result->after);
	json_number(&json, "threads", result->threads);
	json_number(&json, "stopped_us", result->stopped_longest_ns / 1000);
	json_bool(&json, "bloom_in_use", result->bloom_in_use);
	return console_end_json(&json);
}

static struct hs_set_options settings_of(const struct options *options)
{
	struct hs_set_options set = { .change = HS_SET_KEEP, .sampling = options->sampling, .depth = options->depth };

	if (options->stop_recording)
		set.change = HS_SET_STOP;
	else if (options->start_recording)
		set.change = HS_SET_START;
	else if (options->has_sampling)
		set.change = HS_SET_SAMPLING;
	return set;
}

enum exit_status command_set(const struct options *options)
{
	const struct hs_set_options set = settings_of(options);
	char before[SAMPLING_TEXT_SIZE], after[SAMPLING_TEXT_SIZE], stopped[32], threads[COUNT_SIZE],
		frames[COUNT_SIZE];
	struct hs_set_result result;
	struct hs_error *error;
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;

	error = hs_find_process(options->pid_text, &process);
	if (error)
		return console_fail(options, error);
	error = hs_set(&process, &set, &result);
	if (error)
		return fail_and_look(options, &process, error);
	console_print(options, "process %d recorded %s, stacks of up to %s\n", process.pid,
		      sampling_text(&result.before.sampling, before),
		      console_count(result.before.depth, "frame", frames));
	console_print(options, "from now on it records %s, stacks of up to %s; %s stopped for %s\n",
		      sampling_text(&result.after.sampling, after), console_count(result.after.depth, "frame", frames),
		      console_count(result.threads, "thread", threads),
		      console_time(result.stopped_longest_ns, stopped));
	return !options->json || print_json(&result, process.pid) ? EXIT_DONE : EXIT_REFUSED;
}
