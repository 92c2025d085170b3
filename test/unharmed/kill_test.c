// SPDX-License-Identifier: Apache-2.0
// The tool is killed at every single request that it makes to the target, and at random moments: the target goes on
// with right results, and nothing stays stopped or traced.
#include "attach/ptrace/remote_call.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static unsigned kills;

// What the killed tool does: with the target's main thread, for `rounds` rounds.
static void be_the_tool(pid_t pid, unsigned rounds)
{
	static const uint64_t none[6];
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;
	struct file_pages files;
	int64_t result;

	must(target_memory_open(held_process(pid), &memory));
	prepare_files(&memory, &files);
	for (unsigned i = 0; i < rounds; i++) {
		struct frozen_process one;

		struct hs_error *error;

		must(threads_freeze(held_process(pid), 5000, &process));
		one = (struct frozen_process){ .process = held_process(pid),
					       .threads = frozen_main_thread(&process),
					       .count = 1,
					       .files = &files };
		error = remote_call_open(&one, &memory, &caller);
		if (error && error->code == HS_ERROR_REFUSED) {
			// The thread is on its way back from the entry point, where the last tool left it.
			hs_error_destroy(error);
			must(threads_thaw(&process));
			i--;
			continue;
		}
		must(error);
		for (int j = 0; j < 3; j++) {
			must(remote_call(&caller, j == 1 ? SYS_sched_yield : SYS_getpid, none, &result));
			if (result != (j == 1 ? 0 : pid))
				_exit(3);
		}
		must(remote_call_close(&caller));
		must(threads_thaw(&process));
	}
	_exit(0);
}

static void check_free(pid_t pid)
{
	// The kernel lets go of all threads before the death of the tool can be waited for.
	CHECK(!anything_stopped_or_traced(pid));
}

static int try_tool(pid_t pid, unsigned request, long delay_us)
{
	const struct timespec delay = { .tv_nsec = delay_us * 1000 };
	char text[16];
	pid_t tool;
	int status;

	fflush(stdout);
	tool = fork();
	if (tool == 0) {
		if (request > 0) {
			snprintf(text, sizeof(text), "%u", request);
			setenv("HEAPSNAP_KILL_AT_REQUEST", text, 1);
		}
		be_the_tool(pid, request > 0 ? 1 : 100000);
	}
	if (request == 0) {
		nanosleep(&delay, NULL);
		kill(tool, SIGKILL);
	}
	waitpid(tool, &status, 0);
	return status;
}

// Returns the exit status of the tool, -1 when it was killed. `request`: the tool is killed at that one; 0 = after
// `delay_us`. Again, a few times, where it was starved.
static int run_tool(pid_t pid, unsigned request, long delay_us)
{
	int status = try_tool(pid, request, delay_us);

	for (int i = 0; i < 5 && was_starved(status); i++) {
		CHECK_EQUAL(status_of(pid, pid, "TracerPid:", 10), 0); // it may be stopped by a signal
		status = try_tool(pid, request, delay_us);
	}
	kills += WIFSIGNALED(status);
	return WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
}

static void kill_everywhere(const char *name, const char *const *arguments, unsigned random_kills)
{
	struct program program = program_start(name, arguments);
	unsigned requests = 0;
	char text[64];
	int status;

	do {
		requests++;
		status = run_tool(program.pid, requests, 0);
		check_free(program.pid);
	} while (status == -1 && requests < 1000);
	CHECK_EQUAL(status, 0);
	CHECK(requests > 30);
	for (unsigned i = 0; i < random_kills; i++) {
		CHECK_EQUAL(run_tool(program.pid, 0, 2000 + (long)(i * 137 % 4000)), -1);
		check_free(program.pid);
	}
	// And one that is left alone still works.
	CHECK_EQUAL(run_tool(program.pid, 100000, 0), 0);
	CHECK_EQUAL(program_finish(&program, text, sizeof(text)), 0);
	printf("%s %s: killed at each of %u requests and %u times at random; %s", name,
	       arguments[1] ? arguments[1] : "", requests - 1, random_kills, text);
}

// The same with a target that is stopped: it stays stopped, and works when it is continued.
static void kill_with_stopped_target(void)
{
	struct program program = program_start("ptrace_compute", ARGUMENTS("2", "altstack"));
	unsigned requests = 0;
	int status;

	kill(program.pid, SIGSTOP);
	CHECK(wait_until(wholly_stopped, program.pid));
	do {
		requests++;
		status = run_tool(program.pid, requests, 0);
		CHECK(wait_until(wholly_stopped, program.pid));
	} while (status == -1 && requests < 1000);
	CHECK_EQUAL(status, 0);
	kill(program.pid, SIGCONT);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

int main(void)
{
	kill_everywhere("ptrace_compute", ARGUMENTS("3", "altstack"), 100);
	kill_everywhere("ptrace_waits", ARGUMENTS("early", "nanosleep"), 100);
	kill_everywhere("ptrace_waits", ARGUMENTS("early", "poll"), 50);
	kill_everywhere("ptrace_waits", ARGUMENTS("early", "futex"), 50);
	kill_everywhere("ptrace_waits", ARGUMENTS("ppoll"), 50);
	kill_everywhere("ptrace_steps", ARGUMENTS("trap", "trap sleep early"), 50);
	kill_everywhere("ptrace_steps", ARGUMENTS("aligned sleep", "trap"), 50);
	kill_with_stopped_target();
	setenv("HEAPSNAP_TEST_NO_GADGETS", "sigreturn", 1);
	kill_everywhere("ptrace_compute", ARGUMENTS("3", "altstack"), 50);
	kill_everywhere("ptrace_waits", ARGUMENTS("early", "nanosleep"), 50);
	setenv("HEAPSNAP_TEST_NO_GADGETS", "1", 1);
	kill_everywhere("ptrace_compute", ARGUMENTS("2"), 100);
	kill_everywhere("ptrace_steps", ARGUMENTS("trap"), 50);
	printf("%u kills\n", kills);
	CHECK(kills >= 200);
	return CHECK_RESULT();
}
