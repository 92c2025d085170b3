// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/stop_wait.h"

#include "attach/guard/interrupt.h"
#include "attach/guard/standstill.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

// Of the tool's own child.
static struct {
	pid_t tid; // 0 = none
	int status;
	bool is_known;
} kept;

bool stop_is_group_stop(const struct stop *stop) { return stop->kind == STOP_EVENT && stop->signal != SIGTRAP; }

struct stop stop_peek(pid_t tid)
{
	siginfo_t info = { 0 };
	int result;

	do
		result = waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL);
	while (result < 0 && errno == EINTR);
	if (result < 0)
		return (struct stop){ .kind = STOP_UNKNOWN };
	if (info.si_pid == 0)
		return (struct stop){ .kind = STOP_NONE };
	if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		return (struct stop){ .kind = STOP_EXITED };

	// wait_task_stopped in kernel/exit.c: the whole stop code, signal in bits 0-7 and event above
	switch (info.si_status >> 8) {
	case HS_PTRACE_EVENT_STOP:
		return (struct stop){ .kind = STOP_EVENT, .signal = info.si_status & 0x7f };
	case HS_PTRACE_EVENT_EXEC:
		return (struct stop){ .kind = STOP_EXEC };
	}
	if (info.si_status == (SIGTRAP | 0x80))
		return (struct stop){ .kind = STOP_SYSCALL };
	return (struct stop){ .kind = STOP_SIGNAL, .signal = info.si_status & 0x7f, .event = info.si_status >> 8 };
}

// pre: options have WNOWAIT.
static pid_t find(int options, bool *is_end_ret)
{
	siginfo_t info = { 0 };
	int result;

	do
		result = waitid(P_ALL, 0, &info, options | WNOHANG | __WALL);
	while (result < 0 && errno == EINTR);
	*is_end_ret = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
	return result < 0 ? 0 : info.si_pid;
}

// Stops of traced threads are told whatever is asked for; those of other children, which Ctrl-Z has stopped, say, and
// which are nobody's to let go on, only with WSTOPPED (wait_task_stopped in kernel/exit.c). Never WCONTINUED: with
// WNOWAIT it would be in the way for ever, and without it is taken from the parent, or a stop that came since in its
// place.
pid_t stop_find(bool *is_end_ret) { return find(WEXITED | WNOWAIT, is_end_ret); }

pid_t stop_find_behind_ends(void)
{
	bool is_end;

	return find(WSTOPPED | WNOWAIT, &is_end);
}

static bool asked_to_end(void)
{
	struct hs_error *error = interrupt_check();

	hs_error_destroy(error);
	return error != NULL;
}

struct stop stop_wait(pid_t tid, uint64_t deadline, bool interruptible)
{
	// A stop takes a few microseconds when the thread runs, longer when its processor is busy with others.
	const unsigned yields = 50;
	struct timespec pause = { .tv_nsec = 10000 };

	deadline = standstill_deadline(deadline);
	for (unsigned round = 0;; round++) {
		struct stop stop = stop_peek(tid);

		if (stop.kind != STOP_NONE || hs_monotonic_ns() >= deadline || (interruptible && asked_to_end()))
			return stop;
		if (round < yields) {
			sched_yield();
			continue;
		}
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 200000)
			pause.tv_nsec += 10000;
	}
}

void stop_consume(pid_t tid)
{
	int status = 0;
	pid_t found;

	do
		found = waitpid(tid, &status, WNOHANG | __WALL);
	while (found < 0 && errno == EINTR);
	if (found > 0 && found == kept.tid && (WIFEXITED(status) || WIFSIGNALED(status))) {
		kept.status = status;
		kept.is_known = true;
	}
}

void stop_kill_child(pid_t tid, int *status_ret)
{
	pid_t found;

	*status_ret = 0;
	kill(tid, SIGKILL);
	do {
		found = waitpid(tid, status_ret, __WALL);
		if (found == tid && WIFSTOPPED(*status_ret))
			hs_error_destroy(ptrace_continue(tid, 0)); // or killed in this stop as well
	} while (found < 0 ? errno == EINTR : WIFSTOPPED(*status_ret));
}

void stop_keep_end(pid_t tid)
{
	kept.tid = tid;
	kept.is_known = false;
}

bool stop_kept_end(pid_t tid, int *status_ret)
{
	*status_ret = kept.status;
	return kept.is_known && kept.tid == tid;
}
