// SPDX-License-Identifier: Apache-2.0
// What the watchdog says of a tool that it cannot kill, and of one that it has killed.
#include "attach/guard/standstill.h"
#include "attach/guard/tool_guard.h"
#include "check.h"
#include "held_process.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOUND_MS 400

// A tool that hangs. As the first process of a PID namespace it gets no SIGKILL from there.
static int hang(void *guarded)
{
	struct hs_error *error = guarded ? tool_guard_begin_where_immortal() : NULL;

	standstill_add_up();
	if (!error)
		error = standstill_begin(held_process(getpid()));
	if (error)
		return 3;
	for (;;)
		pause();
}

// What the hanging tool and its watchdog have said, and how it ended. Once they have said `last` it is killed from
// outside; NULL: it is to end before.
static int run_first_process(bool guarded, const char *last, char *said, size_t size)
{
	enum { WAIT_MS = 60000 };
	static _Alignas(16) char stack[262144];
	int pipes[2], saved = dup(STDERR_FILENO), status = -1;
	size_t length = 0;
	ssize_t got;
	pid_t pid;

	said[0] = 0;
	CHECK(pipe(pipes) == 0);
	dup2(pipes[1], STDERR_FILENO);
	pid = clone(hang, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, guarded ? said : NULL);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipes[1]);
	if (pid > 0) {
		struct pollfd poll_said = { .fd = pipes[0], .events = POLLIN };
		bool waits = true;

		while (length < size - 1) {
			if (waits && ((last && strstr(said, last)) || poll(&poll_said, 1, WAIT_MS) != 1)) {
				kill(pid, SIGKILL);
				waits = false;
			}
			got = read(pipes[0], said + length, size - 1 - length);
			if (got <= 0)
				break;
			length += (size_t)got;
			said[length] = 0;
		}
		waitpid(pid, &status, 0);
	}
	close(pipes[0]);
	return pid > 0 ? status : -1;
}

static void test_first_process(void)
{
	char said[1024];
	int status = run_first_process(false, "has not ended after SIGKILL", said, sizeof(said));

	if (status == -1) {
		CHECK_LEFT_OUT("no PID namespace here");
		return;
	}
	CHECK(WIFSIGNALED(status)); // from outside
	CHECK(strstr(said, "has not ended after SIGKILL") != NULL);
	CHECK(strstr(said, "was killed") == NULL);
	// With the guard there is somebody to kill.
	status = run_first_process(true, NULL, said, sizeof(said));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL);
	CHECK(strstr(said, "and was killed by its watchdog; the process runs on") != NULL);
}

int main(void)
{
	char bound[16];

	snprintf(bound, sizeof(bound), "%d", BOUND_MS);
	setenv("HEAPSNAP_MAX_FREEZE_MS", bound, 1);
	test_first_process();
	return CHECK_RESULT();
}
