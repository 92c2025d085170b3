// SPDX-License-Identifier: Apache-2.0
#include "attach/session/session.h"

#include "attach/process/target.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/sampling_text.h"

#include <inttypes.h>

static void put_settings(struct json *json, const char *key, const struct region_settings *settings)
{
	json_open(json, key, '{');
	sampling_put_json(json, &settings->sampling);
	json_number(json, "depth", settings->depth);
	json_close(json, '}');
}

static bool print_json(const struct set_report *report, pid_t pid)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "set");
	json_number(&json, "pid", (uint64_t)pid);
	put_settings(&json, "before", &report->before);
	put_settings(&json, "after", &report->after);
	json_number(&json, "threads", report->threads);
	json_number(&json, "stopped_us", report->stopped_ns / 1000);
	json_bool(&json, "bloom_in_use", report->bloom_in_use);
	return json_end(&json);
}

static struct sampling_change change_of(const struct options *options)
{
	if (options->stop_recording)
		return (struct sampling_change){ .kind = SAMPLING_STOP };
	if (options->start_recording)
		return (struct sampling_change){ .kind = SAMPLING_START };
	if (options->has_sampling)
		return (struct sampling_change){ .kind = SAMPLING_SET, .settings = options->sampling };
	return (struct sampling_change){ .kind = SAMPLING_KEEP };
}

enum exit_status command_set(const struct options *options)
{
	const struct set_options set = { .change = change_of(options), .depth = options->depth };
	char before[SAMPLING_TEXT_SIZE], after[SAMPLING_TEXT_SIZE], stopped[32];
	struct set_report report;
	struct hs_error *error;
	pid_t pid;

	error = target_parse_pid(options->pid_text, &pid);
	if (error)
		return console_fail(options, error);
	error = session_set(pid, &set, &report);
	if (error)
		return fail_and_look(options, pid, error);
	console_print(options, "process %d recorded %s, stacks of up to %" PRIu32 " frames\n", pid,
		      sampling_text(&report.before.sampling, before), report.before.depth);
	console_print(options,
		      "from now on it records %s, stacks of up to %" PRIu32 " frames; %zu threads stopped for %s\n",
		      sampling_text(&report.after.sampling, after), report.after.depth, report.threads,
		      console_time(report.stopped_ns, stopped));
	return !options->json || print_json(&report, pid) ? EXIT_DONE : EXIT_REFUSED;
}
