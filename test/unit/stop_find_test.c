// SPDX-License-Identifier: Apache-2.0
// What stands or has ended is found, and nothing is taken away by looking.
#include "check.h"

#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/stop_wait.h"
#include "base/clock.h"

#include <sys/wait.h>
#include <unistd.h>

#define WAIT_NS UINT64_C(10000000000)

static void check_ok(struct hs_error *error)
{
	CHECK(!error);
	hs_error_destroy(error);
}

static struct stop next_stop(pid_t tid) { return stop_wait(tid, hs_monotonic_ns() + WAIT_NS, false); }

// Whether its parent is still told that it goes on.
static bool is_told_continued(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WCONTINUED | WNOHANG | WNOWAIT) == 0 && info.si_code == CLD_CONTINUED;
}

int main(void)
{
	const pid_t stranger = fork(); // not traced; stopped by a signal, it is nobody's to let go on
	const pid_t pid = stranger ? fork() : 0;
	bool is_end;

	if (stranger == 0 || pid == 0)
		for (;;)
			pause();
	kill(stranger, SIGSTOP);
	CHECK_EQUAL(ptrace_seize(pid, HS_PTRACE_OPTIONS), 0);
	CHECK_EQUAL(stop_find(&is_end), 0);
	kill(pid, SIGSTOP);
	CHECK_EQUAL(next_stop(pid).kind, STOP_SIGNAL);
	CHECK_EQUAL(stop_find(&is_end), pid);
	CHECK(!is_end);
	check_ok(ptrace_continue(pid, SIGSTOP));
	CHECK_EQUAL(next_stop(pid).signal, SIGSTOP);
	check_ok(ptrace_listen(pid));
	CHECK_EQUAL(stop_find(&is_end), 0);
	kill(pid, SIGCONT);
	for (int i = 0; i < 2; i++) { // the end of its stop, and the signal
		CHECK(next_stop(pid).kind != STOP_NONE);
		CHECK_EQUAL(stop_find(&is_end), pid);
		check_ok(ptrace_continue(pid, 0));
	}
	CHECK_EQUAL(stop_find(&is_end), 0);
	CHECK(is_told_continued(pid));
	kill(pid, SIGKILL);
	CHECK_EQUAL(next_stop(pid).kind, STOP_EXITED);
	CHECK_EQUAL(stop_find(&is_end), pid);
	CHECK(is_end);
	stop_consume(pid);
	CHECK_EQUAL(stop_find(&is_end), 0);
	kill(stranger, SIGKILL);
	waitpid(stranger, NULL, 0);
	return CHECK_RESULT();
}
