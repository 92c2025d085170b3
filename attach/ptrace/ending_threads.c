// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/ending_threads.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/stop_wait.h"
#include "base/array.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

// Read and shortened by the signal's handler too: only touched elsewhere while SIGCHLD is blocked.
static struct {
	pid_t *tids;
	size_t count, room;
} noted;

static sigset_t block_child_signal(void)
{
	sigset_t child, before;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	return before;
}

static void set_signal_mask(sigset_t mask) { sigprocmask(SIG_SETMASK, &mask, NULL); }

// false = not dead yet. Looked at first: to wait for the end of a traced thread takes its stops too (wait_task_stopped
// in kernel/exit.c), and under the same number may be a thread that stands in one.
static bool reap(pid_t tid)
{
	const enum stop_kind kind = stop_peek(tid).kind;

	if (kind == STOP_EXITED)
		stop_consume(tid);
	return kind == STOP_EXITED || kind == STOP_UNKNOWN;
}

static void reap_all(void)
{
	size_t left = 0;

	for (size_t i = 0; i < noted.count; i++)
		if (!reap(noted.tids[i]))
			noted.tids[left++] = noted.tids[i];
	noted.count = left;
}

static bool is_noted(pid_t tid)
{
	for (size_t i = 0; i < noted.count; i++)
		if (noted.tids[i] == tid)
			return true;
	return false;
}

static bool note(pid_t tid)
{
	if (is_noted(tid))
		return true;
	if (ARRAY_RESERVE(noted.tids, noted.count + 1, &noted.room))
		return false;
	noted.tids[noted.count++] = tid;
	return true;
}

bool ending_threads_take(const struct process *process, pid_t tid)
{
	sigset_t mask;
	bool done;

	if (!thread_is_ending(process, tid))
		return false;
	mask = block_child_signal();
	done = note(tid);
	set_signal_mask(mask);
	return done;
}

bool ending_threads_have(const struct process *process, pid_t tid)
{
	sigset_t mask;
	bool have;

	if (noted.count == 0)
		return false;
	mask = block_child_signal();
	have = is_noted(tid);
	set_signal_mask(mask);
	return have && thread_is_ending(process, tid);
}

unsigned ending_threads_count(void) { return (unsigned)noted.count; }

void ending_threads_reap(void)
{
	sigset_t mask;

	if (noted.count == 0)
		return;
	mask = block_child_signal();
	reap_all();
	set_signal_mask(mask);
}

static void on_child(int signal)
{
	int error_number = errno;

	(void)signal;
	reap_all();
	errno = error_number;
}

void ending_threads_reap_from_now_on(void)
{
	// Not SA_NOCLDSTOP: who follows threads waits for this signal, and would not be told of their stops.
	struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_RESTART };

	if (noted.count == 0)
		return;
	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, NULL);
	ending_threads_reap(); // those that have died before
}
