// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/follow.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/seize_guard.h"
#include "attach/ptrace/stop_wait.h"

#include <signal.h>

enum { LOOK_AGAIN_MS = 5 };

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
	*ret = (struct follow){ .process = process, .tid = process->pid };
	return follow_again(ret);
}

struct hs_error *follow_again(struct follow *follow)
{
	pid_t tid = follow->tid ? follow->tid : follow->process->pid;
	struct hs_error *error = trace(follow->process, tid);

	follow->tid = error ? 0 : tid;
	follow->is_stopped = false; // if it is, it stops for the tracer once more
	return error;
}

// Another one that lives; 0 = none does.
static pid_t other_thread(const struct follow *follow)
{
	struct thread_walk walk;
	pid_t found = 0;

	if (!thread_walk_begin(follow->process, &walk))
		return 0;
	for (pid_t tid; !found && (tid = thread_walk_next(&walk));)
		if (tid != follow->tid && !thread_is_ending(follow->process, tid))
			found = tid;
	thread_walk_end(&walk);
	return found;
}

static void resume(pid_t tid, int signal)
{
	struct hs_error *error = ptrace_continue(tid, signal);

	hs_error_destroy(error); // killed in its stop
}

// The thread stands before its end. While another one lives, it is that which is followed from now on: be it that it
// lives on, or that all of them are being ended, and it is the next to stand there.
static enum follow_event look_at_ending(struct follow *follow, unsigned *again_ms_ret)
{
	const pid_t before = follow->tid, other = other_thread(follow);
	struct hs_error *error;

	if (!other)
		return FOLLOW_ENDING;
	error = trace(follow->process, other);
	if (!error) {
		follow->tid = other;
		follow->is_stopped = false;
		resume(before, 0);
	}
	hs_error_destroy(error); // it is about to be gone: the next look finds another, or none
	*again_ms_ret = LOOK_AGAIN_MS;
	return FOLLOW_NONE;
}

// The thread is not there any more, or not as a tracee: its process has ended, or another thread has taken its place
// by an exec.
static enum follow_event look_for_end(struct follow *follow)
{
	const pid_t pid = follow->process->pid;
	const struct stop stop = stop_peek(pid);
	int status;

	if (stop.kind == STOP_EXITED || stop_kept_end(pid, &status) || !process_is_there(follow->process))
		return FOLLOW_ENDED;
	if (stop.kind == STOP_EXEC) {
		stop_consume(pid);
		follow->tid = pid;
		return FOLLOW_EXECUTED;
	}
	return FOLLOW_NONE;
}

enum follow_event follow_look(struct follow *follow, unsigned *again_ms_ret)
{
	*again_ms_ret = 0;
	for (;;) {
		const struct stop stop = follow->tid ? stop_peek(follow->tid) : (struct stop){ .kind = STOP_UNKNOWN };
		struct hs_error *error = NULL;

		switch (stop.kind) {
		case STOP_NONE:
			return FOLLOW_NONE;
		case STOP_EXITED:
			if (follow->tid != follow->process->pid)
				stop_consume(follow->tid);
			// fall through
		case STOP_UNKNOWN:
			if (follow->tid != follow->process->pid)
				follow->tid = 0;
			return look_for_end(follow);
		case STOP_EXEC:
			stop_consume(follow->tid);
			return FOLLOW_EXECUTED;
		case STOP_EVENT:
			follow->is_stopped = stop.signal != SIGTRAP;
			error = follow->is_stopped ? ptrace_listen(follow->tid) : ptrace_continue(follow->tid, 0);
			hs_error_destroy(error);
			break;
		case STOP_SIGNAL:
			if (stop.event == HS_PTRACE_EVENT_EXIT)
				return look_at_ending(follow, again_ms_ret);
			resume(follow->tid, stop.signal);
			break;
		case STOP_SYSCALL:
			resume(follow->tid, 0);
			break;
		}
	}
}

void follow_go_on(struct follow *follow)
{
	if (follow->tid)
		resume(follow->tid, 0);
}
