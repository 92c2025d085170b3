// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/threads.h"

#include "attach/arch/syscall.h"
#include "attach/guard/interrupt.h"
#include "attach/guard/priority_boost.h"
#include "attach/guard/standstill.h"
#include "attach/process/kernel_workers.h"
#include "attach/process/thread_facts.h"
#include "attach/ptrace/ending_threads.h"
#include "attach/ptrace/freeze_error.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/ptrace/init_signal.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/repeat_call.h"
#include "attach/ptrace/seccomp_filter.h"
#include "attach/ptrace/seize_guard.h"
#include "attach/ptrace/stop_wait.h"
#include "attach/ptrace/thread_release.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct freezer {
	struct frozen_process *frozen;
	size_t room;
	uint64_t deadline; // CLOCK_MONOTONIC, ns
	struct pid_set user_threads;
	pid_t left_out; // one that could not be seized in the last pass, though it may be live; 0 = none
	bool kept_ends; // one that is kept stands before its end
};

static int compare_tids(const void *left, const void *right)
{
	pid_t a = ((const struct frozen_thread *)left)->tid, b = ((const struct frozen_thread *)right)->tid;

	return (a > b) - (a < b);
}

static struct hs_error *add_thread(struct freezer *freezer, pid_t tid)
{
	struct frozen_process *frozen = freezer->frozen;

	if (ARRAY_RESERVE(frozen->threads, frozen->count + 1, &freezer->room))
		return &hs_error_no_memory;
	frozen->threads[frozen->count++] = (struct frozen_thread){ .tid = tid };
	return NULL;
}

static void remove_thread(struct frozen_process *frozen, size_t index)
{
	memmove(frozen->threads + index, frozen->threads + index + 1,
		(frozen->count - index - 1) * sizeof(*frozen->threads));
	frozen->count--;
}

// Seizes and interrupts one thread and adds it. A dead or dying thread is left out. So is one that cannot be seized
// now, or is not proven to be one of the process: its id may have gone to another process's since it was listed. That
// is noted in `left_out`, so that the threads are listed once more.
static struct hs_error *seize_thread(struct freezer *freezer, pid_t tid)
{
	const struct process *process = freezer->frozen->process;
	struct hs_error *error;

	// Room first: a thread that is seized must be in the list, or it could not be released.
	error = add_thread(freezer, tid);
	if (error)
		return error;
	error = seize_member(process, tid, HS_PTRACE_OPTIONS, freezer->deadline);
	if (!error && !process_has_thread(process, tid)) {
		freezer->frozen->count--;
		freezer->left_out = tid;
		return thread_release_foreign(tid);
	}
	if (!error) {
		if (thread_release_keeps(tid) && stop_peek(tid).kind == STOP_EVENT)
			return NULL; // one more would stop it again when it goes on
		error = ptrace_interrupt(tid);
		if (!error || error->code != HS_ERROR_GONE)
			return error;
		// died after it was seized, and the collection reaps it; or has the main thread's id now
		hs_error_destroy(error);
		return NULL;
	}
	freezer->frozen->count--;
	if (error->code == HS_ERROR_TIMEOUT)
		freezer->left_out = tid;
	if (error->code == HS_ERROR_TIMEOUT || error->code == HS_ERROR_GONE || thread_is_ending(process, tid)) {
		hs_error_destroy(error);
		return NULL;
	}
	if (error->error_number == EPERM)
		return hs_error_prefix(
			error, "not allowed to trace process %d (traced by another, or a security module forbids it)",
			(int)process->pid);
	return error;
}

// A thread that is kept is its tracer's to be let go to its end.
static bool is_kept_before_end(pid_t tid)
{
	struct stop stop;

	if (!thread_release_keeps(tid) || thread_release_keeps_all())
		return false;
	stop = stop_peek(tid);
	return stop.kind == STOP_SIGNAL && stop.event == HS_PTRACE_EVENT_EXIT;
}

// Seizes every thread that is not yet in the list (whose first `known` entries are sorted).
static struct hs_error *seize_new_threads(struct freezer *freezer)
{
	struct frozen_process *frozen = freezer->frozen;
	size_t known = frozen->count;
	struct hs_error *error = NULL;
	struct thread_walk walk;

	if (!thread_walk_begin(frozen->process, &walk)) {
		if (errno == ENOENT || errno == ESRCH)
			return process_gone(frozen->process);
		return hs_error_system(errno, "cannot list the threads of process %d", (int)frozen->process->pid);
	}
	error = seize_guard_begin();
	freezer->left_out = 0;
	freezer->kept_ends = false;
	for (pid_t tid; !error && (tid = thread_walk_next(&walk));) {
		const struct frozen_thread key = { .tid = tid };

		if (known > 0 && bsearch(&key, frozen->threads, known, sizeof(key), compare_tids))
			continue;
		if (thread_is_kernel_worker(frozen->process, key.tid, &freezer->user_threads) ||
		    ending_threads_have(frozen->process, key.tid))
			continue;
		if (is_kept_before_end(key.tid)) {
			freezer->kept_ends = true;
			continue;
		}
		error = interrupt_check();
		if (!error)
			error = seize_thread(freezer, key.tid);
		if (freezer->left_out && hs_monotonic_ns() >= freezer->deadline)
			break;
	}
	seize_guard_end();
	thread_walk_end(&walk);
	return error;
}

// An interrupted sleep goes on by restart_syscall(2), which a filter may not know: it would kill the thread when that
// is released. Such a call is made anew instead; a time that it waits for begins again. At once, for the tool may be
// killed next.
static struct hs_error *keep_from_forbidden_restart(struct frozen_thread *thread)
{
	arch_registers registers = thread->registers;
	struct hs_error *error;
	bool kills;

	if (arch_call_state(&registers) != ARCH_RESTART_BLOCK)
		return NULL;
	error = seccomp_restart_kills(thread->tid, &kills);
	if (error) {
		// without privilege; then a process with filters was refused before
		bool unknown = error->code == HS_ERROR_REFUSED;

		if (!unknown)
			return error;
		hs_error_destroy(error);
		return NULL;
	}
	if (!kills)
		return NULL;
	arch_repeat_syscall(&registers);
	error = ptrace_set_registers(thread->tid, &registers);
	if (!error) {
		thread->registers = registers;
		thread->repeats_call = true;
	}
	return error;
}

struct hs_error *threads_read_signal_mask(struct frozen_thread *thread)
{
	return ptrace_get_signal_mask(thread->tid, &thread->signal_mask);
}

// The main thread's id may have gone to another thread, by an exec, after the one that had it was interrupted. The
// kernel resolves the id of a thread to seize before it waits for an exec to be over (ptrace_attach in
// kernel/ptrace.c): so the one in that exec may be traced after the stop that each traced exec has, under an id that
// the request did not name, and nothing has interrupted it. While an interrupt is pending, one more changes nothing;
// one that comes right behind the stop costs one more stop when the thread is resumed, which run_to_syscall_stop passes
// over, or is dropped with the release, if that is a detach.
static struct hs_error *interrupt_again(pid_t tid)
{
	struct hs_error *error = ptrace_interrupt(tid);

	if (!error || error->code != HS_ERROR_GONE)
		return error;
	hs_error_destroy(error);
	return NULL;
}

// What waits for a thread in this stop stands, too, until who follows it lets it go on.
static struct hs_error *refuse_kept_stop(const struct process *process, pid_t tid, int event)
{
	if (!thread_release_keeps_all())
		return NULL;
	if (event == HS_PTRACE_EVENT_VFORK)
		return freeze_error_vfork(process);
	return event == HS_PTRACE_EVENT_EXIT && tid == process->pid ? freeze_error_ends(process) : NULL;
}

enum collected { COLLECTED, COLLECTED_DEAD, NOT_YET };

// Waits for a moment until the thread is in an event stop, and reads its registers.
static struct hs_error *collect_thread(struct freezer *freezer, struct frozen_thread *thread, enum collected *ret)
{
	// Where one has been met that ends, there may be many.
	uint64_t slice_end = hs_monotonic_ns() + (ending_threads_count() > 0 ? HS_THREAD_SLICE / 20 : HS_THREAD_SLICE);
	pid_t tid = thread->tid;

	for (;;) {
		struct stop stop = stop_wait(tid, slice_end < freezer->deadline ? slice_end : freezer->deadline, true);
		struct hs_error *error = NULL;

		switch (stop.kind) {
		case STOP_EVENT:
			thread->repeats_call = false; // it may have been collected before, and have run since
			error = ptrace_get_registers(tid, &thread->registers);
			if (!error)
				error = keep_from_forbidden_restart(thread);
			*ret = COLLECTED;
			// A group stop has interrupted the call already, and not by this tool.
			if (!error && thread->repeats_call)
				error = threads_read_signal_mask(thread);
			else if (!error && stop.signal == SIGTRAP)
				error = repeat_call_set_back(thread);
			thread->stands = !error;
			if (!error)
				return NULL;
			break; // killed in its stop: look again
		case STOP_EXITED:
			stop_consume(tid);
			*ret = COLLECTED_DEAD;
			return NULL;
		case STOP_UNKNOWN:
			*ret = COLLECTED_DEAD;
			return NULL;
		case STOP_EXEC:
			return freeze_error_exec(freezer->frozen->process);
		case STOP_NONE:
			*ret = ending_threads_take(freezer->frozen->process, tid) ? COLLECTED_DEAD : NOT_YET;
			error = tid == freezer->frozen->process->pid ? interrupt_again(tid) : NULL;
			return error ? error : interrupt_check();
		case STOP_SIGNAL:
		case STOP_SYSCALL:
			if (is_kept_before_end(tid)) {
				*ret = COLLECTED_DEAD;
				return NULL;
			}
			error = refuse_kept_stop(freezer->frozen->process, tid, stop.event);
			if (error)
				return error;
			// Any stop takes away a pending interrupt (ptrace_stop in kernel/signal.c): ask again, then let
			// the signal take its way. The thread stops before it runs another instruction of the program.
			error = ptrace_interrupt(tid);
			if (!error)
				error = ptrace_continue(tid, init_signal_pass(tid, stop.signal));
		}
		if (error && error->code != HS_ERROR_GONE)
			return error;
		hs_error_destroy(error);
		if (hs_monotonic_ns() >= freezer->deadline) {
			*ret = NOT_YET;
			return NULL;
		}
	}
}

// Whether all threads stand where they were collected; notes those that do not, which are dead or about to be, or were
// not collected yet.
static bool all_stand(struct frozen_process *frozen)
{
	bool all = true;

	for (size_t i = 0; i < frozen->count; i++) {
		struct frozen_thread *thread = &frozen->threads[i];

		thread->stands = thread->stands && stop_peek(thread->tid).kind == STOP_EVENT;
		all = all && thread->stands;
	}
	return all;
}

// All in the list in an event stop; the dead taken out. In turns, because one may wait until another, dead, is reaped
// (exec). Those that stand are passed by: however often new threads appear, each is collected once. But while one is
// waited for, they are looked at too, for they may have been killed: by the exec that it is in; or with the whole
// process, whose main thread is reported dead only after all others are reaped.
static struct hs_error *collect_threads(struct freezer *freezer)
{
	struct frozen_process *frozen = freezer->frozen;
	pid_t waiting;

	do {
		size_t i = 0;

		waiting = 0;
		while (i < frozen->count) {
			struct frozen_thread *thread = &frozen->threads[i];
			enum collected collected = COLLECTED;
			struct hs_error *error = thread->stands ? NULL : collect_thread(freezer, thread, &collected);

			if (error)
				return error;
			if (collected == NOT_YET)
				waiting = thread->tid;
			if (collected == COLLECTED_DEAD)
				remove_thread(frozen, i);
			else
				i++;
		}
		if (waiting != 0 && hs_monotonic_ns() >= freezer->deadline)
			return freeze_error_stuck(frozen->process, waiting);
		if (waiting != 0)
			all_stand(frozen);
		ending_threads_reap(); // an exec may wait for it
	} while (waiting != 0);
	return NULL;
}

static struct hs_error *stop_all(struct freezer *freezer)
{
	struct frozen_process *frozen = freezer->frozen;

	for (;;) {
		size_t known = frozen->count;
		struct hs_error *error;
		bool stand;

		error = seize_new_threads(freezer);
		if (error)
			return error;
		// in any case: an exec that keeps the others from being seized waits for the dead to be reaped
		stand = all_stand(frozen);
		if (stand && frozen->count == known && !freezer->left_out) {
			// Those that were listed had ended by then, and have started others before.
			if (frozen->count > 0 || freezer->kept_ends || !process_lives(frozen->process))
				break;
			if (hs_monotonic_ns() >= freezer->deadline)
				return freeze_error_too_fast(frozen->process);
			continue;
		}
		priority_boost_lower(); // some are still to come to their stops
		error = collect_threads(freezer);
		if (error)
			return error;
		priority_boost_raise();
		if (freezer->left_out && hs_monotonic_ns() >= freezer->deadline)
			return hs_error_create(
				HS_ERROR_TIMEOUT,
				"thread %d of process %d cannot be traced: another thread of it is in an exec that "
				"takes long; try again later",
				(int)freezer->left_out, (int)frozen->process->pid);
		// Where all that were there at first took the time that there was, and none has been started since, all
		// stand.
		if (known > 0 && hs_monotonic_ns() >= freezer->deadline)
			return freeze_error_too_fast(frozen->process);
		if (frozen->count > 0)
			qsort(frozen->threads, frozen->count, sizeof(*frozen->threads), compare_tids);
	}
	if (frozen->count == 0)
		return process_gone(frozen->process);
	return NULL;
}

struct hs_error *threads_freeze(const struct process *process, unsigned timeout_ms, struct frozen_process *ret)
{
	struct freezer freezer = { .frozen = ret };
	struct hs_error *error = standstill_begin(process);

	if (error)
		return error;
	user_threads_list(process, &freezer.user_threads);
	priority_boost_begin();
	*ret = (struct frozen_process){ .process = process, .frozen_at = hs_monotonic_ns() };
	freezer.deadline = ret->frozen_at + timeout_ms * UINT64_C(1000000);
	error = stop_all(&freezer);
	pid_set_deinit(&freezer.user_threads);
	if (error)
		error = hs_error_join(error, threads_thaw(ret));
	return error;
}

struct hs_error *threads_freeze_memory(struct target_memory *memory, unsigned timeout_ms, struct frozen_process *ret)
{
	struct hs_error *error;

	target_memory_fetch_lacked(memory);
	error = threads_freeze(memory->process, timeout_ms, ret);
	if (error)
		return error;
	error = target_memory_open_again(memory, &ret->has_executed);
	return error ? hs_error_join(error, threads_thaw(ret)) : NULL;
}

// Releases those that repeat a call, or those that do not; keeps the rest, and those that run, in the list.
static struct hs_error *release_some(struct frozen_process *frozen, bool repeating)
{
	struct hs_error *errors = NULL;
	size_t left = 0;

	for (size_t i = 0; i < frozen->count; i++) {
		struct frozen_thread *thread = &frozen->threads[i];
		bool stays = true;

		if (thread->repeats_call == repeating)
			errors = hs_error_join(errors, thread_release(frozen->process, thread, &stays));
		if (stays)
			frozen->threads[left++] = *thread;
	}
	frozen->count = left;
	return errors;
}

struct hs_error *threads_thaw(struct frozen_process *frozen)
{
	struct hs_error *error, *unreleased;
	uint64_t end;

	frozen_maps_forget(frozen);
	priority_boost_raise();
	error = release_some(frozen, false);
	error = hs_error_join(error, release_some(frozen, true));
	end = hs_monotonic_ns();
	priority_boost_lower();
	unreleased = threads_release_running(frozen->process, frozen->threads, frozen->count);
	unreleased = hs_error_join(unreleased, threads_release_unlisted(frozen->process));
	priority_boost_end();
	ending_threads_reap_from_now_on();
	standstill_end(!unreleased);
	error = hs_error_join(error, unreleased);
	frozen->stopped_ns = end - frozen->frozen_at;
	free(frozen->threads);
	frozen->threads = NULL;
	frozen->count = 0;
	return error;
}

struct hs_error *threads_run_on(struct frozen_process *frozen, bool (*chosen)(const struct frozen_thread *, void *),
				void *context, unsigned wait_us, unsigned timeout_ms)
{
	struct freezer freezer = { .frozen = frozen };
	struct hs_error *error = NULL;
	size_t left = 0;
	const enum kept_thread how = thread_release_keep_so(KEPT_GOING_ON);

	priority_boost_lower();
	for (size_t i = 0; i < frozen->count; i++) {
		struct frozen_thread *thread = &frozen->threads[i];
		bool stays = true;

		if (chosen(thread, context))
			error = hs_error_join(error, thread_release(frozen->process, thread, &stays));
		if (stays)
			frozen->threads[left++] = *thread;
	}
	thread_release_keep_so(how);
	frozen_maps_forget(frozen); // only now, for `chosen` may look into them
	freezer.room = frozen->count;
	frozen->count = left;
	if (!error)
		error = fault_point("let threads run on");
	if (!error) {
		usleep(wait_us);
		user_threads_list(frozen->process, &freezer.user_threads);
		freezer.deadline = hs_monotonic_ns() + timeout_ms * UINT64_C(1000000);
		error = stop_all(&freezer);
		pid_set_deinit(&freezer.user_threads);
	}
	return error ? hs_error_join(error, threads_thaw(frozen)) : NULL;
}
