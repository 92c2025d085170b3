// SPDX-License-Identifier: Apache-2.0
#include "snapshot/snapshot.h"

#include "attach/arch/clock.h"
#include "attach/guard/interrupt.h"
#include "attach/ptrace/threads.h"
#include "attach/region/region_access.h"
#include "attach/region/thread_slots.h"
#include "attach/session/transaction.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "snapshot/copy/running_copy.h"
#include "snapshot/copy/table_check.h"
#include "snapshot/copy/table_copy.h"
#include "snapshot/process_memory.h"
#include "snapshot/profile/aggregate.h"
#include "snapshot/profile/label_texts.h"
#include "snapshot/profile/ledger.h"
#include "snapshot/profile/live_total.h"
#include "snapshot/profile/profile_build.h"
#include "snapshot/profile/selection_text.h"
#include "snapshot/profile/thread_names.h"
#include "snapshot/symbols/module_files.h"
#include "snapshot/symbols/symbolize.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNNING_TRIES = 2 };

// What is taken from the process; all later stages work on this alone (symbols read files, and are of a process that
// may have ended since).
struct heap_copy {
	struct table_copy copy;
	struct proc_maps maps;
	struct module_files files; // where the files of its modules are found
	char *program, *name;      // as in heap_profile; owned
	pid_t pid;
	struct profile_memory memory;
	struct snapshot_timing timing;
	uint64_t wall_ns, monotonic_ns;
	uint64_t ticks; // of the time-stamp counter, then
	uint32_t epoch; // as in profile_cut
	struct block_selection selection;
	struct thread_names threads;
	uint64_t pending; // blocks that are in the copy as if they were not being reallocated
	uint64_t log_records;
	uint32_t copies;
	const char *stopped_because; // as in heap_profile
	bool has_ended;              // likewise
};

void heap_copy_destroy(struct heap_copy *copy)
{
	if (!copy)
		return;
	table_copy_deinit(&copy->copy);
	proc_maps_deinit(&copy->maps);
	module_files_close(&copy->files);
	thread_names_deinit(&copy->threads);
	free(copy->program);
	free(copy->name);
	free(copy);
}

// Slots of ended threads are given back only while all threads stand still: without that, a new thread could take one
// over at the same moment, because it has the control block of the old one. So once in a while that must be done.
static bool slots_run_short(const struct table_copy *copy, size_t living)
{
	struct table_view view;
	size_t taken = 0;

	table_copy_view(copy, &view);
	for (uint32_t i = 0; i < HS_THREAD_SLOTS_ALL; i++) {
		const struct shared_slot *slot = table_slot(&view, i);

		taken += slot && thread_key_is_taken(slot->thread_pointer);
	}
	return taken >= HS_THREAD_SLOTS / 2 && living <= taken / 2;
}

// What was copied is the heap of the program that the process executes. `maps`: read after the copy, or under the
// freeze.
static struct hs_error *refuse_another_program(const struct region_access *access, const struct proc_maps *maps)
{
	return region_is_there(access, maps)
		       ? NULL
		       : hs_error_create(
				 HS_ERROR_REFUSED,
				 "process %d has executed another program during the dump, and is not attached any more",
				 access->process->pid);
}

// What the time-stamp counter showed at a moment of CLOCK_MONOTONIC that is not long past.
static uint64_t ticks_at(uint64_t monotonic_ns, uint32_t ticks_per_us)
{
	const uint64_t now = arch_clock_ticks();

	return ticks_before(now, hs_monotonic_ns() - monotonic_ns, ticks_per_us);
}

static struct hs_error *copy_running(struct running_cut *cut, size_t living, struct heap_copy *raw,
				     struct snapshot_timing *timing, enum running_obstacle *obstacle)
{
	struct running_report report;
	struct hs_error *error = running_copy_take(cut, &raw->copy, &report, obstacle);

	if (error || *obstacle != OBSTACLE_none)
		return error;
	timing->copy_ns = hs_monotonic_ns() - report.monotonic_ns;
	if (slots_run_short(&raw->copy, living)) {
		*obstacle = OBSTACLE_ended_threads;
		table_copy_deinit(&raw->copy);
		return NULL;
	}
	raw->wall_ns = report.wall_ns;
	raw->monotonic_ns = report.monotonic_ns;
	raw->ticks = ticks_at(report.monotonic_ns, raw->copy.header->ticks_per_us);
	raw->epoch = cut->epoch;
	raw->pending = report.pending;
	raw->log_records = report.log_records;
	error = proc_maps_read(cut->access->process, &raw->maps);
	return error ? error : refuse_another_program(cut->access, &raw->maps);
}

// `obstacle`: why there is no copy; none = there is.
static struct hs_error *take_running(const struct region_access *access, size_t living, struct heap_copy *raw,
				     struct snapshot_timing *timing, enum running_obstacle *obstacle)
{
	struct running_cut cut;
	struct hs_error *error = running_cut_open(access, &cut, obstacle);

	if (error || *obstacle != OBSTACLE_none)
		return error;
	while (raw->copies < RUNNING_TRIES) {
		raw->copies++;
		error = copy_running(&cut, living, raw, timing, obstacle);
		if (error || (*obstacle != OBSTACLE_log_full && *obstacle != OBSTACLE_disturbed))
			break;
	}
	running_cut_close(&cut);
	return error;
}

// What a killed dump has left.
static struct hs_error *clear_away(const struct region_access *access)
{
	struct running_cut cut;
	enum running_obstacle obstacle;
	struct hs_error *error = running_cut_open(access, &cut, &obstacle);

	if (!error && obstacle == OBSTACLE_none)
		running_cut_close(&cut);
	return error;
}

static struct hs_error *take_stopped(struct region_access *access, struct heap_copy *raw,
				     struct snapshot_timing *timing)
{
	struct frozen_process frozen;
	struct hs_error *error = fault_point("freeze for the copy");
	uint64_t began;

	if (!error)
		error = threads_freeze_memory(&access->memory, HS_FREEZE_TIMEOUT_MS, &frozen);
	if (error)
		return error;
	raw->wall_ns = hs_wall_ns();
	raw->monotonic_ns = began = hs_monotonic_ns();
	raw->ticks = arch_clock_ticks();
	error = proc_maps_read(access->process, &raw->maps);
	if (!error)
		error = refuse_another_program(access, &raw->maps);
	if (!error)
		error = fault_point("copy the table");
	if (!error)
		error = table_copy_take(access, NULL, &raw->copy);
	timing->copy_ns = hs_monotonic_ns() - began;
	if (!error)
		error = thread_slots_release(access, &frozen);
	error = hs_error_join(error, threads_thaw(&frozen));
	timing->stopped_ns = frozen.stopped_ns;
	return error;
}

static struct hs_error *take_raw(struct region_access *access, const struct transaction *transaction,
				 enum heap_copy_way way, struct heap_copy *raw, struct snapshot_timing *timing)
{
	const struct target_info *target = &transaction->target;
	const bool stop = way == HEAP_COPY_STOPPED;
	enum running_obstacle obstacle = OBSTACLE_none;
	struct hs_error *error;

	error = stop ? target_refuse_frozen(target) : NULL;
	if (error)
		return error;
	error = stop ? clear_away(access) : take_running(access, target->threads.count, raw, timing, &obstacle);
	if (error || (!stop && obstacle == OBSTACLE_none))
		return error;
	if (way == HEAP_COPY_UNSTOPPED)
		return hs_error_create(HS_ERROR_REFUSED, "process %d would have to be stopped: %s",
				       (int)access->process->pid, running_obstacle_text(obstacle));
	raw->stopped_because = stop ? "asked for" : running_obstacle_text(obstacle);
	error = transaction_will_stop(transaction);
	return error ? error : take_stopped(access, raw, timing);
}

static struct hs_error *take_of(const struct process *process, const struct transaction *transaction,
				enum heap_copy_way way, struct heap_copy *raw, struct snapshot_timing *timing)
{
	struct region_access access;
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);

	if (error)
		return error;
	error = region_open(process, &maps, &access);
	proc_maps_deinit(&maps);
	if (error)
		return error;
	error = region_refuse_unfinished(&access);
	if (!error)
		error = take_raw(&access, transaction, way, raw, timing);
	region_close(&access);
	return error;
}

// What it is called, where that is not what its program is. `name` may have a newline behind it.
static struct hs_error *keep_name(struct heap_copy *copy, char *name)
{
	name[strcspn(name, "\n")] = 0;
	if (!profile_has_own_name(copy->program, name))
		return NULL;
	copy->name = hs_printable(name);
	return copy->name ? NULL : &hs_error_no_memory;
}

// The lock is held while the process is worked on; symbols are read from files, by processes of their own.
static struct hs_error *take_locked(const struct process *process, enum heap_copy_way way, struct heap_copy *copy)
{
	struct transaction transaction;
	struct hs_error *error = transaction_begin(process, WORK_dump, &transaction);

	if (error)
		return error;
	copy->program = strdup(transaction.target.executable ? transaction.target.executable : transaction.target.name);
	error = copy->program ? keep_name(copy, transaction.target.name) : &hs_error_no_memory;
	if (!error)
		error = take_of(process, &transaction, way, copy, &copy->timing);
	return transaction_end(&transaction, error);
}

// Owned by the caller; NULL: out of memory. `name`: what is taken where the executable's path cannot be read.
static char *process_program(const struct process *process, char *name)
{
	HS_CLEANUP_CLOSE int folder = process_live_folder(process);
	char path[PATH_MAX];
	const ssize_t length = folder < 0 ? -1 : readlinkat(folder, "exe", path, sizeof(path) - 1);

	if (length >= 0) {
		path[length] = 0;
		return strdup(path);
	}
	name[strcspn(name, "\n")] = 0;
	return strdup(name);
}

// Of a process that stands: what the region holds is what a stop of all its threads would find.
static struct hs_error *take_standing(const struct process *process, enum heap_copy_way way, struct heap_copy *copy)
{
	struct snapshot_timing *timing = &copy->timing;
	HS_CLEANUP_FREE char *name = NULL;
	struct region_access access;
	struct hs_error *error = proc_maps_read(process, &copy->maps);

	if (error)
		return error;
	error = process_read_file(process, "comm", &name, NULL);
	if (error)
		return error;
	copy->program = process_program(process, name);
	error = copy->program ? keep_name(copy, name) : &hs_error_no_memory;
	if (error)
		return error;
	error = region_open(process, &copy->maps, &access);
	if (error)
		return error;
	copy->wall_ns = hs_wall_ns();
	copy->monotonic_ns = hs_monotonic_ns();
	copy->ticks = arch_clock_ticks();
	error = region_refuse_unfinished(&access);
	if (!error)
		error = table_copy_take(&access, NULL, &copy->copy);
	timing->copy_ns = timing->stopped_ns = hs_monotonic_ns() - copy->monotonic_ns;
	copy->has_ended = way == HEAP_COPY_STANDING;
	copy->stopped_because = copy->has_ended ? "it was about to end" : "it is followed";
	region_close(&access);
	return error;
}

struct hs_error *heap_copy_take(const struct process *process, enum heap_copy_way way, struct heap_copy **ret)
{
	struct heap_copy *copy = calloc(1, sizeof(*copy));
	struct hs_error *error;

	*ret = NULL;
	if (!copy)
		return &hs_error_no_memory;
	copy->pid = process->pid;
	copy->files.root_fd = -1;
	error = way == HEAP_COPY_STANDING || way == HEAP_COPY_HELD ? take_standing(process, way, copy)
								   : take_locked(process, way, copy);
	if (error) {
		heap_copy_destroy(copy);
		return error;
	}
	copy->memory = process_memory_read(process);
	module_files_open(process, &copy->files);
	*ret = copy;
	return NULL;
}

struct hs_error *heap_copy_select(struct heap_copy *copy, const struct process *process,
				  const struct block_selection *selection)
{
	copy->selection = *selection;
	thread_names_deinit(&copy->threads);
	return selection->thread || selection->labels & LABEL_THREAD ? thread_names_read(process, &copy->threads)
								     : NULL;
}

uint64_t heap_copy_live_bytes(const struct heap_copy *copy)
{
	struct table_view view;

	table_copy_view(&copy->copy, &view);
	return estimate_round(live_total(&view).bytes);
}

static int64_t value_of(double estimate)
{
	const uint64_t value = estimate_round(estimate);

	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static struct profile_values live_values(const struct estimate *estimate)
{
	return (struct profile_values){
		.live_objects = value_of(estimate->objects),
		.live_bytes = value_of(estimate->bytes),
		.live_records = estimate->records,
		.live_objects_variance = estimate->objects_variance,
		.live_bytes_variance = estimate->bytes_variance,
	};
}

// What the profile is of, and what is said of its blocks.
static struct hs_error *describe(const struct heap_copy *copy, const struct table_view *view,
				 const struct aggregate *totals, struct heap_profile *profile)
{
	struct hs_error *error = selection_text(&copy->selection, &profile->selection);

	if (!error && copy->selection.labels & LABEL_THREAD)
		error = label_texts_threads(view, &copy->threads, profile);
	if (!error)
		error = label_texts_hooks(view, profile);
	profile->cut = (struct profile_cut){ table_header(view)->stable.code_nonce, copy->epoch, copy->ticks };
	if (profile->selection) {
		profile->has_temporaries = false; // nothing is known of what was freed
		profile->recorded = live_values(&totals->live);
		profile->undecided = live_values(&totals->undecided);
	}
	return error;
}

static struct hs_error *add_up(struct heap_copy *copy, struct heap_profile *profile)
{
	const struct aggregate_options options = { &copy->selection, &copy->threads, copy->ticks };
	struct table_view view;
	struct aggregate totals;
	struct hs_error *error;

	table_copy_view(&copy->copy, &view);
	profile->attach_ns = table_header(&view)->attach_monotonic_ns;
	profile->duration_ns = (int64_t)(copy->monotonic_ns - profile->attach_ns);
	hs_progress("adding up", 0, 0);
	error = aggregate_make_of(&view, &options, &totals);
	if (error)
		return error;
	error = profile_build(&view, &totals, &copy->maps, profile);
	if (!error)
		error = describe(copy, &view, &totals, profile);
	totals.pending += copy->pending;
	if (!error)
		error = ledger_build(&view, &totals, profile);
	aggregate_deinit(&totals);
	table_copy_deinit(&copy->copy); // large; no longer needed, and not for the processes that read symbols
	return error;
}

struct hs_error *heap_copy_digest(struct heap_copy *copy, const struct symbol_options *symbols,
				  struct heap_profile *ret, struct snapshot_timing *timing)
{
	struct hs_error *error;
	uint64_t began;

	*ret = (struct heap_profile){ .pid = copy->pid, .memory = copy->memory };
	ret->program = HS_STEAL_POINTER(copy->program);
	ret->name = HS_STEAL_POINTER(copy->name);
	error = add_up(copy, ret);
	if (!error) {
		ret->time_ns = (int64_t)copy->wall_ns;
		ret->stopped_ns = copy->timing.stopped_ns;
		ret->stopped_because = copy->stopped_because;
		ret->log_records = copy->log_records;
		ret->copies = copy->copies;
		ret->has_ended = copy->has_ended;
		error = fault_point("symbolize");
	}
	began = hs_monotonic_ns();
	if (!error)
		error = symbolize_profile(&copy->files, symbols, ret);
	if (!error)
		error = label_texts_operators(ret);
	*timing = copy->timing;
	timing->symbolize_ns = hs_monotonic_ns() - began;
	if (error)
		heap_profile_deinit(ret);
	return error;
}
