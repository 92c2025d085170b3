// SPDX-License-Identifier: Apache-2.0
// Freezing and thawing leaves no mark on any kind of program.
#include "attach/process/thread_facts.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/stop_wait.h"
#include "attach/ptrace/thread_release.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static size_t freeze_and_thaw(pid_t pid, uint64_t *stopped_ret)
{
	struct frozen_process process;
	size_t count;

	must(threads_freeze(held_process(pid), 2000, &process));
	count = process.count;
	for (size_t i = 0; i < count; i++)
		CHECK_EQUAL(thread_state(held_process(pid), process.threads[i].tid), 't');
	must(threads_thaw(&process));
	if (stopped_ret)
		*stopped_ret = process.stopped_ns;
	return count;
}

static void test_sleepers(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("100"));
	uint64_t stopped, best = UINT64_MAX, sum = 0;
	struct frozen_process process;

	CHECK_EQUAL(freeze_and_thaw(program.pid, NULL), 101);
	for (int i = 0; i < 20; i++) {
		must(threads_freeze(held_process(program.pid), 2000, &process));
		CHECK_EQUAL(process.count, 101);
		must(threads_thaw(&process));
		stopped = process.stopped_ns;
		best = stopped < best ? stopped : best;
		sum += stopped;
	}
	printf("100 sleeping threads: stopped for %.2f ms at best, %.2f ms on average\n", (double)best / 1e6,
	       (double)sum / 20e6);
	CHECK(wait_until(wholly_asleep, program.pid));
	CHECK(!anything_stopped_or_traced(program.pid));
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

// The tool is in a hurry exactly as long as the target stands still.
static void test_priority_boost(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("2"));
	int before = getpriority(PRIO_PROCESS, 0);
	struct frozen_process process;
	struct hs_error *error;

	must(threads_freeze(held_process(program.pid), 2000, &process));
	CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), -20);
	must(threads_thaw(&process));
	CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), before);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
	error = threads_freeze(held_process(program.pid), 2000, &process);
	CHECK(error && error->code == HS_ERROR_GONE);
	hs_error_destroy(error);
	CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), before);
}

static long call_of_sleeper(pid_t pid, pid_t tid) { return tid == pid ? SYS_read : SYS_pause; }

static bool is_in_its_call(pid_t pid, pid_t tid) { return call_of(pid, tid) == call_of_sleeper(pid, tid); }

// A thread that sleeps may do that at the barrier still.
static bool all_in_their_calls(pid_t pid) { return all_threads(pid, is_in_its_call); }

static void test_registers(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("3"));
	struct frozen_process process;

	CHECK(wait_until(all_in_their_calls, program.pid));
	must(threads_freeze(held_process(program.pid), 2000, &process));
	for (size_t i = 0; i < process.count; i++) {
		const long call = call_of_sleeper(program.pid, process.threads[i].tid);

		CHECK(process.threads[i].registers.rip != 0);
		CHECK(process.threads[i].registers.rsp != 0);
		CHECK(i == 0 || process.threads[i].tid > process.threads[i - 1].tid);
		CHECK_EQUAL(process.threads[i].registers.orig_rax, call);
	}
	must(threads_thaw(&process));
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

static void test_computing(void)
{
	struct program program = program_start("ptrace_compute", ARGUMENTS("4"));

	for (int i = 0; i < 200; i++)
		freeze_and_thaw(program.pid, NULL);
	CHECK(!anything_stopped_or_traced(program.pid));
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

// Counts, in memory that is shared with this process.
static pid_t start_counting(volatile unsigned long **counter_ret)
{
	volatile unsigned long *counter =
		mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (counter == MAP_FAILED)
		exit(2);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			++*counter;
	}
	*counter_ret = counter;
	return pid;
}

static bool goes_on(volatile unsigned long *counter)
{
	const unsigned long before = *counter;

	for (int i = 0; i < 1000 && *counter == before; i++)
		nap(1);
	return *counter != before;
}

// An interrupt that comes right behind the stop of the freeze makes a second one, which is its tracer's.
static bool goes_on_by_itself(pid_t pid, volatile unsigned long *counter)
{
	struct frozen_process process;

	for (int i = 0; i < 10; i++) {
		must(threads_freeze(held_process(pid), 2000, &process));
		must(threads_thaw(&process));
		if (goes_on(counter))
			return true;
		must(ptrace_continue(pid, 0));
	}
	return false;
}

static bool choose_all(const struct frozen_thread *thread, void *context)
{
	(void)thread, (void)context;
	return true;
}

// A thread that is traced before stays so: in its stop, or running.
static void test_kept(void)
{
	volatile unsigned long *counter;
	const pid_t pid = start_counting(&counter);
	struct frozen_process process;
	unsigned long before;

	CHECK_EQUAL(ptrace_seize(pid, HS_PTRACE_OPTIONS), 0);
	thread_release_keep(pid, KEPT_GOING_ON);
	CHECK(goes_on_by_itself(pid, counter));
	CHECK_EQUAL(status_of(pid, pid, "TracerPid:", 10), (unsigned long)getpid());

	thread_release_keep(pid, KEPT_IN_STOP);
	must(threads_freeze(held_process(pid), 2000, &process));
	before = *counter;
	for (int i = 0; i < 1000 && *counter == before; i++)
		must(threads_run_on(&process, choose_all, NULL, 5000, 2000));
	CHECK(*counter != before);
	before = *counter;
	must(threads_thaw(&process));
	CHECK_EQUAL(stop_peek(pid).kind, STOP_EVENT);
	CHECK_EQUAL(status_of(pid, pid, "TracerPid:", 10), (unsigned long)getpid());
	nap(20);
	CHECK_EQUAL(*counter, before);
	thread_release_keep(0, KEPT_IN_STOP);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	munmap((void *)counter, sizeof(*counter));
}

static void test_waiting(void)
{
	struct program program = program_start(
		"ptrace_waits", ARGUMENTS("nanosleep", "poll", "futex", "read", "ppoll", "nanosleep", "poll"));

	for (int i = 0; i < 300; i++) {
		freeze_and_thaw(program.pid, NULL);
		nap(3);
	}
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

static void test_stopped(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("5"));
	int status;

	kill(program.pid, SIGSTOP);
	CHECK_EQUAL(waitpid(program.pid, &status, WUNTRACED), program.pid);
	CHECK(wait_until(wholly_stopped, program.pid));
	for (int i = 0; i < 20; i++) {
		CHECK_EQUAL(freeze_and_thaw(program.pid, NULL), 6);
		CHECK(wait_until(wholly_stopped, program.pid));
	}
	kill(program.pid, SIGCONT);
	CHECK(wait_until(wholly_asleep, program.pid));

	// SIGSTOP and SIGCONT while frozen take effect afterwards.
	struct frozen_process process;

	must(threads_freeze(held_process(program.pid), 2000, &process));
	kill(program.pid, SIGSTOP);
	must(threads_thaw(&process));
	CHECK(wait_until(wholly_stopped, program.pid));
	must(threads_freeze(held_process(program.pid), 2000, &process));
	kill(program.pid, SIGCONT);
	must(threads_thaw(&process));
	CHECK(wait_until(wholly_asleep, program.pid));
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

// A child that waits in a call which ends with EINTR when its thread is stopped (signal(7), "Interruption of system
// calls by stop signals"), and then says what the call returned: a number, or -errno.
struct waiting_child {
	pid_t pid;
	int wake, answer; // a byte written here ends the wait; the number comes from here
};

static struct waiting_child start_waiting(bool receives)
{
	int wake[2], answer[2];
	struct waiting_child child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wake) || pipe2(answer, O_CLOEXEC))
		exit(2);
	fflush(stdout);
	child = (struct waiting_child){ .pid = fork(), .wake = wake[0], .answer = answer[0] };
	if (child.pid == 0) {
		const struct timeval time = { .tv_sec = 1000 };
		struct epoll_event event = { .events = EPOLLIN };
		int epoll = epoll_create1(EPOLL_CLOEXEC);
		ssize_t result;
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		// without it the kernel begins the call again by itself
		setsockopt(wake[1], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
		epoll_ctl(epoll, EPOLL_CTL_ADD, wake[1], &event);
		result = receives ? recv(wake[1], &byte, 1, 0) : epoll_wait(epoll, &event, 1, -1);
		result = result < 0 ? -errno : result;
		_exit(write(answer[1], &result, sizeof(result)) != sizeof(result));
	}
	close(wake[1]);
	close(answer[1]);
	CHECK(wait_until(wholly_asleep, child.pid));
	return child;
}

static ssize_t end_waiting(struct waiting_child *child)
{
	ssize_t result = 0;

	// It may have ended by itself meanwhile.
	CHECK(send(child->wake, "x", 1, MSG_NOSIGNAL) == 1 || errno == EPIPE);
	CHECK_EQUAL(read(child->answer, &result, sizeof(result)), (ssize_t)sizeof(result));
	close(child->wake);
	close(child->answer);
	waitpid(child->pid, NULL, 0);
	return result;
}

// A call that the tool has interrupted is made again. One that a stop signal had ended before has its EINTR, as it
// would have had without the tool.
static void test_interrupted_calls(void)
{
	for (int receives = 0; receives < 2; receives++) {
		struct waiting_child child = start_waiting(receives);

		freeze_and_thaw(child.pid, NULL);
		CHECK_EQUAL(end_waiting(&child), 1);

		child = start_waiting(receives);
		kill(child.pid, SIGSTOP);
		CHECK(wait_until(wholly_stopped, child.pid));
		for (int i = 0; i < 3; i++) {
			freeze_and_thaw(child.pid, NULL);
			CHECK(wait_until(wholly_stopped, child.pid));
		}
		kill(child.pid, SIGCONT);
		CHECK_EQUAL(end_waiting(&child), -EINTR);
	}
}

// So too where the tool is killed while the threads stand.
static void test_interrupted_by_killed(void)
{
	for (int receives = 0; receives < 2; receives++) {
		struct waiting_child child = start_waiting(receives);
		pid_t tool;
		int status;

		fflush(stdout);
		tool = fork();
		if (tool == 0) {
			struct frozen_process process;

			must(threads_freeze(held_process(child.pid), 2000, &process));
			raise(SIGKILL);
		}
		waitpid(tool, &status, 0);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		CHECK(wait_until(wholly_asleep, child.pid));
		CHECK_EQUAL(end_waiting(&child), 1);
	}
}

static void test_signals(void)
{
	struct program program = program_start("ptrace_signals", (const char *const[]){ NULL });
	unsigned long sent = 0, received = 0;
	char text[64];
	pid_t sender;
	int pipes[2];

	if (pipe(pipes))
		exit(2);
	sender = fork();
	if (sender == 0) {
		const union sigval value = { 0 };
		char byte;

		close(pipes[1]);
		// As many as the queue takes, until the test closes the pipe.
		for (int i = 0; i < 20000; i++)
			sent += sigqueue(program.pid, SIGRTMIN, value) == 0;
		for (int i = 0; i < 400; i++) {
			nap(1);
			for (int j = 0; j < 20; j++)
				sent += sigqueue(program.pid, SIGRTMIN, value) == 0;
		}
		while (read(pipes[0], &byte, 1) > 0)
			;
		_exit(sent == 28000 ? 0 : 1);
	}
	close(pipes[0]);
	for (int i = 0; i < 400; i++)
		freeze_and_thaw(program.pid, NULL);
	close(pipes[1]);
	int status;

	waitpid(sender, &status, 0);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(program_finish(&program, text, sizeof(text)), 0);
	received = strtoul(text, NULL, 10);
	CHECK_EQUAL(received, 28000);
	printf("%lu signals received\n", received);
}

static void test_spawner(void)
{
	struct program program = program_start("ptrace_spawner", (const char *const[]){ NULL });

	for (int i = 0; i < 300; i++)
		freeze_and_thaw(program.pid, NULL);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

static void test_killed(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("10"));
	struct frozen_process process;

	must(threads_freeze(held_process(program.pid), 2000, &process));
	kill(program.pid, SIGKILL);
	must(threads_thaw(&process));
	waitpid(program.pid, NULL, 0);
	close(program.input);
	close(program.output);
	struct hs_error *error = threads_freeze(held_process(program.pid), 2000, &process);

	CHECK(error && error->code == HS_ERROR_GONE);
	hs_error_destroy(error);
}

static const char *wanted; // the one test to run; NULL = all

static int run_all(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "sleepers", test_sleepers },
		{ "priority_boost", test_priority_boost },
		{ "registers", test_registers },
		{ "computing", test_computing },
		{ "kept", test_kept },
		{ "waiting", test_waiting },
		{ "stopped", test_stopped },
		{ "interrupted_calls", test_interrupted_calls },
		{ "interrupted_by_killed", test_interrupted_by_killed },
		{ "signals", test_signals },
		{ "spawner", test_spawner },
		{ "killed", test_killed },
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!wanted || strcmp(wanted, tests[i].name) == 0)
			tests[i].run();
	}
	return CHECK_RESULT();
}

int main(int argc, char **argv)
{
	wanted = argc < 2 ? NULL : argv[1];
	return run_unless_starved(run_all);
}
