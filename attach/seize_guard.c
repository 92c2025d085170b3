// SPDX-License-Identifier: Apache-2.0
#include "attach/seize_guard.h"

#include "attach/ptrace_call.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <unistd.h>

// How long one seize may take; us.
#define SEIZE_TIMEOUT 50000

static sigjmp_buf escape;
static volatile sig_atomic_t seizing;

static void on_alarm(int signal)
{
	(void)signal;
	if (seizing) {
		seizing = 0;
		siglongjmp(escape, 1);
	}
}

struct hs_error *seize_guard_begin(void)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGALRM, &action, NULL) < 0)
		return hs_error_system(errno, "cannot handle SIGALRM");
	return NULL;
}

// setitimer and not timer_create, which takes a place in the queue of signals that all processes of a user share: a target may have filled it.
static void set_alarm(suseconds_t us)
{
	const struct itimerval value = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &value, NULL);
}

struct hs_error *seize_guarded(pid_t tid, unsigned long options)
{
	struct hs_error *error;

	if (sigsetjmp(escape, 1) == 0) {
		set_alarm(SEIZE_TIMEOUT); // repeats, in case that the first signal comes before `seizing` is set
		seizing = 1;
		error = ptrace_seize(tid, options);
		seizing = 0;
	} else {
		error = hs_error_create(HS_ERROR_TIMEOUT, "thread %d cannot be traced now: another of its process's threads is in an exec", (int)tid);
	}
	set_alarm(0);
	return error;
}
