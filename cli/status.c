// SPDX-License-Identifier: Apache-2.0
#include "lib/status.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/each_process.h"
#include "cli/memory_text.h"
#include "cli/sampling_text.h"
#include "cli/unseen_text.h"
#include "inject/abi/limits.h"
#include "views/json_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

static const char *state_name(const struct hs_status *process)
{
	switch (process->state) {
	case HS_STATE_ATTACHED:
		return "attached";
	case HS_STATE_ATTACH_UNFINISHED:
	case HS_STATE_LEFTOVERS:
		return "attach unfinished";
	case HS_STATE_DETACH_UNFINISHED:
		return "detach unfinished";
	case HS_STATE_IDLE_HOOKS:
		return "idle hooks";
	case HS_STATE_UNREADABLE:
		break;
	}
	return "unreadable";
}

// RFC 3339, UTC.
static const char *date(uint64_t wall_ns, char *buffer, size_t size)
{
	time_t seconds = (time_t)(wall_ns / 1000000000u);
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) || strftime(buffer, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		snprintf(buffer, size, "?");
	return buffer;
}

// How full the region is, percent.
static double fullness(const struct hs_status *process)
{
	return process->max_bytes ? 100.0 * (double)process->used_bytes / (double)process->max_bytes : 0;
}

// The intervals in force, where they differ from thread to thread or from what was asked for, and what recording costs.
static void print_costs(const struct options *options, const struct hs_status *process)
{
	char least[32], most[32], threads[COUNT_SIZE];

	if (process->interval_most > 1 && process->interval_least == process->interval_most)
		console_print(options, "  threads sample every %s on average\n",
			      number_bytes(process->interval_most, most));
	else if (process->interval_most > 1)
		console_print(options, "  threads sample every %s to %s on average\n",
			      number_bytes(process->interval_least, least), number_bytes(process->interval_most, most));
	else if (process->interval_most == 1 && process->sampling.mode != HS_SAMPLING_EXACT)
		console_print(options, "  every allocation of every thread is recorded now\n");
	if (process->threads_measured)
		console_print(options, "  recording costs the busiest thread %.2f %% of its time (of %s measured)\n",
			      process->cost_most / 1e4, console_count(process->threads_measured, "thread", threads));
	if (process->downsampled_to)
		console_print(
			options,
			"  records %s downsampled to one sample in %s: looking up frees among more records would exceed the budget\n",
			process->is_downsampling ? "are being" : "were", number_bytes(process->downsampled_to, most));
}

static void print_settings(const struct options *options, const struct hs_status *process)
{
	char text[SAMPLING_TEXT_SIZE], since[32], unseen[UNSEEN_TEXT_SIZE], frames[COUNT_SIZE], lost[COUNT_SIZE];

	if (unseen_text(process, unseen))
		console_print(options, "  warning: %s\n", unseen);
	if (process->lost_no_thread_pointer)
		console_print(options, "  warning: %s lost: by threads without a thread pointer\n",
			      console_count(process->lost_no_thread_pointer, "allocation", lost));
	if (!process->has_settings)
		console_print(options,
			      "  the region does not say what is recorded: `heapsnap set %d` puts it in order\n",
			      process->pid);
	else
		console_print(options, "  records %s, stacks of up to %s, since %s\n",
			      sampling_text(&process->sampling, text), console_count(process->depth, "frame", frames),
			      date(process->settings_wall_ns, since, sizeof(since)));
	print_costs(options, process);
	console_print(options, "  %" PRIu64 " of %" PRIu64 " pages in use (%.1f %%), %u of %u thread slots\n",
		      process->used_bytes / HS_PAGE_SIZE, process->max_bytes / HS_PAGE_SIZE, fullness(process),
		      process->thread_slots_used, process->thread_slots);
}

static void print_process(const struct options *options, const struct hs_status *process)
{
	char since[32], used[32], limit[32], hooks[COUNT_SIZE];

	switch (process->state) {
	case HS_STATE_LEFTOVERS:
		console_print(options, "%d %s: %s\n", process->pid, process->name, state_name(process));
		break;
	case HS_STATE_IDLE_HOOKS:
		console_print(options,
			      "%d %s: not attached; idle hooks inherited from an attached parent, which do nothing\n",
			      process->pid, process->name);
		console_print(options, "  to remove them: heapsnap detach %d\n", process->pid);
		break;
	case HS_STATE_UNREADABLE:
		console_print(options, "%d %s: %s: %s\n", process->pid, process->name, state_name(process),
			      process->reason);
		break;
	default:
		console_print(options, "%d %s: %s since %s, %s, %s of %s used\n", process->pid, process->name,
			      state_name(process), date(process->attached_wall_ns, since, sizeof(since)),
			      console_count(process->hooks, "hook", hooks), number_bytes(process->used_bytes, used),
			      number_bytes(process->max_bytes, limit));
	}
	if (process->memory.is_known)
		memory_print(options, "  process", &process->memory);
	if (process->state == HS_STATE_ATTACHED)
		print_settings(options, process);
	if (process->state == HS_STATE_LEFTOVERS || process->state == HS_STATE_ATTACH_UNFINISHED ||
	    process->state == HS_STATE_DETACH_UNFINISHED)
		console_print(options, "  the next attach or detach clears away what is left: heapsnap detach %d\n",
			      process->pid);
}

// What the header of a region says, where there is one that can be read.
static void put_region(struct json *json, const struct hs_status *process)
{
	if (process->state == HS_STATE_UNREADABLE || process->state == HS_STATE_LEFTOVERS ||
	    process->state == HS_STATE_IDLE_HOOKS)
		return;
	json_number(json, "hooks", process->hooks);
	json_number(json, "hooks_refused", process->hooks_refused);
	json_number(json, "threads", process->threads);
	json_number(json, "modules", process->modules);
	json_number(json, "region_used_bytes", process->used_bytes);
	json_number(json, "max_bytes", process->max_bytes);
}

static void put_settings(struct json *json, const struct hs_status *process)
{
	char since[32];

	json_number(json, "region_used_pages", process->used_bytes / HS_PAGE_SIZE);
	json_number(json, "max_pages", process->max_bytes / HS_PAGE_SIZE);
	json_real(json, "region_used_percent", fullness(process));
	json_number(json, "thread_slots_used", process->thread_slots_used);
	json_number(json, "thread_slots", process->thread_slots);
	json_number(json, "unseen_functions", process->unseen_functions);
	json_number(json, "lost_no_thread_pointer", process->lost_no_thread_pointer);
	if (process->counts_untracked) {
		json_number(json, "frees", process->frees);
		json_number(json, "unknown_frees", process->unknown_frees);
	}
	if (process->interval_most) {
		json_number(json, "interval_least", process->interval_least);
		json_number(json, "interval_most", process->interval_most);
	}
	if (process->threads_measured) {
		json_number(json, "threads_measured", process->threads_measured);
		json_real(json, "cost_most_percent", process->cost_most / 1e4);
	}
	if (process->downsampled_to) {
		json_number(json, "downsampled_to", process->downsampled_to);
		json_bool(json, "is_downsampling", process->is_downsampling);
	}
	if (!process->has_settings)
		return;
	json_open(json, "settings", '{');
	sampling_put_json(json, &process->sampling);
	json_number(json, "depth", process->depth);
	json_string(json, "since", date(process->settings_wall_ns, since, sizeof(since)));
	json_close(json, '}');
}

// What the list of all does not tell.
struct not_told {
	size_t hidden; // processes that may not be looked at
	bool unlisted; // /proc does not list all
};

// `not_told`: NULL for one process.
static bool print_json(const struct hs_status *list, size_t count, const struct not_told *not_told)
{
	struct json json;
	char since[32];

	json_begin(&json, stdout);
	json_string(&json, "command", "status");
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(&json, NULL, '{');
		json_number(&json, "pid", (uint64_t)list[i].pid);
		json_string(&json, "name", list[i].name);
		json_string(&json, "state", state_name(&list[i]));
		if (list[i].state == HS_STATE_UNREADABLE)
			json_string(&json, "reason", list[i].reason);
		if (list[i].attached_wall_ns)
			json_string(&json, "since", date(list[i].attached_wall_ns, since, sizeof(since)));
		memory_put_json(&json, &list[i].memory);
		put_region(&json, &list[i]);
		if (list[i].state == HS_STATE_ATTACHED)
			put_settings(&json, &list[i]);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	if (not_told) {
		json_number(&json, "not_looked_at", not_told->hidden);
		json_bool(&json, "proc_hides_processes", not_told->unlisted);
	}
	return console_end_json(&json);
}

static enum exit_status status_of_one(const struct options *options, const struct process *process, void *context)
{
	struct hs_status status;
	struct hs_error *error = hs_status_read(process, &status, NULL);

	(void)context;
	if (error)
		return console_fail(options, error);
	print_process(options, &status);
	return !options->json || print_json(&status, 1, NULL) ? EXIT_DONE : EXIT_REFUSED;
}

static enum exit_status status_of_all(const struct options *options)
{
	struct hs_status *list = NULL;
	size_t count = 0;
	struct not_told not_told = { 0 };
	enum exit_status status = EXIT_DONE;
	struct hs_error *error = hs_status_list(&list, &count, &not_told.hidden, &not_told.unlisted);

	if (error)
		return console_fail(options, error);
	for (size_t i = 0; i < count; i++)
		print_process(options, &list[i]);
	if (count == 0)
		console_print(options, not_told.hidden || not_told.unlisted
					       ? "no process that can be looked at is attached\n"
					       : "no process is attached\n");
	if (not_told.hidden)
		console_print(options, "%zu process%s could not be looked at (those of other users need privilege)\n",
			      not_told.hidden, not_told.hidden == 1 ? "" : "es");
	if (not_told.unlisted)
		console_print(options, "processes that /proc hides could not be looked at (those of other users need "
				       "privilege)\n");
	if (options->json && !print_json(list, count, &not_told))
		status = EXIT_REFUSED;
	free(list);
	return status;
}

enum exit_status command_status(const struct options *options)
{
	return options->pid_count || hs_process_filter_is_given(&options->filter)
		       ? each_process(options, status_of_one, NULL)
		       : status_of_all(options);
}
