// SPDX-License-Identifier: Apache-2.0
// A thread ends after the tool has listed it, and another process gets its number before the tool seizes it. The build
// lets the tool's requests go through this program (--wrap), which lets that happen in the middle.
#include "attach/process/thread_facts.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	pid_t pid, ending; // the process; its thread that ends
	int may_end;       // a byte is written here, and it does
	pid_t successor;   // has the thread's number then
} target;

int __real_ptrace_seize(pid_t tid, unsigned long options);
int __wrap_ptrace_seize(pid_t tid, unsigned long options);

static pid_t start_successor(pid_t wanted)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&wanted,
		.set_tid_size = 1,
	};
	pid_t child;

	do // the thread gives its number back a moment after it has ended
		child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
	while (child < 0 && errno == EEXIST);
	if (child == 0)
		for (;;)
			pause();
	return child;
}

int __wrap_ptrace_seize(pid_t tid, unsigned long options)
{
	if (tid == target.ending && target.successor == 0) {
		const struct timespec at_once = { 0 };
		sigset_t alarm, before;

		sigemptyset(&alarm); // on a machine that is busy a seize that takes long is left by a jump
		sigaddset(&alarm, SIGALRM);
		sigprocmask(SIG_BLOCK, &alarm, &before);
		CHECK_EQUAL(write(target.may_end, "x", 1), 1);
		target.successor = start_successor(tid);
		sigtimedwait(&alarm, NULL, &at_once);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	return __real_ptrace_seize(tid, options);
}

struct order {
	int may_end, says_id;
};

static void *live_until_told(void *data)
{
	const struct order *order = data;
	const pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	if (write(order->says_id, &tid, sizeof(tid)) != (ssize_t)sizeof(tid) || read(order->may_end, &byte, 1) != 1)
		_exit(1);
	return NULL;
}

static void start_target(void)
{
	int order[2], id[2];

	if (pipe(order) || pipe(id))
		exit(2);
	target.pid = fork();
	if (target.pid < 0)
		exit(2);
	if (target.pid == 0) {
		struct order for_thread = { .may_end = order[0], .says_id = id[1] };
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, live_until_told, &for_thread);
		for (;;)
			pause();
	}
	CHECK_EQUAL(read(id[0], &target.ending, sizeof(target.ending)), (ssize_t)sizeof(target.ending));
	target.may_end = order[1];
}

// While the tool lives: what it leaves traced would be let go with its end.
static int freeze_beside_successor(void)
{
	struct frozen_process process;

	must(threads_freeze(held_process(target.pid), 2000, &process));
	CHECK_EQUAL(process.count, 1);
	CHECK_EQUAL(process.threads[0].tid, target.pid);
	CHECK_EQUAL(thread_state(held_process(target.pid), target.pid), 't');
	if (target.successor > 0) {
		CHECK_EQUAL(target.successor, target.ending);
		CHECK(!anything_stopped_or_traced(target.successor));
	}
	must(threads_thaw(&process));
	CHECK(!anything_stopped_or_traced(target.pid));
	if (target.successor < 0) {
		CHECK_LEFT_OUT("no permission to choose the number of a process\n");
	} else {
		CHECK(target.successor > 0);
		if (target.successor > 0) { // -1 would be every process
			CHECK(!anything_stopped_or_traced(target.successor));
			kill(target.successor, SIGKILL);
			CHECK_EQUAL(waitpid(target.successor, NULL, 0), target.successor);
		}
	}
	return CHECK_RESULT();
}

static int run_all(void)
{
	int status;

	start_target();
	status = run_as_tool(freeze_beside_successor);
	if (status != 77) // left out
		CHECK_EQUAL(status, 0);
	CHECK(target.pid > 0);
	if (target.pid > 0) {
		kill(target.pid, SIGKILL);
		CHECK_EQUAL(waitpid(target.pid, NULL, 0), target.pid);
	}
	return status == 77 ? 77 : CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
