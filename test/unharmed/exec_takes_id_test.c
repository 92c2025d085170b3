// SPDX-License-Identifier: Apache-2.0
// A thread that becomes another program takes the main thread's id at the very moment at which the tool seizes it, or
// gives it back. The build lets the tool's requests go through this program (--wrap), which lets the exec happen in the
// middle of one.
#include "attach/process/thread_facts.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	pid_t pid, executing; // the process; its thread that calls exec
	int may_execute;      // a byte is written here, and it does
	int listener;         // what the exec waits for, once it has begun; -1 = for nothing
	unsigned interrupts;  // of that thread, by the tool
} target;

int __real_ptrace_seize(pid_t tid, unsigned long options);
int __wrap_ptrace_seize(pid_t tid, unsigned long options);
struct hs_error *__real_ptrace_interrupt(pid_t tid);
struct hs_error *__wrap_ptrace_interrupt(pid_t tid);

static bool has_become_sleep(pid_t pid)
{
	char path[64], name[8] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = 0;
	if (file)
		fclose(file);
	return strcmp(name, "sleep\n") == 0 && thread_state(held_process(pid), pid) == 'S';
}

// PTRACE_SEIZE looks for the thread first and then waits for an exec to be over (ptrace_attach in kernel/ptrace.c). The
// thread that it has found may be the one in that exec, which has the main thread's id then: that one is traced by the
// request, and has passed the stop of the exec.
int __wrap_ptrace_seize(pid_t tid, unsigned long options)
{
	if (tid != target.executing || target.listener >= 0)
		return __real_ptrace_seize(tid, options);
	CHECK_EQUAL(write(target.may_execute, "x", 1), 1);
	CHECK(wait_until(has_become_sleep, target.pid));
	return __real_ptrace_seize(target.pid, options);
}

static bool stands_in_exec(pid_t pid)
{
	return thread_state(held_process(pid), target.executing) == 'X' && thread_state(held_process(pid), pid) == 't';
}

static bool has_answer_to_give(void)
{
	return poll(&(struct pollfd){ .fd = target.listener, .events = POLLIN }, 1, 10000) == 1;
}

// The first is the freeze's, the second that of the release.
struct hs_error *__wrap_ptrace_interrupt(pid_t tid)
{
	if (tid == target.executing && target.listener >= 0 && ++target.interrupts == 2) {
		struct fanotify_event_metadata event;

		CHECK(has_answer_to_give());
		CHECK_EQUAL(read(target.listener, &event, sizeof(event)), (ssize_t)sizeof(event));
		CHECK_EQUAL(write(target.listener, &(struct fanotify_response){ .fd = event.fd, .response = FAN_ALLOW },
				  sizeof(struct fanotify_response)),
			    (ssize_t)sizeof(struct fanotify_response));
		CHECK(wait_until(stands_in_exec, target.pid));
	}
	return __real_ptrace_interrupt(tid);
}

struct order {
	const char *program;
	int may_execute, says_id;
};

static void *execute(void *data)
{
	const struct order *order = data;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	if (write(order->says_id, &tid, sizeof(tid)) == (ssize_t)sizeof(tid) && read(order->may_execute, &byte, 1) == 1)
		execl(order->program, "sleep", "1000", NULL);
	_exit(1);
}

// The main thread waits, another one becomes `program` when it is told to.
static void start_target(const char *program)
{
	int order[2], id[2];

	if (pipe2(order, O_CLOEXEC) || pipe2(id, O_CLOEXEC))
		exit(2);
	target.pid = fork();
	if (target.pid < 0)
		exit(2);
	if (target.pid == 0) {
		struct order for_thread = { .program = program, .may_execute = order[0], .says_id = id[1] };
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, execute, &for_thread);
		for (;;)
			pause();
	}
	close(id[1]);
	close(order[0]);
	CHECK_EQUAL(read(id[0], &target.executing, sizeof(target.executing)), (ssize_t)sizeof(target.executing));
	target.may_execute = order[1];
	target.interrupts = 0;
	close(id[0]);
}

static void end_target(void)
{
	int status;

	close(target.may_execute);
	kill(target.pid, SIGKILL);
	CHECK_EQUAL(waitpid(target.pid, &status, 0), target.pid);
}

static int freeze_new_program(void)
{
	struct frozen_process process;
	struct hs_error *error = threads_freeze(held_process(target.pid), 2000, &process);

	if (!error) {
		CHECK_EQUAL(process.count, 1);
		CHECK_EQUAL(thread_state(held_process(target.pid), target.pid), 't');
		must(threads_thaw(&process));
	} else if (error->code != HS_ERROR_GONE) {
		must(error);
	}
	CHECK(!anything_stopped_or_traced(target.pid));
	return CHECK_RESULT();
}

// The main thread had been seized before. Its id is in the tool's list, and is that of a thread now which nobody has
// interrupted.
static void test_during_seize(void)
{
	target.listener = -1;
	start_target("/bin/sleep");
	CHECK_EQUAL(run_as_tool(freeze_new_program), 0);
	end_target();
}

static bool has_begun_exec(pid_t pid) { return is_in_execve(pid, target.executing); }

// While the tool lives: what it leaves stopped would go on only with its end.
static int freeze_that_fails(void)
{
	struct frozen_process process;
	struct hs_error *error = threads_freeze(held_process(target.pid), 100, &process);

	CHECK(error && error->code == HS_ERROR_TIMEOUT);
	hs_error_destroy(error);
	CHECK_EQUAL(target.interrupts, 2);
	CHECK(!anything_stopped_or_traced(target.pid));
	CHECK(wait_until(has_become_sleep, target.pid));
	return CHECK_RESULT();
}

// An exec that lasts longer than the freeze, and ends while its thread is given back.
static void test_during_release(void)
{
	struct watched_sleep sleep;

	if (!watched_sleep_make(&sleep)) {
		CHECK_LEFT_OUT("no fanotify here");
		return;
	}
	target.listener = sleep.listener;
	start_target(sleep.program);
	CHECK_EQUAL(write(target.may_execute, "x", 1), 1);
	CHECK(wait_until(has_begun_exec, target.pid));
	CHECK_EQUAL(run_as_tool(freeze_that_fails), 0);
	watched_sleep_remove(&sleep); // lets an exec go on that nobody has answered
	end_target();
}

static int run_all(void)
{
	test_during_seize();
	test_during_release();
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
