// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/follow.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/followed_resume.h"
#include "attach/ptrace/left_threads.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/repeat_call.h"
#include "attach/ptrace/seize_guard.h"
#include "attach/ptrace/stop_wait.h"
#include "attach/ptrace/thread_release.h"
#include "base/clock.h"

#include <signal.h>

enum { LOOK_AGAIN_MS = 5 };
// How long a thread is kept before its end while another one seems to live; ns. Who joins it waits as long.
static const uint64_t STANDING_TIME = 100000000;

static struct hs_error *trace(const struct process *process, pid_t tid)
{
	struct hs_error *error;

	if (thread_is_own_tracee(process, tid))
		return NULL;
	error = seize_guard_begin();
	if (!error)
		error = seize_guarded(tid, HS_PTRACE_OPTIONS | HS_PTRACE_TRACE_EXIT);
	seize_guard_end();
	return error;
}

struct hs_error *follow_begin(const struct process *process, struct follow *ret)
{
	*ret = (struct follow){ .process = process, .tid = process->pid, .started = ret->started };
	return follow_again(ret);
}

void follow_through_freeze(const struct follow *follow) { thread_release_keep(follow->tid, KEPT_GOING_ON); }

struct hs_error *follow_again(struct follow *follow)
{
	pid_t tid = follow->tid ? follow->tid : follow->process->pid;
	struct hs_error *error = trace(follow->process, tid);

	thread_release_keep(0, KEPT_GOING_ON);
	follow->tid = error ? 0 : tid;
	follow->is_stopped = false; // if it is, it stops for the tracer once more
	return error;
}

// Another one that lives; 0 = none does. Those that are traced already are on their way to their end.
static pid_t other_thread(const struct follow *follow)
{
	struct thread_walk walk;
	pid_t found = 0;

	if (!thread_walk_begin(follow->process, &walk))
		return 0;
	for (pid_t tid; !found && (tid = thread_walk_next(&walk));)
		if (!thread_is_own_tracee(follow->process, tid) && !thread_is_ending(follow->process, tid))
			found = tid;
	thread_walk_end(&walk);
	return found;
}

// Lets a thread end that stands before its end. It is to be reaped then: the end of the process is told only when no
// traced thread of it is left.
static void let_end(struct follow *follow, pid_t tid)
{
	followed_resume(follow->process, tid, 0);
	follow->left += tid != follow->process->pid;
}

static void reap_left(struct follow *follow)
{
	struct thread_walk walk;

	if (!follow->left || !thread_walk_begin(follow->process, &walk))
		return;
	for (pid_t tid; (tid = thread_walk_next(&walk));) {
		if (tid == follow->process->pid || tid == follow->tid || tid == follow->standing ||
		    stop_peek(tid).kind != STOP_EXITED)
			continue;
		stop_consume(tid);
		follow->left -= follow->left > 0;
	}
	thread_walk_end(&walk);
}

// The thread stands before its end. While another one lives, it is that which is followed from now on: be it that it
// lives on, or that all of them are being ended, and it is the next to stand there. But it may be past that place. So
// the first one stands, and keeps the memory, until the other stands there too, or has gone on living for a while.
static enum follow_event look_at_ending(struct follow *follow, unsigned *again_ms_ret)
{
	const pid_t other = other_thread(follow);
	struct hs_error *error;

	follow->was_ending = true;
	if (follow->standing)
		let_end(follow, follow->standing);
	follow->standing = 0;
	if (!other)
		return FOLLOW_ENDING;
	error = trace(follow->process, other);
	if (!error) {
		follow->standing = follow->tid;
		follow->standing_until = hs_monotonic_ns() + STANDING_TIME;
		follow->tid = other;
		follow->was_ending = false;
		follow->is_stopped = false;
	}
	// The other one is in an exec, which waits for this one to end, and cannot be traced until it is done.
	if (error && error->code == HS_ERROR_TIMEOUT) {
		let_end(follow, follow->tid);
		follow->tid = 0;
		follow->misses_exec = true;
	}
	hs_error_destroy(error); // else it is about to be gone: the next look finds another, or none
	*again_ms_ret = follow->misses_exec ? 1 : LOOK_AGAIN_MS;
	return FOLLOW_NONE;
}

// Follows any thread that lives, where none is followed.
static enum follow_event look_for_thread(struct follow *follow, unsigned *again_ms_ret)
{
	const pid_t pid = follow->process->pid,
		    found = thread_is_ending(follow->process, pid) ? other_thread(follow) : pid;
	struct hs_error *error;

	*again_ms_ret = follow->misses_exec ? 1 : LOOK_AGAIN_MS;
	if (!found || thread_is_own_tracee(follow->process, found))
		return FOLLOW_NONE;
	error = trace(follow->process, found);
	if (error) {
		hs_error_destroy(error);
		return FOLLOW_NONE;
	}
	follow->tid = found;
	follow->left = 0;
	follow->standing_until = hs_monotonic_ns() + STANDING_TIME;
	return FOLLOW_NONE;
}

// While the followed thread runs. After an exec in which it could not be traced it may have been traced in time for the
// stop of that exec; if not, the exec was missed.
static enum follow_event look_at_running(struct follow *follow, unsigned *again_ms_ret)
{
	const bool is_time = hs_monotonic_ns() >= follow->standing_until;

	// It stood before its end, and does not any more: an exec of another thread has ended it.
	if (follow->was_ending && !thread_is_own_tracee(follow->process, follow->tid)) {
		follow->was_ending = false;
		follow->misses_exec = true;
		return look_for_thread(follow, again_ms_ret);
	}
	if (follow->standing && is_time) {
		let_end(follow, follow->standing);
		follow->standing = 0;
	}
	if (follow->misses_exec && is_time) {
		follow->misses_exec = false;
		return FOLLOW_MISSED;
	}
	if (follow->standing || follow->left || follow->misses_exec)
		*again_ms_ret = LOOK_AGAIN_MS;
	return FOLLOW_NONE;
}

// Of the threads that there were none is left.
static enum follow_event executed(struct follow *follow)
{
	stop_consume(follow->tid);
	follow->standing = 0;
	follow->left = 0;
	follow->misses_exec = follow->was_ending = false;
	return FOLLOW_EXECUTED;
}

// The thread is not there any more, or not as a tracee: its process has ended, or another thread has taken its place
// by an exec.
static enum follow_event look_for_end(struct follow *follow, unsigned *again_ms_ret)
{
	const pid_t pid = follow->process->pid;
	const struct stop stop = stop_peek(pid);
	int status;

	if (stop.kind == STOP_EXITED || stop_kept_end(pid, &status) || !process_is_there(follow->process))
		return FOLLOW_ENDED;
	if (stop.kind == STOP_EXEC) {
		follow->tid = pid;
		return executed(follow);
	}
	return follow->tid ? FOLLOW_NONE : look_for_thread(follow, again_ms_ret);
}

// The thread has ended, or is none of its number any more: it has executed a program, and has that of the main thread.
// False: there is no other to be looked at.
static bool leave_thread(struct follow *follow, enum stop_kind kind)
{
	if (!follow->tid || follow->tid == follow->process->pid)
		return false;
	if (kind == STOP_EXITED) {
		stop_consume(follow->tid);
		follow->tid = follow->standing; // it has the memory still
	} else {
		follow->tid = follow->process->pid;
		follow->misses_exec = true; // unless the stop of that exec comes
		follow->standing_until = hs_monotonic_ns() + STANDING_TIME;
	}
	follow->standing = 0;
	return follow->tid;
}

static void note_child(struct follow *follow)
{
	pid_t child;
	struct hs_error *error = ptrace_get_ended_child(follow->tid, &child);

	if (!error && child)
		started_processes_note(&follow->started, child);
	hs_error_destroy(error); // killed in its stop
}

void follow_look_for_children(struct follow *follow)
{
	if (follow->process)
		started_processes_look(&follow->started, follow->process);
}

void follow_end(struct follow *follow) { started_processes_deinit(&follow->started); }

enum follow_event follow_look(struct follow *follow, unsigned *again_ms_ret)
{
	*again_ms_ret = 0;
	left_threads_look();
	reap_left(follow);
	for (;;) {
		const struct stop stop = follow->tid ? stop_peek(follow->tid) : (struct stop){ .kind = STOP_UNKNOWN };
		struct hs_error *error = NULL;

		switch (stop.kind) {
		case STOP_NONE:
			return look_at_running(follow, again_ms_ret);
		case STOP_EXITED:
		case STOP_UNKNOWN:
			if (!leave_thread(follow, stop.kind))
				return look_for_end(follow, again_ms_ret);
			break;
		case STOP_EXEC:
			return executed(follow);
		case STOP_EVENT:
			follow->is_stopped = stop.signal != SIGTRAP;
			repeat_call_set_back_from(follow->tid, &stop);
			error = follow->is_stopped ? ptrace_listen(follow->tid) : ptrace_continue(follow->tid, 0);
			hs_error_destroy(error);
			break;
		case STOP_SIGNAL:
			if (stop.event == HS_PTRACE_EVENT_EXIT)
				return look_at_ending(follow, again_ms_ret);
			if (stop.signal == SIGCHLD && !stop.event)
				note_child(follow);
			followed_resume(follow->process, follow->tid, stop.signal);
			break;
		case STOP_SYSCALL:
			followed_resume(follow->process, follow->tid, 0);
			break;
		}
	}
}

enum follow_event follow_look_untraced(const struct process *process)
{
	enum stop_kind kind;

	left_threads_look(); // one that has ended and is not reaped keeps the end of its process from being told
	kind = stop_peek(process->pid).kind;
	return kind == STOP_EXITED || kind == STOP_UNKNOWN ? FOLLOW_ENDED : FOLLOW_NONE;
}

void follow_go_on(struct follow *follow)
{
	if (follow->standing)
		let_end(follow, follow->standing);
	follow->standing = 0;
	if (follow->tid)
		followed_resume(follow->process, follow->tid, 0);
}
