// SPDX-License-Identifier: Apache-2.0
#include "attach/seize_guard.h"

#include "attach/ptrace_call.h"
#include "attach/stop_wait.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

// How long one seize may take; ns.
#define SEIZE_TIMEOUT 50000000

static sigjmp_buf escape;
static volatile sig_atomic_t seizing;
static timer_t timer;
static bool timer_exists;
static struct sigaction old_action;

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
	struct sigaction action = { .sa_handler = on_alarm };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };

	event._sigev_un._tid = gettid();
	sigemptyset(&action.sa_mask);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return hs_error_system(errno, "cannot create a timer");
	timer_exists = true;
	sigaction(SIGALRM, &action, &old_action);
	return NULL;
}

struct hs_error *seize_guarded(pid_t tid, unsigned long options)
{
	// Repeats, in case that the first signal comes before `seizing` is set.
	const struct itimerspec armed = { { 0, SEIZE_TIMEOUT }, { 0, SEIZE_TIMEOUT } };
	const struct itimerspec disarmed = { { 0, 0 }, { 0, 0 } };
	struct hs_error *error;

	if (sigsetjmp(escape, 1) == 0) {
		timer_settime(timer, 0, &armed, NULL);
		seizing = 1;
		error = ptrace_seize(tid, options);
		seizing = 0;
	} else if (stop_peek(tid).kind == STOP_UNKNOWN) {
		error = hs_error_create(HS_ERROR_GONE, "thread %d is in the middle of an exec", (int)tid);
	} else {
		error = NULL; // the signal came between the request and its return
	}
	timer_settime(timer, 0, &disarmed, NULL);
	return error;
}

void seize_guard_end(void)
{
	if (!timer_exists)
		return;
	timer_delete(timer);
	timer_exists = false;
	sigaction(SIGALRM, &old_action, NULL);
}
