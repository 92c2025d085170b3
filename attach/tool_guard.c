// SPDX-License-Identifier: Apache-2.0
#include "attach/tool_guard.h"

#include "attach/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Ends as the child has ended.
static _Noreturn void end_like(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// pre: the signals of `waited` are blocked, SIGCHLD among them.
static _Noreturn void wait_for(pid_t child, const sigset_t *waited, const sigset_t *mask)
{
	for (;;) {
		int status, number = sigwaitinfo(waited, NULL);

		if (number > 0 && number != SIGCHLD)
			kill(child, number);
		if (waitpid(child, &status, WNOHANG) == child) {
			sigprocmask(SIG_SETMASK, mask, NULL);
			end_like(status);
		}
	}
}

struct hs_error *tool_guard_begin(void)
{
	static bool begun;
	sigset_t waited, mask;
	pid_t child, tool = getpid();

	if (begun)
		return NULL;
	begun = true;
	sigemptyset(&waited);
	sigaddset(&waited, SIGCHLD);
	sigaddset(&waited, SIGINT);
	sigaddset(&waited, SIGTERM);
	sigaddset(&waited, SIGHUP);
	signal(SIGCHLD, SIG_DFL); // inherited as ignored, it would lose the child's status
	sigprocmask(SIG_BLOCK, &waited, &mask);
	fflush(NULL);
	child = fork();
	if (child > 0)
		wait_for(child, &waited, &mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (child < 0)
		return hs_error_system(errno, "cannot start a process that does the work");
	setsid(); // out of reach of what is sent to the terminal's process group
	prctl(PR_SET_NAME, "heapsnap-guard");
	fault_kills(tool);
	return NULL;
}
