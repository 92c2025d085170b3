// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/late_threads.h"

#include "attach/guard/interrupt.h"
#include "attach/process/kernel_workers.h"
#include "attach/process/memory.h"
#include "attach/process/pid_set.h"
#include "attach/ptrace/carrier_thread.h"
#include "base/back_off.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/proc_status.h"
#include "base/test_variable.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_NS UINT64_C(3000000000)
// More than any call takes of a processor that shows nothing of what it makes before it ends: the memory file's takes
// microseconds. Those that take longer map and unmap what is seen meanwhile.
#define ENOUGH_NS UINT64_C(20000000)
enum { FIRST_PAUSE_US = 100, LONGEST_PAUSE_US = 10000 };

// SIGKILL and SIGSTOP cannot be blocked.
#define ALL_SIGNALS (~(UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1)))

struct candidate {
	pid_t tid;
	uint64_t began; // its processor time when it was first seen running, ns; 0 = not yet seen; UINT64_MAX =
			// unknown, and waited for to the end
	bool is_in_call;
};

struct late_search {
	const struct process *process;
	struct target_memory memory;
	struct candidate *candidates; // that may be late, still
	size_t count;
};

static uint64_t longest_wait(void)
{
	const char *text = hs_test_variable("HEAPSNAP_LATE_WAIT_MS");
	uint64_t ns = text ? strtoul(text, NULL, 10) * UINT64_C(1000000) : WAIT_NS;

	return ns < WAIT_NS ? ns : WAIT_NS;
}

static bool blocks_all(const char *status) { return proc_status_number(status, "SigBlk:", 16, 0) == ALL_SIGNALS; }

enum late_thread late_thread_judge(const char *status, const char *syscall, uint64_t *stack_ret)
{
	const char *last = strrchr(syscall, ' '), *before = last;

	*stack_ret = 0;
	if (!blocks_all(status) || strchr("TZX", proc_status_state(status)))
		return LATE_THREAD_NONE;
	if (strncmp(syscall, "running", strlen("running")) == 0)
		return LATE_THREAD_RUNS;
	// The last two numbers are the stack pointer and the pc: Documentation/filesystems/proc.rst, proc_pid_syscall
	// in fs/proc/base.c.
	while (before && before > syscall && before[-1] != ' ')
		before--;
	if (!before || before == last)
		return LATE_THREAD_NONE;
	*stack_ret = strtoull(before, NULL, 16);
	return LATE_THREAD_WAITS;
}

// NULL: it has ended, or may not be looked at.
static char *read_text(const struct process *process, pid_t tid, const char *file)
{
	char *text = NULL;
	struct hs_error *error = process_read_task_file(process, tid, file, &text, NULL);

	hs_error_destroy(error);
	return error ? NULL : text;
}

static bool is_worker(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *stat = read_text(process, tid, "stat");

	return !stat || stat_is_of_kernel_worker(stat);
}

// How long the thread has had a processor, ns: the first number of Documentation/scheduler/sched-stats.rst. 0 =
// unknown.
static uint64_t processor_time(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *text = read_text(process, tid, "schedstat");

	return text ? strtoull(text, NULL, 10) : 0;
}

static bool is_late(struct late_search *search, struct candidate *candidate)
{
	HS_CLEANUP_FREE char *status = read_text(search->process, candidate->tid, "status");
	HS_CLEANUP_FREE char *syscall =
		status && blocks_all(status) ? read_text(search->process, candidate->tid, "syscall") : NULL;
	enum late_thread judged;
	uint64_t stack, now;

	candidate->is_in_call = false;
	if (!syscall)
		return false;
	judged = late_thread_judge(status, syscall, &stack);
	if (judged == LATE_THREAD_WAITS) {
		if (search->memory.fd < 0) {
			struct hs_error *error = target_memory_open(search->process, &search->memory);

			hs_error_destroy(error);
			if (error)
				return false;
		}
		candidate->is_in_call = carrier_frame_is_at(stack, &search->memory);
		return candidate->is_in_call;
	}
	if (judged == LATE_THREAD_NONE)
		return false;
	now = processor_time(search->process, candidate->tid);
	if (candidate->began == 0)
		candidate->began = now ? now : UINT64_MAX;
	return now < candidate->began || now - candidate->began < ENOUGH_NS;
}

static bool is_any_thread(pid_t tid, const void *context)
{
	(void)tid;
	(void)context;
	return true;
}

// No thread that is made later has a call to make: no thread makes another in a call of ours.
struct hs_error *late_search_begin(const struct process *process, struct late_search **ret)
{
	struct late_search *search = calloc(1, sizeof(*search));
	struct pid_set threads;

	if (!search)
		return &hs_error_no_memory;
	*search = (struct late_search){ .process = process, .memory.fd = -1 };
	thread_set_list(process, is_any_thread, NULL, &threads);
	search->candidates = calloc(threads.count + 1, sizeof(*search->candidates));
	for (size_t i = 0; search->candidates && i < threads.count; i++) {
		struct candidate candidate = { .tid = threads.pids[i] };

		if (is_late(search, &candidate) && !is_worker(process, candidate.tid))
			search->candidates[search->count++] = candidate;
	}
	pid_set_deinit(&threads);
	if (!search->candidates) {
		free(search);
		return &hs_error_no_memory;
	}
	*ret = search;
	return NULL;
}

bool late_search_is_over(const struct late_search *search) { return !search || search->count == 0; }

uint64_t late_search_deadline(void) { return hs_monotonic_ns() + longest_wait(); }

static void drop_decided(struct late_search *search)
{
	size_t left = 0;

	for (size_t i = 0; i < search->count; i++)
		if (is_late(search, &search->candidates[i]))
			search->candidates[left++] = search->candidates[i];
	search->count = left;
}

static bool all_are_over(struct late_search *const *searches, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!late_search_is_over(searches[i]))
			return false;
	return true;
}

// For all together: each thread has its processor time while the others are waited for.
void late_searches_wait(struct late_search *const *searches, size_t count, uint64_t deadline)
{
	struct back_off pause = { FIRST_PAUSE_US, LONGEST_PAUSE_US };
	bool is_interrupted = false;

	while (!all_are_over(searches, count) && !is_interrupted && hs_monotonic_ns() < deadline) {
		struct hs_error *error;

		back_off_wait(&pause);
		error = interrupt_check();
		is_interrupted = error;
		hs_error_destroy(error);
		for (size_t i = 0; i < count; i++)
			if (searches[i])
				drop_decided(searches[i]);
	}
}

void late_search_end(struct late_search *search, struct late_call *ret)
{
	*ret = (struct late_call){ 0 };
	if (!search)
		return;
	for (size_t i = 0; i < search->count && !ret->is_certain; i++)
		if (!ret->tid || search->candidates[i].is_in_call)
			*ret = (struct late_call){ search->candidates[i].tid, search->candidates[i].is_in_call };
	if (ret->tid)
		hs_verbose("thread %d may still have a call to make for a heapsnap that was killed", (int)ret->tid);
	target_memory_close(&search->memory);
	free(search->candidates);
	free(search);
}

void late_threads_wait(const struct process *process, struct late_call *ret)
{
	struct late_search *search = NULL;
	struct hs_error *error = late_search_begin(process, &search);

	if (error) { // nothing is known of any thread
		hs_error_destroy(error);
		*ret = (struct late_call){ .tid = process->pid };
		return;
	}
	late_searches_wait(&search, 1, late_search_deadline());
	late_search_end(search, ret);
}

struct hs_error *late_call_unknown(const struct process *process, pid_t tid)
{
	return hs_error_create(
		HS_ERROR_NOT_FOUND,
		"process %d is not attached, but its thread %d may still make a call for a killed heapsnap (it is "
		"runnable with every signal blocked); look again later",
		(int)process->pid, (int)tid);
}
