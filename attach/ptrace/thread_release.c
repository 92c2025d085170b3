// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/thread_release.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/ending_threads.h"
#include "attach/ptrace/init_signal.h"
#include "attach/ptrace/left_threads.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/repeat_call.h"
#include "attach/ptrace/stop_wait.h"
#include "base/clock.h"

#include <errno.h>

// How long undoing waits for a thread that does not answer; ns.
#define RELEASE_TIMEOUT UINT64_C(200000000)

static struct {
	pid_t tid; // 0 = none, or all
	bool all;
	unsigned long options; // of all
	enum kept_thread how;
} kept;

void thread_release_keep(pid_t tid, enum kept_thread how)
{
	kept.tid = tid;
	kept.all = false;
	kept.how = how;
}

void thread_release_keep_all(unsigned long options)
{
	kept.tid = 0;
	kept.all = true;
	kept.options = options;
	kept.how = KEPT_GOING_ON;
}

enum kept_thread thread_release_keep_so(enum kept_thread how)
{
	const enum kept_thread before = kept.how;

	kept.how = how;
	return before;
}

bool thread_release_keeps_all(void) { return kept.all; }

bool thread_release_keeps(pid_t tid) { return kept.all || (kept.tid && tid == kept.tid); }

static struct hs_error *write_registers(struct frozen_thread *thread)
{
	struct hs_error *error;

	if (!thread->registers_changed)
		return NULL;
	error = ptrace_set_registers(thread->tid, &thread->registers);
	if (!error)
		thread->registers_changed = false;
	return error;
}

// Met on the way to a stop of the tool's, and not yet passed on.
static int signal_in(const struct stop *stop) { return stop->kind == STOP_SIGNAL ? stop->signal : 0; }

// A thread that is not in a stop: it was killed, or did not reach its stop in time. *done_ret: nothing is left to do.
static struct hs_error *release_running(const struct process *process, pid_t tid, bool *done_ret)
{
	struct hs_error *error;
	struct stop stop;

	error = ptrace_interrupt(tid);
	hs_error_destroy(error);
	stop = stop_wait(tid, hs_monotonic_ns() + HS_THREAD_SLICE, false);
	*done_ret = true;
	switch (stop.kind) {
	case STOP_EXITED:
		stop_consume(tid);
		return NULL;
	case STOP_UNKNOWN:
		return NULL;
	case STOP_NONE:
		*done_ret = ending_threads_take(process, tid);
		return NULL;
	default:
		if (stop.kind == STOP_EXEC)
			stop_consume(tid);
		repeat_call_set_back_from(tid, &stop);
		error = ptrace_detach(tid, init_signal_pass(tid, signal_in(&stop)));
		if (error && error->code == HS_ERROR_GONE) {
			*done_ret = false;
			hs_error_destroy(error);
			error = NULL;
		}
		return error;
	}
}

struct hs_error *threads_release_running(const struct process *process, struct frozen_thread *threads, size_t count)
{
	uint64_t deadline = hs_monotonic_ns() + RELEASE_TIMEOUT;
	struct hs_error *error = NULL;

	while (count > 0) {
		size_t left = 0;

		for (size_t i = 0; i < count; i++) {
			bool done;

			error = hs_error_join(error, release_running(process, threads[i].tid, &done));
			if (!done)
				threads[left++] = threads[i];
		}
		count = left;
		if (count > 0 && hs_monotonic_ns() >= deadline && left_threads_add(threads, count))
			break;
		if (count > 0 && hs_monotonic_ns() >= deadline)
			return hs_error_join(
				error,
				hs_error_create(HS_ERROR_TIMEOUT,
						"thread %d of process %d cannot be released before this program ends",
						(int)threads[0].tid, (int)process->pid));
	}
	return error;
}

struct hs_error *thread_release_foreign(pid_t tid)
{
	HS_CLEANUP_PROCESS struct process other = PROCESS_CLOSED; // /proc/TID is there for any thread
	struct frozen_thread thread = { .tid = tid };
	struct hs_error *error = process_glance(tid, &other);

	if (!error)
		return threads_release_running(&other, &thread, 1);
	if (error->code != HS_ERROR_REFUSED)
		return error;
	hs_error_destroy(error); // it is gone
	return NULL;
}

struct hs_error *threads_release_unlisted(const struct process *process)
{
	struct frozen_thread main_thread = { .tid = process->pid };

	return !thread_release_keeps(process->pid) && thread_is_own_tracee(process, process->pid)
		       ? threads_release_running(process, &main_thread, 1)
		       : NULL;
}

// Behind a call of the tool's the kernel looks whether the thread has one of its own to make again only where a signal,
// or a stop, is pending. (A detach makes it look: __ptrace_unlink in kernel/ptrace.c.) So there is one stop more, which
// is passed here: nobody else looks for it before the tool's work is over.
static struct hs_error *continue_behind_call(pid_t tid)
{
	struct hs_error *error = ptrace_interrupt(tid);
	struct stop stop;

	if (!error)
		error = ptrace_continue(tid, 0);
	if (error)
		return error;
	stop = stop_wait(tid, hs_monotonic_ns() + RELEASE_TIMEOUT, false);
	return stop.kind == STOP_EVENT && !stop_is_group_stop(&stop) ? ptrace_continue(tid, 0) : NULL;
}

static struct hs_error *release_kept(pid_t tid, const struct stop *stop)
{
	const bool is_left =
		kept.how == KEPT_IN_STOP || stop_is_group_stop(stop) || stop->kind == STOP_EXEC || stop->event;
	struct hs_error *error = kept.all && stop->kind != STOP_EXEC ? ptrace_set_options(tid, kept.options) : NULL;

	if (error || is_left)
		return error;
	return stop->kind == STOP_SYSCALL ? continue_behind_call(tid)
					  : ptrace_continue(tid, init_signal_pass(tid, signal_in(stop)));
}

static struct hs_error *release_thread(struct frozen_thread *thread, bool *running_ret)
{
	const bool is_kept = thread_release_keeps(thread->tid);
	struct stop stop = stop_peek(thread->tid);
	struct hs_error *error = NULL, *detach_error;

	*running_ret = stop.kind == STOP_NONE || stop.kind == STOP_EXITED || stop.kind == STOP_UNKNOWN;
	if (*running_ret) {
		*running_ret = !is_kept; // its tracer sees what becomes of it
		return NULL;
	}
	if (stop.kind == STOP_EXEC && !is_kept)
		stop_consume(thread->tid);
	else if (stop.kind != STOP_EXEC && thread->registers_changed)
		error = write_registers(thread);
	detach_error = is_kept ? release_kept(thread->tid, &stop)
			       : ptrace_detach(thread->tid, init_signal_pass(thread->tid, signal_in(&stop)));
	if (error && error->code == HS_ERROR_GONE) {
		hs_error_destroy(error);
		error = NULL;
	}
	if (detach_error && detach_error->code == HS_ERROR_GONE) {
		hs_error_destroy(detach_error);
		detach_error = NULL;
		*running_ret = !is_kept;
	}
	return hs_error_join(error, detach_error);
}

struct hs_error *thread_release(const struct process *process, struct frozen_thread *thread, bool *running_ret)
{
	struct hs_error *error = NULL;

	if (thread->repeats_call && stop_peek(thread->tid).kind == STOP_EVENT)
		error = repeat_call_settle(process, thread);
	if (error && (error->code == HS_ERROR_GONE || error->error_number == ESRCH || error->error_number == ENOENT)) {
		hs_error_destroy(error); // killed in its stop
		error = NULL;
	}
	error = hs_error_join(error, release_thread(thread, running_ret));
	thread->repeats_call = false;
	return error;
}
