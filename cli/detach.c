// SPDX-License-Identifier: Apache-2.0
#include "lib/detach.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/detach.h"
#include "cli/each_process.h"
#include "lib/process_filter.h"
#include "lib/status.h"

#include <stdlib.h>

void detach_put_json(struct json *json, const struct hs_detach_result *result)
{
	json_number(json, "threads", result->threads);
	json_number(json, "stopped_us", result->stopped_longest_ns / 1000);
	json_number(json, "waited_ms", result->took_ns / 1000000);
	json_bool(json, "finished", result->is_finished);
	json_number(json, "threads_inside", result->threads_inside);
	json_number(json, "threads_unseen", result->threads_unseen);
	json_number(json, "calls_left", result->calls_left);
	json_number(json, "calls_unseen", result->calls_unseen);
	json_bool(json, "calls_lost", result->calls_lost);
	json_number(json, "foreign_hooks", result->foreign_hooks);
	json_bool(json, "verified", result->is_verified);
	json_open(json, "checks", '[');
	for (size_t i = 0; i < result->check_count; i++) {
		json_open(json, NULL, '{');
		json_string(json, "text", result->checks[i].text);
		if (result->checks[i].answer == HS_DETACH_NOT_COMPARABLE)
			json_null(json, "holds");
		else
			json_bool(json, "holds", result->checks[i].answer == HS_DETACH_HOLDS);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static bool print_json(const struct hs_detach_result *result, pid_t pid)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "detach");
	json_number(&json, "pid", (uint64_t)pid);
	detach_put_json(&json, result);
	return console_end_json(&json);
}

void detach_print_outcome(const struct options *options, const struct hs_detach_result *result, pid_t pid)
{
	char stopped[32], waited[32];

	switch (result->outcome) {
	case HS_DETACH_CLEARED:
		console_print(
			options,
			"process %d was not attached; what it had from an attached parent, or from an unfinished attach, is "
			"cleared away\n",
			pid);
		break;
	case HS_DETACH_DONE:
		console_print(options, "detached from %d: stopped for %s, done after %s\n", pid,
			      console_time(result->stopped_longest_ns, stopped), console_time(result->took_ns, waited));
		break;
	case HS_DETACH_FOREIGN_HOOKS:
		console_complain(
			"the hooks are out of process %d, but %zu of the places that they were in %s patched by another program since, "
			"and may lead into the payload; it stays mapped, inactive. Run `heapsnap detach %d` again when those patches are out\n",
			pid, result->foreign_hooks, result->foreign_hooks == 1 ? "was" : "were", pid);
		break;
	case HS_DETACH_THREADS_UNSEEN:
		console_complain(
			"the hooks are out of process %d, but %zu of its threads use so much stack that not all of it was examined "
			"yet (%zu more are still inside the payload); its code stays mapped. Run `heapsnap detach %d` again later\n",
			pid, result->threads_unseen, result->threads_inside, pid);
		break;
	case HS_DETACH_CALLS_LOST:
		console_complain(
			"the hooks are out of process %d, but too many allocation calls were abandoned by coroutines to track; "
			"the payload stays mapped, inactive, until the process ends\n",
			pid);
		break;
	case HS_DETACH_CALLS_LEFT:
		console_complain(
			"the hooks are out of process %d, but %zu of its allocation calls %s abandoned, probably by coroutines, and may return "
			"into the payload (%zu of them were not examined yet); its code stays mapped. Run `heapsnap detach %d` again later\n",
			pid, result->calls_left, result->calls_left == 1 ? "was" : "were", result->calls_unseen, pid);
		break;
	case HS_DETACH_THREADS_INSIDE:
		console_complain(
			"the hooks are out of process %d, but %zu of its threads %s still inside the payload; its code "
			"stays mapped. Run `heapsnap detach %d` again %s\n",
			pid, result->threads_inside, result->threads_inside == 1 ? "is" : "are", pid,
			result->inside_is_stopped ? "when the process, which is stopped by a signal, goes on"
						  : "later");
		break;
	}
}

static const char *answer_text(enum hs_detach_answer answer)
{
	switch (answer) {
	case HS_DETACH_HOLDS:
		return "yes";
	case HS_DETACH_NOT_COMPARABLE:
		return "not comparable: they changed meanwhile";
	case HS_DETACH_DOES_NOT_HOLD:
		break;
	}
	return "NO";
}

void detach_print_checks(const struct options *options, const struct hs_detach_result *result, pid_t pid, bool all)
{
	for (size_t i = 0; i < result->check_count; i++) {
		const struct hs_detach_check *check = &result->checks[i];

		if (all || check->answer == HS_DETACH_DOES_NOT_HOLD)
			console_print(options, "  %-36s %s\n", check->text, answer_text(check->answer));
		if (check->answer == HS_DETACH_DOES_NOT_HOLD)
			console_complain(
				"detached from process %d, but this does not hold, or could not be checked: %s\n", pid,
				check->text);
	}
}

static enum exit_status detach_one(const struct options *options, const struct process *process, void *context)
{
	struct hs_detach_result result;
	struct hs_error *error = hs_detach(process, DETACH_WAIT_MS, &result);

	(void)context;
	if (error)
		return fail_and_look(options, process, error);
	detach_print_outcome(options, &result, process->pid);
	detach_print_checks(options, &result, process->pid, true);
	if (options->json && !print_json(&result, process->pid))
		return EXIT_REFUSED;
	return result.is_verified ? EXIT_DONE : EXIT_REFUSED;
}

// Of processes by their numbers, as if they had been typed.
static enum exit_status detach_these(const struct options *options, const struct hs_status *list, size_t count)
{
	HS_CLEANUP_FREE char(*texts)[16] = calloc(count, sizeof(*texts));
	HS_CLEANUP_FREE const char **pids = calloc(count, sizeof(*pids));
	struct options these = *options;

	if (!texts || !pids)
		return console_fail(options, &hs_error_no_memory);
	for (size_t i = 0; i < count; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%d", (int)list[i].pid);
		pids[i] = texts[i];
	}
	these.pids = pids;
	these.pid_count = count;
	return each_process(&these, detach_one, NULL);
}

// Of all in which there is something of heapsnap.
static enum exit_status detach_all(const struct options *options)
{
	HS_CLEANUP_FREE struct hs_status *list = NULL;
	size_t count = 0, hidden = 0;
	bool unlisted = false;
	struct hs_error *error = hs_status_list(&list, &count, &hidden, &unlisted);

	if (error)
		return console_fail(options, error);
	warn_of_hidden_processes(hidden);
	if (unlisted)
		hs_warn("processes that /proc hides could not be looked at (those of other users need privilege)");
	if (count > 0)
		return detach_these(options, list, count);
	console_print(options, hidden || unlisted ? "no process that can be looked at is attached\n"
						  : "no process is attached\n");
	return EXIT_DONE;
}

enum exit_status command_detach(const struct options *options)
{
	return options->all && !hs_process_filter_is_given(&options->filter) ? detach_all(options)
									     : each_process(options, detach_one, NULL);
}
