// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/seize_guard.h"

#include "attach/ptrace/ptrace_call.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

// How long one seize may take, at least; twice as long at most; us.
#define SEIZE_TIMEOUT 50000

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

struct hs_error *seize_guarded(pid_t tid, unsigned long options)
{
	int error_number;

	if (sigsetjmp(escape, 0) != 0)
		return hs_error_create(HS_ERROR_TIMEOUT,
				       "thread %d cannot be traced now: another of its process's threads is in an exec",
				       (int)tid);
	last_number = last_number % 1000000 + 1;
	seizing = last_number;
	error_number = ptrace_seize(tid, options);
	seizing = 0;
	return error_number ? ptrace_seize_error(tid, error_number) : NULL;
}
