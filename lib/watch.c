// SPDX-License-Identifier: Apache-2.0
#include "lib/watch.h"

#include "attach/guard/interrupt_signal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc_maps.h"
#include "lib/cut_times.h"
#include "lib/leave.h"
#include "lib/malloc_heap.h"
#include "lib/pause.h"

_Static_assert((int)CUT_TIMES_LEAST >= (int)TREND_LEAST && (int)CUT_TIMES_MOST < (int)TREND_MOST,
	       "enough for a verdict, and no more than there is room for");

static void drop_view(struct hs_watch_result *result)
{
	profile_view_deinit(&result->view);
	heap_profile_deinit(&result->profile);
}

void hs_watch_result_deinit(struct hs_watch_result *result)
{
	verdict_deinit(&result->verdict);
	growth_deinit(&result->growth);
	growth_series_deinit(&result->series);
	drop_view(result);
	*result = (struct hs_watch_result){ 0 };
}

// 0 = none, or it cannot be told.
static uint64_t heap_bytes(const struct process *process)
{
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);
	uint64_t bytes;

	if (error) {
		hs_error_destroy(error);
		return 0;
	}
	bytes = malloc_heap_bytes(&maps);
	proc_maps_deinit(&maps);
	return bytes;
}

// The new profile takes the place of the old one, which the series does not need any more. After a failure the old one
// is still there. *first_ns: when the first one was taken.
static struct hs_error *take_cut(const struct process *process, const struct hs_watch_options *options,
				 struct hs_watch_result *result, int64_t *first_ns)
{
	uint32_t epochs[TREND_MOST];
	const struct hs_dump_options dump = { .no_cache = options->no_cache,
					      .debuginfod = options->debuginfod,
					      // no view, which would point into what moves
					      .blocks = { .cohort_epochs = epochs,
							  .cohort_epoch_count =
								  growth_series_epochs(&result->series, epochs) } };
	struct growth_cut facts = { .heap_bytes = heap_bytes(process) };
	struct hs_dump_result cut;
	struct hs_error *error = hs_dump(process, &dump, &cut);

	if (error)
		return error;
	if (result->series.count && cut.profile.attach_ns != result->profile.attach_ns) {
		heap_profile_deinit(&cut.profile);
		return hs_error_create(HS_ERROR_NOT_FOUND, "process %d was detached, and attached again",
				       (int)process->pid);
	}
	if (!result->series.count)
		*first_ns = cut.profile.duration_ns;
	facts.seconds = (double)(cut.profile.duration_ns - *first_ns) / 1e9;
	drop_view(result);
	result->profile = cut.profile; // it has this of the dump; nothing else is owned there
	error = profile_view_make(&result->profile, options->rules, &result->view);
	if (error)
		return error;
	return growth_series_add(&result->series, &facts, &result->view.named, &result->view.sites);
}

// Another command that is at work there, or a process that does not get on: the next cut may do better.
static bool may_pass(const struct hs_error *error)
{
	return error->code == HS_ERROR_REFUSED || error->code == HS_ERROR_TIMEOUT;
}

// What has kept a cut from being taken. It ends the watch, or is passed over, where there are cuts to judge by.
static struct hs_error *end_early(const struct process *process, struct hs_error *error, bool is_last,
				  struct hs_watch_result *result)
{
	if (!result->series.count)
		return error;
	if (hs_leave_is_nothing_left(error))
		result->end = process_lives(process) ? HS_WATCH_PROCESS_LEFT : HS_WATCH_PROCESS_ENDED;
	else if (error->code == HS_ERROR_INTERRUPTED && result->end == HS_WATCH_COMPLETE)
		result->end = HS_WATCH_INTERRUPTED;
	else if (is_last || !may_pass(error))
		return error;
	if (error->code == HS_ERROR_INTERRUPTED)
		interrupt_clear();
	hs_error_destroy(error);
	return NULL;
}

// The first one. Nothing can be judged without it. It takes longest, since symbols are read for it, so time is counted
// from its end.
static struct hs_error *begin_cuts(const struct process *process, const struct hs_watch_options *options,
				   struct hs_watch_result *result, int64_t *first_ns)
{
	const uint64_t began = hs_monotonic_ns();
	struct hs_error *error = take_cut(process, options, result, first_ns);

	return hs_leave_explain(process, error, hs_monotonic_ns() - began);
}

static struct hs_error *take_cuts(const struct process *process, const struct hs_watch_options *options,
				  struct hs_watch_result *result)
{
	int64_t first_ns = 0;
	struct hs_error *error = begin_cuts(process, options, result, &first_ns);
	uint64_t now = hs_monotonic_ns(), cost = 0;
	struct cut_times times = cut_times_make(now, options->time_ns);
	bool is_over = false;

	while (!error && !is_over && result->end == HS_WATCH_COMPLETE) {
		const uint64_t at = cut_times_next(&times, now, cost);
		const enum hs_pause_end end = hs_pause(process, at, "watching, seconds", times.began, times.ends);

		if (end == HS_PAUSE_INTERRUPTED)
			result->end = HS_WATCH_INTERRUPTED;
		is_over = at == times.ends || end == HS_PAUSE_INTERRUPTED;
		now = hs_monotonic_ns();
		error = end == HS_PAUSE_GONE ? process_gone(process) : take_cut(process, options, result, &first_ns);
		if (error)
			error = end_early(process, error, is_over, result);
		cost = hs_monotonic_ns() - now;
		now += cost;
		if (!is_over && result->series.count == CUT_TIMES_MOST) {
			growth_series_thin(&result->series);
			cut_times_spread(&times);
		}
	}
	return error;
}

// What it has attached is taken out; where the process has gone there is nothing to take out of.
static struct hs_error *leave(const struct process *process, const struct hs_watch_options *options,
			      struct hs_watch_result *result, struct hs_error *error)
{
	const bool is_gone = result->end == HS_WATCH_PROCESS_ENDED;

	// What is attached to it now, if it lives, is another command's.
	if (result->was_attached || result->end == HS_WATCH_PROCESS_LEFT)
		return error;
	error = hs_leave(process, error, options->detach_wait_ms, &result->detach);
	result->has_detached = !error;
	if (!is_gone || !error || (!hs_leave_is_nothing_left(error) && process_lives(process)))
		return error;
	hs_error_destroy(error);
	return NULL;
}

static struct hs_error *enter(const struct process *process, const struct hs_watch_options *options,
			      struct hs_watch_result *result)
{
	struct hs_entry entry;
	struct hs_error *error = hs_enter(process, &options->attach, &entry);

	result->was_attached = !error && entry.was_attached;
	if (error || !entry.is_stopped)
		return error;
	return hs_error_create(HS_ERROR_REFUSED,
			       "process %d is attached, and nothing new is recorded, so that nothing can be seen "
			       "to grow: heapsnap set %d --start-recording",
			       (int)process->pid, (int)process->pid);
}

static struct hs_error *judge(struct hs_watch_result *result)
{
	struct hs_error *error = growth_make(&result->series, &result->growth);

	return error ? error : verdict_make(&result->growth, &result->view.named, &result->verdict);
}

static struct hs_error *write_file(const struct hs_watch_options *options, const struct hs_watch_result *result,
				   const char *path, enum profile_format format, uint64_t *bytes_ret)
{
	const struct growth_series *series = &result->series;
	const struct hs_dump_options dump = { .output = path, .format = format, .errors = options->errors };
	struct hs_story_point points[TREND_MOST];
	const struct hs_story story = { .verdict = &result->verdict, .points = points, .point_count = series->count };

	for (size_t i = 0; i < series->count; i++)
		points[i] = (struct hs_story_point){ series->cuts[i].seconds, series->cuts[i].memory.rss,
						     series->cuts[i].live_bytes };
	return path ? hs_dump_write(&result->view.named, &dump, &story, bytes_ret) : NULL;
}

static struct hs_error *try_outputs(const struct hs_watch_options *options)
{
	struct hs_error *error = hs_dump_check_output(options->output, options->format);

	return error ? error : hs_dump_check_output(options->page, PROFILE_PAGE);
}

struct hs_error *hs_watch(const struct process *process, const struct hs_watch_options *options,
			  struct hs_watch_result *ret)
{
	struct hs_error *error = try_outputs(options);

	*ret = (struct hs_watch_result){ 0 };
	if (!error)
		error = enter(process, options, ret);
	if (error) {
		*ret = (struct hs_watch_result){ 0 };
		return error;
	}
	error = take_cuts(process, options, ret);
	error = leave(process, options, ret, error);
	if (!error)
		error = judge(ret);
	if (!error)
		error = write_file(options, ret, options->output, options->format, &ret->output_bytes);
	if (!error)
		error = write_file(options, ret, options->page, PROFILE_PAGE, &ret->page_bytes);
	if (error)
		hs_watch_result_deinit(ret);
	return error;
}
