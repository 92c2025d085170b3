// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/tool_guard.h"

#include "attach/guard/freeze_watchdog.h"
#include "attach/guard/interrupt.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_PROCESS = 1, WATCHDOG_SECONDS = 60 };

// What the child gets, but for SIGCHLD: what ends the tool, and what `run` hands to its command (lib/run_signals.c).
static const int handed_on[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };

// Ends as the child has ended; by its signal where that can be: not as the first process of a PID namespace.
static _Noreturn void end_like(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

// The end of the first process is that of all in its namespace. The watchdog of a child that was killed has a word to
// say before. It is a child of the first process by then, and ends as soon as it has had a processor.
static void let_watchdog_speak(int status, const sigset_t *waited)
{
	const uint64_t end = hs_monotonic_ns() + WATCHDOG_SECONDS * UINT64_C(1000000000);
	const struct timespec moment = { .tv_nsec = 500000000 };
	const pid_t watchdog = freeze_watchdog_of_child();

	if (getpid() != FIRST_PROCESS || !WIFSIGNALED(status) || watchdog == 0)
		return;
	while (waitpid(watchdog, NULL, WNOHANG) == 0 && hs_monotonic_ns() < end) {
		const int number = sigtimedwait(waited, NULL, &moment);

		if (number > 0 && number != SIGCHLD)
			break; // somebody does not want to wait
	}
}

// Whether it has ended. The first process is also the one that waits for those whose parents have ended.
static bool has_ended(pid_t child, int *status_ret)
{
	const pid_t whom = getpid() == FIRST_PROCESS ? -1 : child;
	pid_t ended;

	do
		ended = waitpid(whom, status_ret, WNOHANG);
	while (ended > 0 && ended != child);
	return ended == child;
}

// pre: the signals of `waited` are blocked, SIGCHLD among them.
static _Noreturn void wait_for(pid_t child, const sigset_t *waited, const sigset_t *mask)
{
	for (;;) {
		siginfo_t info;
		int status, number = sigwaitinfo(waited, &info);
		const bool is_of_terminal = number > 0 && info.si_code > 0;

		// The first process and its child are of one process group, to which a terminal sends.
		if (number > 0 && number != SIGCHLD && !(is_of_terminal && getpid() == FIRST_PROCESS))
			kill(child, number);
		if (has_ended(child, &status)) {
			let_watchdog_speak(status, waited);
			sigprocmask(SIG_SETMASK, mask, NULL);
			end_like(status);
		}
	}
}

// Whoever may do this spares the child when memory runs out. It needs little, and not for long.
static void spare_from_oom(void)
{
	HS_CLEANUP_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		hs_error_destroy(hs_write_all(fd, "-1000", 5));
}

static bool begun;
static bool forbidden;

bool tool_guard_has_begun(void) { return begun; }

void tool_guard_forbid(void) { forbidden = true; }

struct hs_error *tool_guard_begin(void)
{
	sigset_t waited, mask;
	pid_t child, tool = getpid();

	if (begun)
		return NULL;
	if (forbidden)
		return hs_error_create(HS_ERROR_REFUSED_FOR_GOOD,
				       "it has a seccomp filter, and heapsnap follows other processes, so that it "
				       "cannot guard this one; try again when that one has ended");
	begun = true;
	sigemptyset(&waited);
	for (size_t i = 0; i < sizeof(handed_on) / sizeof(handed_on[0]); i++)
		sigaddset(&waited, handed_on[i]);
	sigprocmask(SIG_BLOCK, &waited, &mask);
	freeze_watchdog_share();
	fflush(NULL);
	child = fork();
	if (child > 0)
		wait_for(child, &waited, &mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (child < 0)
		return hs_error_system(errno, "cannot start a process that does the work");
	prctl(PR_SET_NAME, "heapsnap-guard");
	if (tool != FIRST_PROCESS) { // whose end takes the child along, and whose terminal a command is to have
		setsid();            // out of reach of what is sent to the terminal's process group
		spare_from_oom();
		fault_kills(tool);
	}
	return NULL;
}

struct hs_error *tool_guard_begin_where_immortal(void) { return getpid() == FIRST_PROCESS ? tool_guard_begin() : NULL; }
