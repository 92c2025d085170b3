// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/seize_guard.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <unistd.h>

// How long one seize may take, at least; twice as long at most; us.
#define SEIZE_TIMEOUT 50000
// How often the kernel may answer that a thread must not be traced: while that ends; and while nothing says so, nor
// that it is traced. A thread that a security module guards costs that many requests, some milliseconds.
enum { ENDINGS = 3, ATTEMPTS = 100 };

static sigjmp_buf escape;
static volatile sig_atomic_t seizing;      // number of the seize that is under way; 0 = none is
static volatile sig_atomic_t seen_seizing; // at the last alarm
static sig_atomic_t last_number;

// One timer for all: a seize that is still the same at the next alarm takes too long.
static void on_alarm(int signal)
{
	(void)signal;
	if (seizing && seizing == seen_seizing) {
		seizing = 0;
		siglongjmp(escape, 1);
	}
	seen_seizing = seizing;
}

// setitimer and not timer_create, which takes a place in the queue of signals that all processes of a user share: a
// target may have filled it.
static void set_alarm(suseconds_t us)
{
	const struct itimerval value = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &value, NULL);
}

struct hs_error *seize_guard_begin(void)
{
	// Not blocked while it is handled: the handler is left by a jump, which need not give the mask back then.
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_NODEFER };

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGALRM, &action, NULL) < 0)
		return hs_error_system(errno, "cannot handle SIGALRM");
	set_alarm(SEIZE_TIMEOUT);
	return NULL;
}

void seize_guard_end(void) { set_alarm(0); }

static struct hs_error *too_late(pid_t tid)
{
	return hs_error_create(HS_ERROR_TIMEOUT,
			       "thread %d cannot be traced now: another of its process's threads is in an exec",
			       (int)tid);
}

struct hs_error *seize_guarded(pid_t tid, unsigned long options)
{
	int error_number;

	if (sigsetjmp(escape, 0) != 0)
		return too_late(tid);
	last_number = last_number % 1000000 + 1;
	seizing = last_number;
	error_number = ptrace_seize(tid, options);
	seizing = 0;
	return error_number ? ptrace_seize_error(tid, error_number) : NULL;
}

static bool is_seized_after(const struct process *process, pid_t tid, struct hs_error **error)
{
	if (((*error)->error_number != EPERM && (*error)->code != HS_ERROR_TIMEOUT) ||
	    !thread_is_own_tracee(process, tid))
		return false;
	hs_error_destroy(*error);
	*error = NULL;
	return true;
}

// EPERM has two more causes than a refusal. The thread is exiting: an exec may give its id to another right after, so
// ask again. As each request waits for an exec to be over, and finds then that the thread which it has looked up has
// ended by it, a process that becomes one program after the other may give this answer many times. And it is traced
// already: a seized thread that called exec has taken the main thread's id, under which nobody has seized it.
struct hs_error *seize_member(const struct process *process, pid_t tid, unsigned long options, uint64_t deadline)
{
	struct hs_error *error = seize_guarded(tid, options);
	int endings = 0, attempts = 0;

	while (error && !is_seized_after(process, tid, &error) && error->error_number == EPERM && endings < ENDINGS &&
	       attempts < ATTEMPTS) {
		if (thread_is_ending(process, tid)) {
			endings++;
			continue;
		}
		hs_error_destroy(error);
		error = ++attempts > ENDINGS && hs_monotonic_ns() >= deadline ? too_late(tid)
									      : seize_guarded(tid, options);
	}
	return error;
}
