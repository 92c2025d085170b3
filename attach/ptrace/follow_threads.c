// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/follow_threads.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/followed_resume.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/repeat_call.h"
#include "attach/ptrace/seize_guard.h"
#include "attach/ptrace/stop_wait.h"
#include "attach/ptrace/thread_release.h"
#include "base/array.h"
#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

// As many threads that have not come to their stop may be looked at for one that was found in it: so that the looks are
// proportional to the threads, also where these stop slowly, one after the other.
enum { MISSES_MOST = 16 };

// For how long a thread is asked for again that cannot be traced for an exec after the other.
#define SEIZE_NS UINT64_C(1000000000)

static const unsigned long OPTIONS = HS_PTRACE_OPTIONS | HS_PTRACE_TRACE_EXIT | HS_PTRACE_TRACE_MADE;

static struct hs_error *add(struct follow_threads *follow, pid_t tid)
{
	struct hs_error *error = ARRAY_RESERVE(follow->threads, follow->count + 1, &follow->room);

	if (!error)
		follow->threads[follow->count++] = (struct followed_thread){ .tid = tid };
	return error;
}

bool follow_threads_know(const struct follow_threads *follow, pid_t tid)
{
	for (size_t i = 0; i < follow->count; i++)
		if (follow->threads[i].tid == tid)
			return true;
	return false;
}

// One that has ended, or whose number another process's thread has by now, is left out.
static struct hs_error *seize(struct follow_threads *follow, pid_t tid)
{
	struct hs_error *error = add(follow, tid);

	if (error)
		return error;
	error = seize_member(follow->process, tid, OPTIONS, hs_monotonic_ns() + SEIZE_NS);
	if (!error && process_has_thread(follow->process, tid))
		return NULL;
	follow->count--;
	if (!error)
		return thread_release_foreign(tid);
	if (error->code != HS_ERROR_GONE && !thread_is_ending(follow->process, tid))
		return error;
	hs_error_destroy(error);
	return NULL;
}

static struct hs_error *seize_unknown(struct follow_threads *follow)
{
	struct thread_walk walk;
	struct hs_error *error;

	if (!thread_walk_begin(follow->process, &walk))
		return errno == ENOENT || errno == ESRCH ? process_gone(follow->process)
							 : hs_error_system(errno, "cannot list threads");
	error = seize_guard_begin();
	for (pid_t tid; !error && (tid = thread_walk_next(&walk));)
		if (!follow_threads_know(follow, tid))
			error = seize(follow, tid);
	seize_guard_end();
	thread_walk_end(&walk);
	return error;
}

struct hs_error *follow_threads_add_others(struct follow_threads *follow)
{
	struct hs_error *error;
	size_t before;

	do {
		before = follow->count;
		error = seize_unknown(follow);
	} while (!error && follow->count > before);
	return error;
}

struct hs_error *follow_threads_begin(const struct process *process, struct follow_threads *ret)
{
	*ret = (struct follow_threads){ .process = process };
	return follow_threads_add_others(ret);
}

void follow_threads_through_freeze(void) { thread_release_keep_all(OPTIONS); }

struct hs_error *follow_threads_again(struct follow_threads *follow)
{
	thread_release_keep(0, KEPT_GOING_ON);
	return follow_threads_add_others(follow);
}

struct hs_error *follow_threads_adopt(const struct process *process, struct follow_threads *ret)
{
	*ret = (struct follow_threads){ .process = process };
	return add(ret, process->pid);
}

void follow_threads_end(struct follow_threads *follow)
{
	free(follow->threads);
	*follow = (struct follow_threads){ 0 };
}

static void ask_to_stop(pid_t tid)
{
	struct hs_error *error = ptrace_interrupt(tid);

	hs_error_destroy(error); // it is gone
}

// Any stop takes away what was asked for (ptrace_stop in kernel/signal.c).
static void resume_from(const struct follow_threads *follow, pid_t tid, int signal)
{
	if (follow->is_holding)
		ask_to_stop(tid);
	followed_resume(follow->process, tid, signal);
}

void follow_threads_let_go(pid_t tid)
{
	struct hs_error *error = thread_release_foreign(tid);

	hs_error_destroy(error); // the kernel does it when the tool ends
}

// Whether a thread but this one runs, or stands before its end: then that one has the memory when this one is gone. One
// that was killed in that stop is past it, and nobody has told.
static bool another_lives(const struct follow_threads *follow, pid_t tid)
{
	for (size_t i = 0; i < follow->count; i++) {
		const struct followed_thread *other = &follow->threads[i];
		struct stop stop;

		if (other->tid == tid || other->is_past)
			continue;
		stop = stop_peek(other->tid);
		if (stop.kind == STOP_SIGNAL && stop.event == HS_PTRACE_EVENT_EXIT)
			return true;
		if (stop.kind != STOP_EXITED && stop.kind != STOP_UNKNOWN &&
		    !thread_is_ending(follow->process, other->tid))
			return true;
	}
	return false;
}

// Of all threads this one is left, as the main one.
static enum follow_event executed(struct follow_threads *follow)
{
	stop_consume(follow->process->pid);
	follow->threads[0] = (struct followed_thread){ .tid = follow->process->pid };
	follow->count = 1;
	follow->ending = 0;
	follow->is_holding = false;
	return FOLLOW_EXECUTED;
}

bool follow_threads_take(struct follow_threads *follow, pid_t tid)
{
	struct hs_error *error;

	if (follow_threads_know(follow, tid))
		return true;
	if (!process_has_thread(follow->process, tid))
		return false;
	error = add(follow, tid);
	if (error)
		follow_threads_let_go(tid);
	hs_error_destroy(error);
	return true;
}

// A thread of its own, or a process: what it has made goes on by itself, or is told.
static enum follow_event made(struct follow_threads *follow, pid_t maker, pid_t *made_ret)
{
	struct hs_error *error = ptrace_get_made(maker, made_ret);
	const bool is_known = !error;

	resume_from(follow, maker, 0);
	hs_error_destroy(
		error); // the maker was killed in its stop: follow_threads.h says who takes over what it has made
	return is_known && !follow_threads_take(follow, *made_ret) ? FOLLOW_STARTED : FOLLOW_NONE;
}

static enum follow_event handle_signal(struct follow_threads *follow, struct followed_thread *thread,
				       const struct stop *stop, pid_t *made_ret)
{
	switch (stop->event) {
	case 0:
		resume_from(follow, thread->tid, stop->signal);
		return FOLLOW_NONE;
	case HS_PTRACE_EVENT_FORK:
	case HS_PTRACE_EVENT_VFORK:
	case HS_PTRACE_EVENT_CLONE:
		return made(follow, thread->tid, made_ret);
	case HS_PTRACE_EVENT_EXIT:
		if (!another_lives(follow, thread->tid)) {
			follow->ending = thread->tid;
			return FOLLOW_ENDING;
		}
		thread->is_past = true;
		break;
	}
	followed_resume(follow->process, thread->tid, 0);
	return FOLLOW_NONE;
}

// Its stop is consumed, so that it is not in the way of others (stop_find): there is no signal in it that could be
// lost.
static void hold(struct followed_thread *thread, const struct stop *stop)
{
	struct frozen_thread *held = &thread->held;
	struct hs_error *error = NULL;

	*held = (struct frozen_thread){ .tid = thread->tid };
	thread->is_group_stop = stop->signal != SIGTRAP; // which has ended a call by itself
	if (!thread->is_group_stop)
		error = ptrace_get_registers(thread->tid, &held->registers);
	if (!error && !thread->is_group_stop)
		error = repeat_call_set_back(held);
	thread->stands = !error;
	if (!error)
		stop_consume(thread->tid);
	hs_error_destroy(error); // killed in its stop
}

enum look { LOOK_QUIET, LOOK_AGAIN, LOOK_OVER }; // it runs; it may have stopped once more; it is gone

// Handles one stop of a thread.
static enum follow_event look_at(struct follow_threads *follow, struct followed_thread *thread, enum look *ret,
				 pid_t *made_ret)
{
	const struct stop stop = stop_peek(thread->tid);
	struct hs_error *error;

	*ret = LOOK_AGAIN;
	thread->stands &= stop.kind == STOP_NONE; // killed
	switch (stop.kind) {
	case STOP_NONE:
		*ret = LOOK_QUIET;
		break;
	case STOP_EXITED:
	case STOP_UNKNOWN:
		if (thread->tid == follow->process->pid)
			return FOLLOW_ENDED;
		if (stop.kind == STOP_EXITED)
			stop_consume(thread->tid);
		*ret = LOOK_OVER;
		break;
	case STOP_EXEC:
		return executed(follow);
	case STOP_EVENT:
		follow->is_stopped = stop.signal != SIGTRAP;
		if (follow->is_holding) {
			hold(thread, &stop);
			break;
		}
		repeat_call_set_back_from(thread->tid, &stop);
		error = follow->is_stopped ? ptrace_listen(thread->tid) : ptrace_continue(thread->tid, 0);
		hs_error_destroy(error); // killed in its stop
		break;
	case STOP_SYSCALL:
		resume_from(follow, thread->tid, 0);
		break;
	case STOP_SIGNAL:
		if (thread->tid == follow->ending && stop.event == HS_PTRACE_EVENT_EXIT)
			*ret = LOOK_QUIET; // it was told, and stands
		else
			return handle_signal(follow, thread, &stop, made_ret);
		break;
	}
	return FOLLOW_NONE;
}

// Handles stops of the thread of this index, until it runs or is gone. *is_gone_ret: another one has its index.
static enum follow_event look_until_quiet(struct follow_threads *follow, size_t index, bool *is_gone_ret,
					  pid_t *made_ret)
{
	enum follow_event event = FOLLOW_NONE;
	enum look look = LOOK_AGAIN;

	*is_gone_ret = false;
	while (event == FOLLOW_NONE && look == LOOK_AGAIN)
		event = look_at(follow, &follow->threads[index], &look, made_ret);
	if (event != FOLLOW_NONE || look != LOOK_OVER)
		return event;
	follow->threads[index] = follow->threads[--follow->count];
	*is_gone_ret = true;
	return FOLLOW_NONE;
}

enum follow_event follow_threads_look(struct follow_threads *follow, pid_t *made_ret)
{
	size_t i = 0;

	*made_ret = 0;
	while (i < follow->count) {
		bool is_gone;
		enum follow_event event = look_until_quiet(follow, i, &is_gone, made_ret);

		if (event != FOLLOW_NONE)
			return event;
		i += !is_gone;
	}
	return FOLLOW_NONE;
}

// While threads are held: at those that do not stand yet, from where the look before has ended.
static enum follow_event look_at_coming(struct follow_threads *follow, pid_t *made_ret)
{
	enum follow_event event = FOLLOW_NONE;
	int misses = 0;

	for (size_t left = follow->count; left > 0 && misses < MISSES_MOST && event == FOLLOW_NONE; left--) {
		const size_t i = follow->next < follow->count ? follow->next : 0;
		bool is_gone = false;

		if (!follow->threads[i].stands && !follow->threads[i].is_past) {
			event = look_until_quiet(follow, i, &is_gone, made_ret);
			misses += !is_gone && !follow->threads[i].stands;
		}
		follow->next = i + !is_gone;
	}
	return event;
}

enum follow_event follow_threads_look_at(struct follow_threads *follow, pid_t tid, pid_t *made_ret)
{
	enum follow_event event = FOLLOW_NONE;
	bool is_gone;

	*made_ret = 0;
	for (size_t i = 0; i < follow->count; i++) {
		if (follow->threads[i].tid == tid) {
			event = look_until_quiet(follow, i, &is_gone, made_ret);
			break;
		}
	}
	return event == FOLLOW_NONE && follow->is_holding ? look_at_coming(follow, made_ret) : event;
}

void follow_threads_go_on(struct follow_threads *follow)
{
	const pid_t tid = follow->ending ? follow->ending : follow->process->pid;

	for (size_t i = 0; follow->ending && i < follow->count; i++)
		follow->threads[i].is_past |= follow->threads[i].tid == tid;
	follow->ending = 0;
	followed_resume(follow->process, tid, 0);
}

struct hs_error *follow_threads_hold(struct follow_threads *follow)
{
	struct thread_facts facts;
	struct hs_error *error = thread_facts_read(follow->process, &facts);

	if (!error && facts.seccomp_mode)
		error = hs_error_create(HS_ERROR_REFUSED, "it would have to be stopped, and has a seccomp filter");
	if (error)
		return error;
	follow->is_holding = true;
	for (size_t i = 0; i < follow->count; i++)
		if (!follow->threads[i].is_past)
			ask_to_stop(follow->threads[i].tid);
	return NULL;
}

bool follow_threads_stand(const struct follow_threads *follow)
{
	size_t standing = 0;

	if (!follow->is_holding || follow->ending)
		return false;
	for (size_t i = 0; i < follow->count; i++) {
		if (!follow->threads[i].is_past && !follow->threads[i].stands)
			return false;
		standing += follow->threads[i].stands;
	}
	// None of them was killed. That is asked only now: as long as one is missing it would be asked in vain.
	for (size_t i = 0; i < follow->count; i++)
		if (follow->threads[i].stands && stop_peek(follow->threads[i].tid).kind != STOP_NONE)
			return false;
	return standing > 0;
}

static struct hs_error *go_on(const struct process *process, struct followed_thread *thread)
{
	struct frozen_thread *held = &thread->held;
	struct hs_error *error = held->repeats_call ? repeat_call_settle(process, held) : NULL;

	if (!error && held->registers_changed)
		error = ptrace_set_registers(held->tid, &held->registers);
	hs_error_destroy(error); // killed in its stop
	return thread->is_group_stop ? ptrace_listen(held->tid) : ptrace_continue(held->tid, 0);
}

void follow_threads_release(struct follow_threads *follow)
{
	follow->is_holding = false;
	for (size_t i = 0; i < follow->count; i++) {
		struct followed_thread *thread = &follow->threads[i];

		// One that was killed goes on by the next look.
		if (thread->stands && stop_peek(thread->tid).kind == STOP_NONE)
			hs_error_destroy(go_on(follow->process, thread));
		thread->stands = false;
	}
}
