// SPDX-License-Identifier: Apache-2.0
#include "attach/late_threads.h"

#include "attach/interrupt.h"
#include "attach/kernel_workers.h"
#include "attach/memory.h"
#include "attach/sigframe.h"
#include "attach/target_access.h"
#include "attach/victim.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/proc_file.h"
#include "base/test_variable.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_NS UINT64_C(3000000000)
// More than any call takes of a processor that shows nothing of what it makes before it ends: the memory file's takes microseconds. Those that take
// longer map and unmap what is seen meanwhile.
#define ENOUGH_NS UINT64_C(20000000)
enum { FIRST_PAUSE_US = 100, LONGEST_PAUSE_US = 10000 };

// SIGKILL and SIGSTOP cannot be blocked.
#define ALL_SIGNALS (~(UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1)))

struct late_search {
	pid_t pid;
	struct target_memory memory;
	uint64_t deadline; // CLOCK_MONOTONIC, ns
	bool is_over;      // interrupted
};

static uint64_t longest_wait(void)
{
	const char *text = hs_test_variable("HEAPSNAP_LATE_WAIT_MS");
	uint64_t ns = text ? strtoul(text, NULL, 10) * UINT64_C(1000000) : WAIT_NS;

	return ns < WAIT_NS ? ns : WAIT_NS;
}

static bool blocks_all(const char *status)
{
	return status_number(status, "SigBlk:", 16, 0) == ALL_SIGNALS;
}

enum late_thread late_thread_judge(const char *status, const char *syscall, uint64_t *stack_ret)
{
	const char *state = strstr(status, "\nState:\t");
	const char *last = strrchr(syscall, ' '), *before = last;

	*stack_ret = 0;
	if (!blocks_all(status) || (state && strchr("TZX", state[strlen("\nState:\t")])))
		return LATE_THREAD_NONE;
	if (strncmp(syscall, "running", strlen("running")) == 0)
		return LATE_THREAD_RUNS;
	// The last two numbers are the stack pointer and the pc: Documentation/filesystems/proc.rst, proc_pid_syscall in fs/proc/base.c.
	while (before && before > syscall && before[-1] != ' ')
		before--;
	if (!before || before == last)
		return LATE_THREAD_NONE;
	*stack_ret = strtoull(before, NULL, 16);
	return LATE_THREAD_WAITS;
}

// NULL: it has ended, or may not be looked at.
static char *read_text(pid_t pid, pid_t tid, const char *file)
{
	char *text = NULL;
	struct hs_error *error = hs_read_task_file(pid, tid, file, &text, NULL);

	hs_error_destroy(error);
	return error ? NULL : text;
}

static bool is_worker(pid_t pid, pid_t tid)
{
	HS_CLEANUP_FREE char *stat = read_text(pid, tid, "stat");

	return !stat || stat_is_of_kernel_worker(stat);
}

// How long the thread has had a processor, ns: the first number of Documentation/scheduler/sched-stats.rst. 0 = unknown.
static uint64_t processor_time(pid_t pid, pid_t tid)
{
	HS_CLEANUP_FREE char *text = read_text(pid, tid, "schedstat");

	return text ? strtoull(text, NULL, 10) : 0;
}

static bool is_late(struct late_search *search, pid_t tid, uint64_t *began)
{
	HS_CLEANUP_FREE char *status = read_text(search->pid, tid, "status");
	HS_CLEANUP_FREE char *syscall = status && blocks_all(status) ? read_text(search->pid, tid, "syscall") : NULL;
	enum late_thread judged;
	uint64_t stack, now;

	if (!syscall)
		return false;
	judged = late_thread_judge(status, syscall, &stack);
	if (judged == LATE_THREAD_WAITS) {
		if (search->memory.fd < 0) {
			struct hs_error *error = target_memory_open(search->pid, &search->memory);

			hs_error_destroy(error);
			if (error)
				return false;
		}
		return victim_frame_is_at(stack, &search->memory);
	}
	if (judged == LATE_THREAD_NONE)
		return false;
	now = processor_time(search->pid, tid);
	if (*began == 0)
		*began = now ? now : UINT64_MAX;
	return now < *began || now - *began < ENOUGH_NS;
}

// Whether the thread is late in the end.
static bool wait_for_thread(struct late_search *search, pid_t tid)
{
	useconds_t pause_us = FIRST_PAUSE_US;
	uint64_t began = 0;

	if (!is_late(search, tid, &began) || is_worker(search->pid, tid))
		return false;
	do {
		struct hs_error *error;

		if (hs_monotonic_ns() >= search->deadline || search->is_over)
			return true;
		usleep(pause_us);
		pause_us = pause_us * 2 > LONGEST_PAUSE_US ? LONGEST_PAUSE_US : pause_us * 2;
		error = interrupt_check();
		search->is_over = error;
		hs_error_destroy(error);
	} while (is_late(search, tid, &began));
	return false;
}

pid_t late_threads_wait(pid_t pid)
{
	struct late_search search = { .pid = pid, .memory.fd = -1, .deadline = hs_monotonic_ns() + longest_wait() };
	DIR *directory;
	pid_t late = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	for (struct dirent *entry; directory && !late && (entry = readdir(directory));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && wait_for_thread(&search, tid))
			late = tid;
	}
	if (directory)
		closedir(directory);
	target_memory_close(&search.memory);
	if (late)
		hs_verbose("thread %d may still have a call to make for a heapsnap that was killed", (int)late);
	return late;
}
