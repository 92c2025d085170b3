// SPDX-License-Identifier: Apache-2.0
#include "lib/run.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/headline.h"
#include "cli/peak_text.h"
#include "cli/run_paths.h"
#include "cli/unseen_text.h"
#include "cli/view_text.h"
#include "views/completeness.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

// As shells, env(1) and timeout(1) end where a command was not run.
enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

static void add_count(char *text, size_t size, size_t count, const char *words)
{
	const size_t used = strlen(text);

	if (count)
		snprintf(text + used, size - used, "%s%zu %s", used ? ", " : "", count, words);
}

static const char *processes(size_t count, char *text, size_t size)
{
	snprintf(text, size, "%zu %s", count, count == 1 ? "process" : "processes");
	return text;
}

// Snapshots of --every and --on, where they are of several processes.
static void tell_snapshots(const struct options *options, const struct hs_run_snapshots *snapshots)
{
	const struct hs_run_written *written = &snapshots->written;
	char text[300] = "", count[COUNT_SIZE];

	if (!snapshots->times)
		return;
	add_count(text, sizeof(text), written->whole + written->incomplete, "written");
	add_count(text, sizeof(text), snapshots->over, "not: the process was over before");
	add_count(text, sizeof(text), snapshots->left_out, "not: the one before was still to be taken");
	add_count(text, sizeof(text), written->failed, "failed");
	console_print(options, "Profiles meanwhile, %s: %s.\n", console_count(snapshots->times, "time", count),
		      *text ? text : "none");
}

// What is known of the command itself at its end.
enum command_record { COMMAND_UNRECORDED, COMMAND_WITHOUT_PROFILE, COMMAND_INCOMPLETE, COMMAND_COMPLETE };

// One line for all processes.
static void tell_truth_of_all(const struct options *options, const struct hs_run_children *children,
			      enum command_record command)
{
	const bool is_recorded = command != COMMAND_UNRECORDED,
		   has_profile = command == COMMAND_INCOMPLETE || command == COMMAND_COMPLETE;
	const size_t recorded = children->recorded + is_recorded, others = children->started - children->recorded,
		     incomplete = children->ends.incomplete + (command == COMMAND_INCOMPLETE),
		     written = children->ends.whole + children->ends.incomplete + has_profile;
	char text[200] = "", rest[60] = "";

	if (!children->are_followed || !children->started || !recorded)
		return;
	if (others)
		snprintf(rest, sizeof(rest), "; %zu %s not recorded", others, others == 1 ? "was" : "were");
	add_count(text, sizeof(text), incomplete, "incomplete, as told of each");
	add_count(text, sizeof(text), recorded > written ? recorded - written : 0, "without a profile of the end");
	console_print(options, "%s of %zu recorded %s%s%s%s.\n",
		      *text ? "Incomplete: something is lost" : "Nothing lost", recorded,
		      recorded == 1 ? "process" : "processes", *text ? ": " : "", text, rest);
}

// What became of the processes that the command has started.
static void tell_children(const struct options *options, const struct hs_run_children *children)
{
	char text[200] = "", count[COUNT_SIZE];

	if (!children->started)
		return;
	processes(children->started, count, sizeof(count));
	if (!children->are_followed) {
		console_print(options, "It started at least %s, not recorded; --children records what it starts.\n",
			      count);
		return;
	}
	add_count(text, sizeof(text), children->recorded, "recorded");
	add_count(text, sizeof(text), children->forked, "not: executed no program");
	add_count(text, sizeof(text), children->too_many, "not: too many at once");
	add_count(text, sizeof(text), children->failed, "could not be");
	console_print(options, "It started %s, with those of its children: %s.\n", count, text);
	if (children->late)
		console_print(options,
			      "Recorded since half a second after the beginning, or later: %s (executed no program, or "
			      "too many at once).\n",
			      processes(children->late, count, sizeof(count)));
	if (children->left)
		console_print(options, "%s outlived it: recorded until then, detached, and left to go on.\n",
			      processes(children->left, count, sizeof(count)));
}

static bool is_complete(const struct heap_profile *profile, char **text_ret)
{
	bool is = false;
	struct hs_error *error = completeness_text(profile, &is, text_ret);

	hs_error_destroy(error);
	return !error && is;
}

// Rows are of what is live. Of a program that has freed nearly all before its end they do not say where its memory
// went.
static struct hs_error *tell_most_allocated(const struct options *options, const struct profile_view *view)
{
	const int64_t least = 1 << 20, times = 10;
	const struct profile_values *all = &view->shown;
	const struct site *most = NULL;
	char part[NUMBER_SIZE], whole[NUMBER_SIZE];
	HS_CLEANUP_FREE char *name = NULL;
	struct hs_error *error;

	for (size_t i = 0; i < view->sites.count; i++)
		if (!most || view->sites.items[i].values.alloc_bytes > most->values.alloc_bytes)
			most = &view->sites.items[i];
	// of a part of the stacks it says nothing
	if (!most || view->kept || values_order_is_allocated(options->view.order) || all->alloc_bytes < least ||
	    all->live_bytes > all->alloc_bytes / times)
		return NULL;
	error = site_path_text(&view->named, most, 0, 1, &name);
	if (error)
		return error;
	console_print(
		options, "Little is live at the end; %s was allocated by %s: %s%s of %s (--sort alloc-bytes%s).\n",
		most->values.alloc_bytes > all->alloc_bytes / 2 ? "most" : "the largest part", name,
		view->named.profile->is_estimate ? "~" : "", number_bytes((uint64_t)most->values.alloc_bytes, part),
		number_bytes((uint64_t)all->alloc_bytes, whole),
		options->at_peak || options->children ? "" : "; what was live at the peak: --at-peak FILE");
	return NULL;
}

static struct hs_error *show(const struct options *options, const struct hs_dump_result *result, const char *output,
			     const struct hs_run_event *event)
{
	const struct hs_run_children *children = &event->children;
	HS_CLEANUP_FREE char *text = NULL;
	char file[NUMBER_SIZE], count[COUNT_SIZE];
	struct hs_error *error;

	headline_print(options, &result->profile);
	shown_print(options, &result->view);
	error = view_rows_print(options, &result->view);
	if (!error && event->kind == HS_RUN_ENDED)
		error = tell_most_allocated(options, &result->view);
	if (error)
		return error;
	if (children->started)
		truth_print_of_one(options, &result->profile);
	else
		truth_print(options, &result->profile);
	if (output)
		console_print(options, "%s: %s, from %s\n", output, number_bytes(result->file_bytes, file),
			      console_count(result->profile.sample_count, "stack", count));
	tell_children(options, children);
	tell_snapshots(options, &children->snapshots);
	tell_truth_of_all(options, children,
			  is_complete(&result->profile, &text) ? COMMAND_COMPLETE : COMMAND_INCOMPLETE);
	return NULL;
}

// Writes what was copied.
static struct hs_error *write_copy(const struct options *options, const struct view_options *view,
				   const struct hs_run_event *event, const char *output, struct hs_dump_result *ret)
{
	const struct hs_dump_options dump = {
		.output = output,
		.format = options->format,
		.view = *view,
		.errors = options->errors,
		.from_start = event->missed < HS_RUN_MISSED_BEGINNING,
		.peak_looks = event->kind == HS_RUN_PEAK ? event->peak.looks : 0,
		.no_cache = options->no_cache,
		.debuginfod = options->debuginfod,
	};

	return hs_dump_copied(event->copy, &dump, ret);
}

static struct hs_error *write_end_as_peak(const struct options *options, const struct hs_run_event *event,
					  struct hs_dump_result *result)
{
	const struct hs_run_peak *peak = &event->peak;
	struct hs_dump_options dump = { .format = options->format, .errors = options->errors };
	HS_CLEANUP_FREE char *output = NULL;
	struct hs_error *error = run_path_at_peak(options, event->name, result->profile.pid, &output);
	uint64_t bytes;

	dump.output = output;
	result->profile.peak_looks = peak->looks;
	if (!error)
		error = hs_dump_write(&result->view.named, &dump, NULL, &bytes);
	if (error)
		return hs_error_prefix(error, "no profile of the peak");
	peak_print_end(options, &(struct peak_file){ output, bytes, peak->looks, peak->missed });
	return NULL;
}

// In the process that has looked for it.
static enum exit_status write_peak(const struct options *options, const struct view_options *view,
				   struct hs_run_event *event)
{
	HS_CLEANUP_FREE char *output = NULL;
	struct hs_dump_result result;
	struct hs_error *error = run_path_at_peak(options, event->name, event->pid, &output);

	if (!error)
		error = write_copy(options, view, event, output, &result);
	if (!error) {
		error = peak_print(
			options, &result,
			&(struct peak_file){ output, result.file_bytes, event->peak.looks, event->peak.missed });
		hs_dump_result_deinit(&result);
	}
	hs_run_copy_destroy(event->copy);
	return error ? console_fail(options, hs_error_prefix(error, "no profile of the peak")) : EXIT_DONE;
}

static struct hs_error *finish(const struct options *options, const struct view_options *view,
			       struct hs_run_event *event, const char *output)
{
	struct hs_dump_result result;
	struct hs_error *error = write_copy(options, view, event, output, &result);

	if (error && output && event->peak.is_end)
		return hs_error_prefix(error, "no profile of the end, which is the peak");
	if (error)
		return error;
	error = show(options, &result, output, event);
	if (!error && event->peak.is_end) {
		struct hs_error *of_peak = write_end_as_peak(options, event, &result);

		if (of_peak)
			(void)console_fail(options, of_peak);
	}
	hs_dump_result_deinit(&result);
	return error;
}

static void describe_end(bool has_status, int status, char *text, size_t size)
{
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

	if (!has_status)
		snprintf(text, size, "goes on");
	else if (WIFSIGNALED(status))
		snprintf(text, size, "was ended by SIG%s", name ? name : "?");
	else
		snprintf(text, size, "has ended with exit status %d", WEXITSTATUS(status));
}

static void print_child(const struct options *options, const struct hs_run_event *event,
			const struct hs_dump_result *result, const char *output, char *lost)
{
	const struct profile_values *total = &result->profile.total;
	char end[80], live[NUMBER_SIZE], blocks[COUNT_SIZE];

	if (event->kind == HS_RUN_SNAPSHOT)
		snprintf(end, sizeof(end), "goes on, snapshot %u", event->number);
	else
		describe_end(event->has_status, event->status, end, sizeof(end));
	if (lost)
		*lost = (char)tolower((unsigned char)*lost);
	console_print(options, "Process %d (%s) %s: %s%s live in %s%s%s%s%s\n", (int)event->pid, event->name, end,
		      result->profile.is_estimate ? "about " : "", number_bytes((uint64_t)total->live_bytes, live),
		      console_count((uint64_t)total->live_objects, "block", blocks), output ? "; " : "",
		      output ? output : "", lost ? "; " : "", lost ? lost : "");
}

// The end of a child, or a snapshot of one of several processes.
static enum exit_status write_child(const struct options *options, const struct view_options *view,
				    struct hs_run_event *event)
{
	HS_CLEANUP_FREE char *output = NULL, *lost = NULL;
	const bool is_snapshot = event->kind == HS_RUN_SNAPSHOT;
	struct hs_dump_result result;
	struct hs_error *error = event->error;
	bool is_whole = false;

	if (!error)
		error = is_snapshot ? run_path_of_snapshot(options, event->name, event->pid, event->number, &output)
				    : run_path_at_exit(options, event->name, event->pid, true, &output);
	if (!error)
		error = write_copy(options, view, event, output, &result);
	if (!error) {
		is_whole = is_complete(&result.profile, &lost);
		print_child(options, event, &result, output, is_whole ? NULL : lost);
		hs_dump_result_deinit(&result);
	}
	hs_run_copy_destroy(event->copy);
	if (error)
		error = hs_error_prefix(error, "no profile of process %d", (int)event->pid);
	if (error)
		return console_fail(options, error);
	_Static_assert((int)EXIT_DONE == HS_RUN_WROTE && (int)EXIT_REFUSED == HS_RUN_FAILED, "as console_fail has it");
	return (enum exit_status)(is_whole ? HS_RUN_WROTE : HS_RUN_WROTE_INCOMPLETE);
}

static enum exit_status write_snapshot(const struct options *options, const struct view_options *view,
				       struct hs_run_event *event)
{
	HS_CLEANUP_FREE char *name = NULL;
	struct hs_error *error = event->error;

	if (!error)
		error = run_path_of_snapshot(options, event->name, event->pid, event->number, &name);
	if (!error)
		error = finish(options, view, event, name);
	hs_run_copy_destroy(event->copy);
	return error ? console_fail(options, error) : EXIT_DONE;
}

static void print_attached(const struct options *options, const struct hs_attach_result *result, pid_t pid,
			   enum hs_run_missed missed)
{
	char hooks[COUNT_SIZE], memory[NUMBER_SIZE];

	if (options->verbose)
		console_print(options, "recording %d from %s: %s hooked; region limit %s\n", (int)pid,
			      missed == HS_RUN_MISSED_BEGINNING ? "now on" : "its beginning",
			      console_count(result->hooks, "function", hooks),
			      number_bytes(result->region_bytes, memory));
	if (missed == HS_RUN_MISSED_BEGINNING)
		hs_warn("process %d %s", (int)pid, hs_run_missed_beginning);
	else if (missed == HS_RUN_MISSED_CONSTRUCTORS)
		console_print(options,
			      "process %d was recorded from its entry point on: constructors of its libraries "
			      "had run before\n",
			      (int)pid);
	if (!result->loader_followed && !result->is_static)
		hs_warn("libraries loaded from now on will not be seen: no hook for the dynamic loader's list");
}

static void tell_executed(const struct options *options, struct hs_run_event *event, pid_t pid)
{
	if (event->error)
		console_complain("process %d has executed another program, which is not recorded: %s\n", (int)pid,
				 event->error->message);
	else
		print_attached(options, &event->attached, pid, event->missed);
	hs_error_destroy(event->error);
}

// Of a command without a profile of its end.
static void tell_all(const struct options *options, const struct hs_run_children *children, enum command_record command)
{
	tell_children(options, children);
	tell_snapshots(options, &children->snapshots);
	tell_truth_of_all(options, children, command);
}

// `path`: of a profile that was asked for; NULL = it was not.
static void tell_unrecorded(const char *path, pid_t pid)
{
	if (path)
		console_complain("no profile %s: process %d was not recorded\n", path, (int)pid);
}

static void tell_end(const struct options *options, const struct view_options *view, struct hs_run_event *event,
		     pid_t pid)
{
	HS_CLEANUP_FREE char *output = NULL;
	struct hs_error *error = event->error;
	char end[80];

	if (!event->is_recorded) {
		hs_error_destroy(error);
		tell_unrecorded(options->at_exit, pid);
		tell_unrecorded(options->at_peak, pid);
		tell_all(options, &event->children, COMMAND_UNRECORDED);
		return;
	}
	describe_end(true, event->status, end, sizeof(end));
	console_print(options, "Process %d %s\n", (int)pid, end);
	if (!error)
		error = run_path_at_exit(options, event->name, pid, false, &output);
	if (!error && event->copy && (options->at_exit || event->peak.is_end || !options->quiet))
		error = finish(options, view, event, output);
	else if (!error && !event->copy && (options->at_exit || !options->quiet))
		error = hs_error_create(
			HS_ERROR_GONE,
			"the heap at the end of process %d could not be read: it was gone before (killed "
			"once more while it ended, or another of its threads had executed a program)",
			(int)pid);
	hs_run_copy_destroy(event->copy);
	if (!error)
		return;
	(void)console_fail(options, error);
	tell_all(options, &event->children, COMMAND_WITHOUT_PROFILE);
}

static enum exit_status fail_to_begin(const struct options *options, struct hs_error *error)
{
	const bool is_unknown = error->error_number == ENOENT, is_command = error->code == HS_ERROR_REMOTE,
		   is_interrupted = error->code == HS_ERROR_INTERRUPTED;

	(void)console_fail(options, error);
	if (!is_command && !is_interrupted)
		console_explain(options, "the command was not run; --anyway runs it without recording it\n");
	return (enum exit_status)(!is_command ? EXIT_NOT_RUN : is_unknown ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

static void tell_unseen_peak(const struct options *options, const struct hs_run_event *event, pid_t pid)
{
	if (!options->at_peak || event->peak.is_known || !event->is_recorded)
		return;
	console_complain("no profile %s: the peak of process %d was not seen\n", options->at_peak, (int)pid);
}

// Until the command ends. Returns in a process that writes a snapshot as well.
static enum exit_status follow(const struct options *options, const struct view_options *view, struct hs_run *run)
{
	const pid_t pid = hs_run_process(run)->pid;
	struct hs_run_event event;

	for (;;) {
		hs_run_next(run, &event);
		switch (event.kind) {
		case HS_RUN_SNAPSHOT:
			return options->children ? write_child(options, view, &event)
						 : write_snapshot(options, view, &event);
		case HS_RUN_PEAK:
			return write_peak(options, view, &event);
		case HS_RUN_CHILD:
			return write_child(options, view, &event);
		case HS_RUN_EXECUTED:
			tell_executed(options, &event, pid);
			break;
		case HS_RUN_ENDED:
			tell_end(options, view, &event, pid);
			tell_unseen_peak(options, &event, pid);
			hs_run_end(run);
			hs_run_end_like(event.status);
		}
	}
}

enum exit_status command_run(const struct options *options)
{
	const struct hs_run_options run_options = {
		.command = options->command_words,
		.attach = { .depth = options->depth,
			    .max_memory = options->max_memory,
			    .sampling = options->sampling,
			    .allocators = { options->allocators, options->allocator_count } },
		.every_ns = options->every_ns,
		.on_signal = options->on_signal,
		.at_end = options->at_exit || options->at_peak || !options->quiet,
		.at_peak = options->at_peak,
		.anyway = options->anyway,
		.children = options->children,
	};
	struct view_setting setting;
	struct hs_attach_result attached;
	struct hs_run *run = NULL;
	enum hs_run_missed missed;
	struct hs_error *why = NULL;
	struct hs_error *error = view_check(options);
	enum exit_status status;

	if (!error)
		error = view_setting_init(options, &setting);
	if (error)
		return fail_to_begin(options, error);
	error = run_paths_check(options);
	if (!error)
		error = hs_run_begin(&run_options, &run, &attached, &missed, &why);
	if (error && !run) {
		view_setting_deinit(&setting);
		return fail_to_begin(options, error);
	}
	if (!why)
		why = error; // it ended before it began, and its status says how; or it could not be held
	if (why)
		console_complain("the command is not recorded: %s\n", why->message);
	else
		print_attached(options, &attached, hs_run_process(run)->pid, missed);
	hs_error_destroy(why);
	status = follow(options, &setting.options, run);
	view_setting_deinit(&setting);
	return status;
}
