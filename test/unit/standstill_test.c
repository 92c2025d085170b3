// SPDX-License-Identifier: Apache-2.0
// The bound of the time in which a target stands still: of one stop, and of all stops of a command. What the watchdog
// says of a tool that it cannot kill.
#include "attach/guard/standstill.h"
#include "attach/guard/tool_guard.h"
#include "base/clock.h"
#include "check.h"
#include "held_process.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOUND_MS 400
enum { STOP_US = 20000 };
#define MS UINT64_C(1000000)

// Ends with an error that says so, long before anything would be killed; without adding up it would go on for ever.
static void test_sum(void)
{
	struct hs_error *error = NULL, *check = NULL;
	uint64_t sum = 0;
	int stops = 0;

	standstill_add_up();
	while (!error && stops < 100) {
		uint64_t began = hs_monotonic_ns();

		error = standstill_begin(held_process(getpid()));
		if (error)
			break;
		CHECK(standstill_is_on());
		usleep(STOP_US);
		hs_error_destroy(check);
		check = standstill_check();
		standstill_end(true);
		sum += hs_monotonic_ns() - began;
		stops++;
		usleep(1000); // the target runs: that does not count
	}
	CHECK(error && error->code == HS_ERROR_TIMEOUT && strstr(error->message, "had been stopped for"));
	CHECK(standstill_is_spent());
	CHECK(stops >= 1 && sum < (uint64_t)BOUND_MS * MS);
	hs_error_destroy(error);
	hs_error_destroy(check);
	// The next command has its own.
	standstill_add_up();
	CHECK(!standstill_is_spent());
	error = standstill_begin(held_process(getpid()));
	CHECK(!error);
	hs_error_destroy(error);
	standstill_end(true);
	standstill_done();
}

// The last of several stops ends by itself when the sum is reached, though it is short.
static void test_last_of_several(void)
{
	uint64_t began, spent;
	struct hs_error *error;

	standstill_add_up();
	error = standstill_begin(held_process(getpid()));
	CHECK(!error);
	hs_error_destroy(error);
	began = hs_monotonic_ns();
	usleep(BOUND_MS * 1000 / 2);
	spent = hs_monotonic_ns() - began;
	standstill_end(true);
	if (spent > BOUND_MS * MS * 60 / 100) { // the machine gave no processor
		standstill_done();
		return;
	}
	error = standstill_begin(held_process(getpid()));
	CHECK(!error);
	hs_error_destroy(error);
	began = hs_monotonic_ns();
	do {
		usleep(1000);
		error = standstill_check();
	} while (!error && hs_monotonic_ns() - began < BOUND_MS * MS * STANDSTILL_WAKE / 100);
	CHECK(error != NULL);
	CHECK(error == NULL || standstill_deadline(UINT64_MAX) < hs_monotonic_ns() + BOUND_MS * MS);
	hs_error_destroy(error);
	standstill_end(true);
	standstill_done();
}

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

// What the hanging tool and its watchdog have said, and how it ended. `wait_ms`: until it is killed from outside; it
// may end before.
static int run_first_process(bool guarded, int wait_ms, char *said, size_t size)
{
	static _Alignas(16) char stack[262144];
	int pipes[2], saved = dup(STDERR_FILENO), status = -1;
	size_t length = 0;
	ssize_t got;
	pid_t pid;

	CHECK(pipe(pipes) == 0);
	dup2(pipes[1], STDERR_FILENO);
	pid = clone(hang, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, guarded ? said : NULL);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipes[1]);
	if (pid > 0) {
		for (int waited = 0; waited < wait_ms && waitpid(pid, &status, WNOHANG) == 0; waited += 10)
			usleep(10000);
		if (status == -1) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
		}
		while (length < size - 1 && (got = read(pipes[0], said + length, size - 1 - length)) > 0)
			length += (size_t)got;
	}
	said[length] = 0;
	close(pipes[0]);
	return pid > 0 ? status : -1;
}

static void test_first_process(void)
{
	char said[1024];
	int status = run_first_process(false, 2500, said, sizeof(said));

	if (status == -1) {
		CHECK_LEFT_OUT("no PID namespace here");
		return;
	}
	CHECK(WIFSIGNALED(status)); // from outside
	CHECK(strstr(said, "has not ended after SIGKILL") != NULL);
	CHECK(strstr(said, "was killed") == NULL);
	// With the guard there is somebody to kill.
	status = run_first_process(true, 20000, said, sizeof(said));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL);
	CHECK(strstr(said, "and was killed by its watchdog; the process runs on") != NULL);
}

int main(void)
{
	char bound[16];

	snprintf(bound, sizeof(bound), "%d", BOUND_MS);
	setenv("HEAPSNAP_MAX_FREEZE_MS", bound, 1);
	test_sum();
	test_last_of_several();
	test_first_process();
	return CHECK_RESULT();
}
