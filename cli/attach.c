// SPDX-License-Identifier: Apache-2.0
#include "attach/session/session.h"

#include "attach/process/target.h"
#include "attach/session/attached_list.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/unseen_text.h"

#include <unistd.h>

static enum exit_status print_json(const struct attach_report *report, pid_t pid)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "attach");
	json_number(&json, "pid", (uint64_t)pid);
	json_number(&json, "hooks", report->hooks);
	json_number(&json, "hooks_refused", report->hooks_refused);
	json_number(&json, "unseen_functions", report->unseen_makers);
	json_number(&json, "modules", report->modules);
	json_number(&json, "threads", report->threads);
	json_number(&json, "stopped_us", report->stopped_ns / 1000);
	json_number(&json, "region_bytes", report->region_bytes);
	json_bool(&json, "libraries_followed", report->loader_followed);
	return json_end(&json) ? EXIT_DONE : EXIT_REFUSED;
}

// A first look at what the functions that are not hooked cost, once the program had the time to free something.
static void print_unseen(const struct options *options, pid_t pid)
{
	enum { LOOK_AFTER_US = 300000 };
	struct attached_process process;
	char text[UNSEEN_TEXT_SIZE];
	struct hs_error *error;

	usleep(LOOK_AFTER_US);
	error = attached_examine(pid, &process);
	if (!error && unseen_text(&process, text))
		console_print(options, "warning: %s\n", text);
	hs_error_destroy(error);
}

enum exit_status command_attach(const struct options *options)
{
	struct attach_options attach = {
		.depth = options->depth,
		.max_memory = options->max_memory,
		.sampling = options->sampling,
		.additions = { options->additions, options->addition_count },
	};
	struct attach_report report;
	char stopped[32], memory[32];
	struct hs_error *error;
	pid_t pid;

	error = target_parse_pid(options->pid_text, &pid);
	if (error)
		return console_fail(options, error);
	error = session_attach(pid, &attach, &report);
	if (error)
		return fail_and_look(options, pid, error);
	console_print(options, "attached to %d: %zu functions hooked, %zu threads stopped for %s; may use %s\n", pid,
		      report.hooks, report.threads, console_time(report.stopped_ns, stopped),
		      console_bytes(report.region_bytes, memory));
	if (report.hooks_refused)
		console_print(options, "%zu functions could not be hooked; every dump's ledger names them\n",
			      report.hooks_refused);
	if (report.unseen_makers)
		print_unseen(options, pid);
	if (!report.loader_followed)
		console_print(options,
			      "libraries loaded from now on will not be seen: no hook for the dynamic loader's list\n");
	return options->json ? print_json(&report, pid) : EXIT_DONE;
}
