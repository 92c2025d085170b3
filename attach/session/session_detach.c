// SPDX-License-Identifier: Apache-2.0
// Detach: hooks out, wait until no thread is inside, unmap, compare, report. Also finishes what a killed attach or
// detach has left, as the journal in the region says; and takes out what a child has inherited that was forked from an
// attached process, as the journals in the islands say.
#include "attach/session/session.h"

#include "attach/guard/interrupt.h"
#include "attach/guard/refused_reads.h"
#include "attach/guard/standstill.h"
#include "attach/hook/hook_apply.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/sharing.h"
#include "attach/process/thread_facts.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/ptrace/remote_call.h"
#include "attach/ptrace/threads.h"
#include "attach/region/region_access.h"
#include "attach/region/region_stable.h"
#include "attach/region/state_pages.h"
#include "attach/session/detach_inside.h"
#include "attach/session/detach_state.h"
#include "attach/session/detach_verify.h"
#include "attach/session/leftovers.h"
#include "attach/session/transaction.h"
#include "base/back_off.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"

#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>

enum { FIRST_WAIT_US = 500, LONGEST_WAIT_US = 1000000, LOOK_FOR_MS = 60000 };

static struct hs_error *nothing_any_more(const struct process *process)
{
	return hs_error_create(HS_ERROR_NOT_FOUND, "heapsnap is no longer in process %d", (int)process->pid);
}

static struct hs_error *look_at_code_again(struct detach_state *state)
{
	struct file_pages files = state->files;
	struct detach_known known = {
		.files = &files, .names = state->names, .left = state->left, .late = state->late
	};
	const struct process *process = state->process;
	bool found;
	struct hs_error *error;

	state->files = (struct file_pages){ 0 };
	state->left = (struct leftover_descriptors){ 0 };
	detach_state_deinit(state);
	error = detach_state_read_again(process, &known, state, &found);
	leftover_descriptors_deinit(&known.left);
	state->files = files;
	if (!error && !found)
		error = nothing_any_more(process);
	if (error)
		*state = (struct detach_state){
			.process = process, .files = files, .region.fd = -1, .region.memory.fd = -1
		};
	return error;
}

// What a killed tool has left may still change: the thread that it had make its calls may come to the last one only
// after the state was read (late_threads.h waits for it, but not for ever), and map or unmap one thing more. Under a
// freeze that is over, for a thread stops behind its call.
static struct hs_error *look_again(struct detach_state *state, struct frozen_process *frozen)
{
	const struct proc_maps *maps;
	struct hs_error *error;

	if (!state->has_region)
		return look_at_code_again(state);
	error = frozen_maps(frozen, &maps);
	if (error)
		return error;
	state->has_region = region_is_there(&state->region, maps);
	state->state_is_there = detach_state_has_state_pages(state, maps);
	return state->has_region ? NULL : nothing_any_more(state->process);
}

static struct hs_error *save_hook(const struct hook_record *hook, size_t index, void *context)
{
	struct detach_state *state = context;

	if (!state->has_region)
		return NULL;
	return region_write(&state->region, region_hook_offset(&state->region.header.stable, index), hook,
			    sizeof(*hook));
}

static struct hs_error *set_state(struct detach_state *state, uint32_t value)
{
	if (!state->has_region)
		return NULL;
	return region_write(&state->region, offsetof(struct stable_header, state), &value, sizeof(value));
}

// A step in a part of the work that an interruption no longer stops: going on is the way back.
static void pass_fault_point(const char *step) { hs_error_destroy(fault_point(step)); }

// Hooks out, last first; then nothing leads into the payload any more. From the first change on the detach is not
// rolled back but finished, by this run or the next.
static struct hs_error *take_hooks_out(struct detach_state *state, struct frozen_process *frozen,
				       struct detach_report *report)
{
	pid_t tid = frozen->threads[0].tid;
	struct hs_error *error = fault_point("take the hooks out");

	if (!error)
		error = set_state(state, REGION_DETACHING);
	if (!error && state->state_is_there)
		error = state_pages_deactivate(&state->region.memory, state->region.header.stable.state_address, tid);
	if (!error)
		error = hook_undo(state->hooks, state->hook_count, &state->region.memory, frozen, save_hook, state,
				  &report->foreign_hooks);
	state->hooks_out = !error;
	return error;
}

static struct hs_error *remote_unmap(struct remote_caller *caller, uint64_t address, uint64_t size)
{
	const uint64_t arguments[6] = { address, size };
	uint64_t result;

	return remote_call_checked(caller, "munmap", SYS_munmap, arguments, &result);
}

// The region goes last: as long as it is there, the next detach knows what else is. So does the image where there is no
// region: it goes after the islands, if all else went, and the state pages in the same call. What a killed detach has
// already unmapped may belong to another mapping now, so each range is proven first.
static struct hs_error *unmap_all(struct detach_state *state, struct remote_caller *caller,
				  const struct strangers *strangers)
{
	const struct stable_header *header = &state->region.header.stable;
	const struct proc_maps *maps;
	bool is_code[HS_CODE_PARTS_MAX] = { false }, has_state_pages;
	struct hs_error *error;

	pass_fault_point("unmap");
	error = frozen_maps(caller->frozen, &maps);
	if (error)
		return error;
	// before the first call, for the mappings that are known change with it
	for (size_t i = 0; i < state->code_count; i++)
		is_code[i] = detach_state_is_code(state, maps, i);
	has_state_pages = detach_state_has_state_pages(state, maps);
	if (region_is_bare(maps, &state->region.memory, &state->bare_region)) // before the image, which alone names it
		error = remote_unmap(caller, state->bare_region.address, state->bare_region.size);
	for (size_t i = state->code_count; i-- > 0;) {
		// code[0] is the image, followed by the state pages
		uint64_t size = state->code[i].size + (i == 0 && has_state_pages ? state->state_size : 0);

		if (is_code[i] && (i > 0 || !error))
			error = hs_error_join(error, remote_unmap(caller, state->code[i].address, size));
	}
	error = hs_error_join(error, leftovers_clear(caller, &state->names, &state->left, strangers));
	return state->has_region && !error ? remote_unmap(caller, header->region_address, header->size) : error;
}

// What needs remote calls: copied pages are dropped in the first freeze, all is unmapped in the one with nobody inside.
static struct hs_error *clean_up(struct detach_state *state, struct frozen_process *frozen,
				 const struct strangers *strangers, bool drop, bool unmap)
{
	struct remote_caller caller;
	struct hs_error *error;

	if (!drop && !unmap)
		return NULL;
	error = remote_call_open(frozen, &state->region.memory, &caller);
	if (error)
		return error;
	state->copies_dropped = true;
	pass_fault_point("drop copied pages");
	if (drop)
		error = hook_drop_copies(state->hooks, state->hook_count, &caller);
	if (unmap && !error) // else the next detach, which needs the journal, finishes
		error = unmap_all(state, &caller, strangers);
	return hs_error_join(error, remote_call_close(&caller));
}

static bool is_anybody_inside(const struct detach_report *report)
{
	return report->threads_inside + report->threads_unseen + report->calls_left > 0 || report->calls_lost;
}

// One freeze. Where no thread is inside afterwards, all is unmapped. Who is inside is asked before any remote call,
// because that takes a thread's registers. *retry_ret: true: nothing was touched, and another try may succeed.
static struct hs_error *detach_once(struct detach_state *state, struct detach_report *report, struct stop_times *stops,
				    bool *retry_ret)
{
	struct frozen_process frozen;
	struct unwind_tables tables;
	struct strangers strangers;
	struct hs_error *error;

	*retry_ret = false;
	hs_error_destroy(state->obstacle);
	state->obstacle = NULL;
	report->threads_inside = report->threads_unseen = report->calls_left = report->calls_unseen = 0;
	error = fault_point("freeze for the detach");
	if (!error && !state->hooks_out)
		error = memory_sharers_wait(state->process, HS_SHARERS_WAIT_MS);
	if (!error)
		error = unwind_tables_read(&state->region.memory, &tables);
	if (error && error->code == HS_ERROR_GONE && proc_maps_memory(state->process) == MEMORY_THERE) {
		hs_error_destroy(error); // nobody has the memory any more that was open
		error = nothing_any_more(state->process);
	}
	if (error)
		return error;
	leftover_descriptors_strangers(state->process, &state->left, 0, &strangers);
	error = threads_freeze_memory(&state->region.memory, HS_FREEZE_TIMEOUT_MS, &frozen);
	if (error) {
		strangers_deinit(&strangers);
		unwind_tables_deinit(&tables);
		return error;
	}
	frozen.files = &state->files;
	report->threads = frozen.count;
	error = fault_point("begin the detach");
	if (!error)
		error = memory_sharers_check(frozen.process, frozen.threads[0].tid, &strangers);
	// it appeared after the wait; the next try waits for it
	*retry_ret = !state->hooks_out && error && error->code == HS_ERROR_REFUSED;
	// what was found, or what is left since the last freeze, went with the old program
	if (!error && frozen.has_executed && (state->hooks_out || state->has_region))
		error = nothing_any_more(state->process);
	if (!error && !state->hooks_out)
		error = look_again(state, &frozen);
	if (!error && !state->hooks_out)
		error = take_hooks_out(state, &frozen, report);
	if (!error)
		error = detach_count_inside(state, &frozen, &tables, report);
	if (!error)
		error = clean_up(state, &frozen, &strangers, !state->copies_dropped,
				 !is_anybody_inside(report) && report->foreign_hooks == 0);
	if (error && error->code == HS_ERROR_REFUSED && state->hooks_out) {
		// No thread can make remote calls now (no memory proven free for a frame, a restartable sequence, ...),
		// or a process is there that could not be stopped, or a page is not in memory: another moment may suit.
		hs_verbose("%s", error->message);
		state->obstacle = error;
		error = NULL;
	}
	error = hs_error_join(error, threads_thaw(&frozen));
	strangers_deinit(&strangers);
	unwind_tables_deinit(&tables);
	stop_times_add(stops, frozen.stopped_ns);
	return error;
}

// Ever longer: a thread that is stopped again before it got a processor has not moved at all, and on a busy machine
// that takes a while.
static struct hs_error *wait_a_little(struct back_off *wait)
{
	back_off_wait(wait);
	return interrupt_check();
}

// A file, or a page of one, was needed that had not been read before the stop. As if this run had been killed, and were
// the next.
static struct hs_error *begin_anew(struct detach_state *state, struct detach_report *report)
{
	const struct process *process = state->process;
	bool found;
	struct hs_error *error;

	hs_verbose("something had not been read before the process was stopped; trying again");
	detach_state_deinit(state);
	error = detach_state_read(process, state, &found);
	if (!error && !found)
		error = nothing_any_more(process);
	if (error)
		*state = (struct detach_state){ .process = process, .region.fd = -1, .region.memory.fd = -1 };
	report->foreign_hooks = 0;
	return error;
}

// Until it is done, or for `wait_ms` while threads are inside.
static struct hs_error *undo(struct detach_state *state, unsigned wait_ms, struct detach_report *report)
{
	uint64_t began = hs_monotonic_ns();
	struct back_off wait = { FIRST_WAIT_US, LONGEST_WAIT_US };
	struct stop_times stops = { 0 };
	struct hs_error *error;

	for (int tries = 1, reads = 1;;) {
		bool retry, is_unseen;

		error = detach_once(state, report, &stops, &retry);
		if (retry && tries++ < HS_FREEZE_TRIES) {
			hs_verbose("%s; trying again", error->message);
			hs_error_destroy(error);
			error = wait_a_little(&wait);
			if (!error)
				continue;
		}
		if (((error && !state->hooks_out) || report->foreign_hooks > 0) && refused_reads_any() &&
		    reads++ < HS_FREEZE_TRIES) {
			hs_error_destroy(error);
			error = begin_anew(state, report);
			if (!error)
				continue;
		}
		if (error || !(is_anybody_inside(report) || state->obstacle) || report->foreign_hooks > 0)
			break;
		is_unseen = report->threads_unseen + report->calls_unseen > 0;
		if (hs_monotonic_ns() - began >=
			    (uint64_t)(is_unseen && wait_ms < LOOK_FOR_MS ? LOOK_FOR_MS : wait_ms) * 1000000u ||
		    standstill_is_spent())
			break;
		if (report->calls_lost && !is_unseen) // no time will tell
			break;
		// it is no thread that is waited for: the target is to run as long as it stood
		if (is_unseen)
			wait.next_us = stops.longest_ns / 1000 < LONGEST_WAIT_US ? (unsigned)(stops.longest_ns / 1000)
										 : LONGEST_WAIT_US;
		error = wait_a_little(&wait);
		report->inside_is_stopped =
			report->threads_inside && thread_state(state->process, state->process->pid) == 'T';
		if (error || (report->inside_is_stopped && !is_unseen))
			break;
	}
	if (!error && state->obstacle && !is_anybody_inside(report)) {
		error = hs_error_prefix(state->obstacle, "the hooks are out of process %d, but its code stays mapped",
					(int)state->process->pid);
		state->obstacle = NULL;
	}
	report->finished = !error && !is_anybody_inside(report) && report->foreign_hooks == 0;
	if (report->finished && state->may_have_descriptors) {
		error = leftovers_clear_elsewhere(&state->names, &state->region.memory, &state->files, wait_ms, &stops);
		report->finished = !error;
	}
	report->took_ns = hs_monotonic_ns() - began;
	report->stopped_longest_ns = stops.longest_ns;
	report->stopped_all_ns = stops.all_ns;
	standstill_done();
	return error;
}

// Why something is left still; NULL = nothing is.
static struct hs_error *why_unfinished(const struct process *process, const struct detach_report *report)
{
	switch (detach_reason_of(report)) {
	case DETACH_FINISHED:
		break;
	case DETACH_FOREIGN_HOOKS:
		return hs_error_create(
			HS_ERROR_REFUSED,
			"process %d has leftovers of an unfinished detach, or of an attached parent: another program has patched %zu of the places that heapsnap had patched; undo that, then try again",
			process->pid, report->foreign_hooks);
	case DETACH_THREADS_UNSEEN:
		return hs_error_create(
			HS_ERROR_REFUSED,
			"process %d has leftovers of an unfinished attach or detach, or of an attached parent, and %zu "
			"of its threads use so much stack that not all of it was examined yet; try again later",
			process->pid, report->threads_unseen);
	case DETACH_CALLS_LOST:
		return hs_error_create(
			HS_ERROR_REFUSED,
			"process %d has leftovers of an unfinished detach: too many allocation calls were abandoned by "
			"coroutines to track; the payload stays mapped, inactive, until the process ends",
			process->pid);
	case DETACH_CALLS_LEFT:
		return hs_error_create(
			HS_ERROR_REFUSED,
			"process %d has leftovers of an unfinished detach, and %zu of its coroutines may still return into the payload; try again later",
			process->pid, report->calls_left);
	case DETACH_THREADS_INSIDE:
		return hs_error_create(
			HS_ERROR_REFUSED,
			"process %d has leftovers of an unfinished attach or detach, or of an attached parent, and %zu "
			"of its threads %s still inside the payload; try again later",
			process->pid, report->threads_inside, report->threads_inside == 1 ? "is" : "are");
	}
	return NULL;
}

struct hs_error *session_clear_unfinished(const struct process *process, unsigned wait_ms, uint64_t *stopped_all_ns_ret)
{
	struct detach_report report = { 0 };
	struct detach_state state;
	bool found, only_late;
	struct hs_error *error = detach_state_read(process, &state, &found);

	*stopped_all_ns_ret = 0;
	if (error && error->code == HS_ERROR_GONE)
		return error;
	if (error)
		return hs_error_prefix(error, "cannot tell whether heapsnap is in process %d", process->pid);
	if (!found)
		return NULL;
	if (state.has_region && state.region.header.stable.state == REGION_ATTACHED) {
		detach_state_deinit(&state);
		return NULL;
	}
	// once it was stopped its call is made, and what that has made can be told from what attach makes
	only_late = state.only_late;
	if (!only_late)
		hs_verbose(
			"process %d has leftovers of an unfinished attach or detach, or of an attached parent: clearing them away",
			process->pid);
	error = undo(&state, wait_ms, &report);
	*stopped_all_ns_ret = report.stopped_all_ns;
	detach_state_deinit(&state);
	if (error && error->code == HS_ERROR_NOT_FOUND) { // it has gone by itself
		hs_error_destroy(error);
		return NULL;
	}
	if (error)
		return only_late
			       ? error
			       : hs_error_prefix(
					 error,
					 "leftovers of an unfinished attach or detach, or of an attached parent, cannot be "
					 "cleared away");
	return why_unfinished(process, &report);
}

static struct hs_error *detach_locked(const struct process *process, unsigned wait_ms,
				      const struct detach_before *before, struct detach_report *ret)
{
	struct detach_state state;
	bool found, was_killed;
	struct hs_error *error;

	error = fault_point("open the region");
	if (!error)
		error = detach_state_read(process, &state, &found);
	if (!error && !found)
		error = hs_error_create(
			HS_ERROR_NOT_FOUND,
			"process %d is not attached: nothing of heapsnap is in it, and there is nothing to do",
			process->pid);
	if (error)
		return error;
	if (state.only_late) { // it is not stopped for what may be its own
		error = late_call_unknown(process, state.late.tid);
		detach_state_deinit(&state);
		return error;
	}
	was_killed = !(state.has_region && state.region.header.stable.state == REGION_ATTACHED);
	error = undo(&state, wait_ms, ret);
	// its last call was still to be made, and was that which took the rest away
	if (was_killed && error && error->code == HS_ERROR_NOT_FOUND) {
		hs_error_destroy(error);
		error = NULL;
		ret->finished = true;
	}
	ret->only_leftovers = !state.has_region;
	if (ret->finished)
		pass_fault_point("verify the detach");
	if (ret->finished && proc_maps_memory(process) != MEMORY_GONE)
		detach_verify(before, &state.names, state.hooks, state.hook_count, ret);
	if (ret->finished && proc_maps_memory(process) == MEMORY_GONE) // what was looked at was no longer there
		error = hs_error_create(HS_ERROR_GONE, "process %d ended during the detach", process->pid);
	detach_state_deinit(&state);
	return error;
}

struct hs_error *session_detach(const struct process *process, unsigned wait_ms, struct detach_report *ret)
{
	const struct detach_before before = detach_look_before(process);
	struct transaction transaction;
	struct hs_error *error = transaction_begin(process, WORK_detach, &transaction);

	*ret = (struct detach_report){ 0 };
	if (error)
		return error;
	error = transaction_will_stop(&transaction);
	if (!error)
		error = detach_locked(process, wait_ms, &before, ret);
	return transaction_end(&transaction, error);
}
