// SPDX-License-Identifier: Apache-2.0
#include "attach/session/session.h"

#include "attach/process/target.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"

enum { WAIT_MS = 10000 };

static bool all_hold(const struct detach_report *report)
{
	for (size_t i = 0; i < report->check_count; i++)
		if (!report->checks[i].holds)
			return false;
	return report->finished;
}

static bool print_json(const struct detach_report *report, pid_t pid)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "detach");
	json_number(&json, "pid", (uint64_t)pid);
	json_number(&json, "threads", report->threads);
	json_number(&json, "stopped_us", report->stopped_ns / 1000);
	json_number(&json, "waited_ms", report->waited_ns / 1000000);
	json_bool(&json, "finished", report->finished);
	json_number(&json, "threads_inside", report->threads_inside);
	json_number(&json, "threads_unseen", report->threads_unseen);
	json_number(&json, "calls_left", report->calls_left);
	json_bool(&json, "calls_lost", report->calls_lost);
	json_number(&json, "foreign_hooks", report->foreign_hooks);
	json_bool(&json, "verified", all_hold(report));
	json_open(&json, "checks", '[');
	for (size_t i = 0; i < report->check_count; i++) {
		json_open(&json, NULL, '{');
		json_string(&json, "text", report->checks[i].text);
		json_bool(&json, "holds", report->checks[i].holds);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	return json_end(&json);
}

enum exit_status command_detach(const struct options *options)
{
	struct detach_report report;
	char stopped[32], waited[32];
	struct hs_error *error;
	pid_t pid;

	error = target_parse_pid(options->pid_text, &pid);
	if (error)
		return console_fail(options, error);
	error = session_detach(pid, WAIT_MS, &report);
	if (error)
		return fail_and_look(options, pid, error);
	if (report.only_leftovers && report.finished)
		console_print(
			options,
			"process %d was not attached; what it had from an attached parent, or from an unfinished attach, is "
			"cleared away\n",
			pid);
	else if (report.finished)
		console_print(options, "detached from %d: stopped for %s, done after %s\n", pid,
			      console_time(report.stopped_ns, stopped), console_time(report.waited_ns, waited));
	else if (report.foreign_hooks)
		console_complain(
			"the hooks are out of process %d, but %zu of the places that they were in hold somebody else's bytes by now, "
			"which may lead into heapsnap's code; it stays mapped and does nothing. Run `heapsnap detach %d` again when they are gone\n",
			pid, report.foreign_hooks, pid);
	else if (report.threads_unseen)
		console_complain(
			"the hooks are out of process %d, but %zu of its threads have so much stack in use that not all of it was looked at "
			"yet (a further %zu are still inside the payload); its code stays mapped. Run `heapsnap detach %d` again later\n",
			pid, report.threads_unseen, report.threads_inside, pid);
	else if (report.calls_lost)
		console_complain(
			"the hooks are out of process %d, but its coroutines have left so many allocations before they were done that nobody knows "
			"whether one goes back into the payload; its code does nothing else any more, and stays mapped until the process ends\n",
			pid);
	else if (report.calls_left && !report.threads_inside)
		console_complain(
			"the hooks are out of process %d, but %zu of its allocations were left before they were done, by coroutines it seems, which may go "
			"back into the payload; its code stays mapped. Run `heapsnap detach %d` again later\n",
			pid, report.calls_left, pid);
	else
		console_complain(
			"the hooks are out of process %d, but %zu of its threads %s still inside the payload; its code "
			"stays mapped. Run `heapsnap detach %d` again %s\n",
			pid, report.threads_inside, report.threads_inside == 1 ? "is" : "are", pid,
			report.inside_is_stopped ? "when the process, which is stopped by a signal, goes on" : "later");
	for (size_t i = 0; i < report.check_count; i++) {
		console_print(options, "  %-36s %s\n", report.checks[i].text, report.checks[i].holds ? "yes" : "NO");
		if (!report.checks[i].holds)
			console_complain(
				"detached from process %d, but this does not hold, or could not be looked up: %s\n",
				pid, report.checks[i].text);
	}
	if (options->json && !print_json(&report, pid))
		return EXIT_REFUSED;
	return all_hold(&report) ? EXIT_DONE : EXIT_REFUSED;
}
