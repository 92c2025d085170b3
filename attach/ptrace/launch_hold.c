// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/interrupt.h"
#include "attach/ptrace/follow_attach.h"
#include "attach/ptrace/launch.h"
#include "attach/ptrace/launch_moment.h"
#include "attach/ptrace/launch_passed.h"
#include "attach/ptrace/launch_steps.h"
#include "attach/ptrace/left_threads.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/repeat_call.h"
#include "attach/ptrace/thread_release.h"
#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>

// How long giving up waits for a process to stop.
#define GIVE_UP_NS UINT64_C(1000000000)
// For how long a stop is waited for before it is looked whether the program has begun without one.
#define LOOK_NS UINT64_C(100000000)

enum arrival { ON_THE_WAY, AT_MOMENT, HAS_BEGUN, HAS_EXECUTED };

// Handles what has happened within LOOK_NS, or that nothing has.
static struct hs_error *go_on_to_moment(struct holding *holding, enum arrival *ret, enum launch_missed *missed_ret)
{
	const pid_t pid = holding->process->pid;
	const struct stop stop = stop_wait(pid, hs_monotonic_ns() + LOOK_NS, true);
	struct hs_error *error = interrupt_check();
	bool is_it = false;

	left_threads_look();

	if (error)
		return error;
	if (stop.kind == STOP_EXEC) { // it has begun, and its memory is another one
		stop_consume(pid);
		holding_forget_places(holding);
		*ret = HAS_EXECUTED;
		return NULL;
	}
	if (stop.kind == STOP_NONE) {
		error = holding_take_passed(holding, &is_it);
		*ret = is_it ? HAS_BEGUN : ON_THE_WAY;
		return error;
	}
	error = holding_take_stop(holding, &stop, &is_it, missed_ret);
	*ret = is_it ? AT_MOMENT : ON_THE_WAY;
	return error;
}

static struct hs_error *run_to_moment(struct holding *holding, enum arrival *ret, enum launch_missed *missed_ret)
{
	struct hs_error *error = NULL;

	for (*ret = ON_THE_WAY; !error && *ret == ON_THE_WAY;)
		error = go_on_to_moment(holding, ret, missed_ret);
	return error;
}

// Out of the place's stop it gets SIGSTOP, by which it stands without a tracer.
static struct hs_error *leave_stopped(pid_t tid)
{
	struct hs_error *error = ptrace_detach(tid, SIGSTOP);
	struct stop stop;

	if (!error)
		error = launch_next_stop(tid, &stop);
	if (error)
		return error;
	if (stop.kind == STOP_EXITED || stop.kind == STOP_UNKNOWN)
		return launch_ended(tid);
	stop_consume(tid);
	return NULL;
}

static struct hs_error *hold(const struct process *process, enum arrival *ret, enum launch_missed *missed_ret)
{
	struct holding holding;
	struct hs_error *error = holding_begin(process, false, &holding);

	if (error)
		return error;
	error = run_to_moment(&holding, ret, missed_ret);
	holding_end(&holding, &error);
	if (error && holding.has_passed) {
		error = hs_error_join(error, ptrace_detach(process->pid, 0));
		if (error->code == HS_ERROR_REFUSED)
			error->code = HS_ERROR_GONE;
	}
	return error;
}

struct hs_error *launch_hold(const struct process *process, enum launch_missed *missed_ret)
{
	enum arrival arrival = HAS_EXECUTED;
	struct hs_error *error = NULL;

	*missed_ret = LAUNCH_MISSED_NOTHING;
	while (!error && arrival == HAS_EXECUTED)
		error = hold(process, &arrival, missed_ret);
	if (error)
		return error;
	if (arrival == AT_MOMENT)
		return leave_stopped(process->pid);
	error = ptrace_detach(process->pid, 0);
	if (!error)
		*missed_ret = LAUNCH_MISSED_BEGINNING;
	return error;
}

struct launch_held {
	struct holding holding;
};

struct hs_error *launch_held_begin(const struct process *process, struct launch_held **ret)
{
	struct launch_held *held = calloc(1, sizeof(*held));
	// What the loader makes meanwhile, if anything, is nobody's to follow.
	struct hs_error *error =
		held ? ptrace_set_options(process->pid, HS_PTRACE_OPTIONS | HS_PTRACE_TRACE_EXIT) : &hs_error_no_memory;

	*ret = NULL;
	if (!error)
		error = follow_attach_check_filters(process);
	if (error) {
		free(held);
		return error;
	}
	error = holding_begin(process, true, &held->holding);
	if (error)
		free(held);
	else
		*ret = held;
	return error;
}

// It is in no stop.
static struct hs_error *look_for_passed(struct launch_held *held, enum launch_progress *ret,
					enum launch_missed *missed_ret)
{
	bool has_begun;
	struct hs_error *error = holding_take_passed(&held->holding, &has_begun);

	if (error || !has_begun)
		return error;
	*ret = LAUNCH_THERE;
	*missed_ret = LAUNCH_MISSED_BEGINNING;
	thread_release_keep(held->holding.process->pid, KEPT_IN_STOP);
	return NULL;
}

struct hs_error *launch_held_look(struct launch_held *held, enum launch_progress *ret, enum launch_missed *missed_ret)
{
	const pid_t pid = held->holding.process->pid;

	left_threads_look();
	for (;;) {
		const struct stop stop = stop_peek(pid);
		struct stop now;
		bool is_there;
		struct hs_error *error;

		*ret = held->holding.is_stopped ? LAUNCH_STOPPED : LAUNCH_UNDER_WAY;
		if (stop.kind == STOP_NONE)
			return look_for_passed(held, ret, missed_ret);
		if (stop.kind == STOP_EXEC) { // its memory is another one
			stop_consume(pid);
			holding_forget_places(&held->holding);
			*ret = LAUNCH_EXECUTED;
			return NULL;
		}
		error = holding_take_stop(&held->holding, &stop, &is_there, missed_ret);
		if (!error && is_there)
			error = launch_stop_in_place(pid, &LAUNCH_PLAIN_STOP, &now);
		if (error)
			return error;
		if (is_there) {
			*ret = LAUNCH_THERE;
			thread_release_keep(pid, KEPT_IN_STOP);
			return NULL;
		}
	}
}

// As it is to be left. A stop of the whole process stays.
static struct hs_error *resume(const struct process *process, const struct stop *stop)
{
	struct hs_error *error =
		ptrace_set_options(process->pid, HS_PTRACE_OPTIONS | HS_PTRACE_TRACE_EXIT | HS_PTRACE_TRACE_MADE);

	if (error)
		return error;
	repeat_call_set_back_from(process->pid, stop);
	return stop_is_group_stop(stop) ? ptrace_listen(process->pid) : launch_pass(process->pid, stop);
}

// It may stand in any stop, or run.
static struct hs_error *give_up(struct launch_held *held)
{
	struct holding *holding = &held->holding;
	const pid_t pid = holding->process->pid;
	struct hs_error *error = ptrace_interrupt(pid);
	struct stop stop;

	if (error)
		return error;
	stop = stop_wait(pid, hs_monotonic_ns() + GIVE_UP_NS, false);
	if (stop.kind == STOP_NONE)
		return hs_error_create(HS_ERROR_TIMEOUT, "process %d does not stop%s", (int)pid,
				       holding_is_raising(holding) ? "" : ", and ends by SIGTRAP when it begins");
	error = holding_leave_places(holding, &stop);
	return error ? error : resume(holding->process, &stop);
}

struct hs_error *launch_held_end(struct launch_held *held)
{
	struct hs_error *error = NULL;

	if (!held)
		return NULL;
	if (holding_has_places(&held->holding))
		error = give_up(held);
	target_memory_close(&held->holding.memory);
	free(held);
	return error;
}

bool launch_go_on(const struct process *process)
{
	const struct stop before = stop_peek(process->pid);
	struct stop stop = before;
	struct hs_error *error = NULL;

	if (stop.kind == STOP_EXEC) { // of another thread: it is to be seen
		thread_release_keep(0, KEPT_IN_STOP);
		return false;
	}

	// Whether a signal stops the whole process does not show in the stop of a signal, or of a system call.
	if ((stop.kind == STOP_SIGNAL && !stop.event) || stop.kind == STOP_SYSCALL)
		error = launch_stop_in_place(process->pid, &before, &stop);
	if (!error)
		error = resume(process, &stop);
	thread_release_keep(0, KEPT_IN_STOP);
	hs_error_destroy(error); // killed in its stop, or it runs
	return stop_is_group_stop(&stop);
}
