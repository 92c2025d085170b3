// SPDX-License-Identifier: Apache-2.0
// Descriptors are taken of the thread that was meant, never of another process that has got its number.
#include "check.h"

#include "attach/process/thread_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int own_fd; // the successor has it too

static pid_t start_successor(pid_t wanted)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&wanted,
		.set_tid_size = 1,
	};
	pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

	// A thread gives its number back a moment after it cannot be found any more.
	for (int i = 0; i < 10000 && child < 0 && errno == EEXIST; i++) {
		usleep(1000);
		child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
	}
	if (child == 0)
		for (;;)
			pause();
	if (child < 0)
		CHECK_LEFT_OUT("no permission to choose the number of a process\n");
	else
		CHECK_EQUAL(child, wanted);
	return child;
}

static void end_child(pid_t child)
{
	CHECK(child > 0);
	if (child <= 0) // -1 would be every process
		return;
	kill(child, SIGKILL);
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
}

static bool can_take(const struct process *process, pid_t tid)
{
	int fd = -1;
	struct hs_error *error = thread_descriptor_take(process, tid, own_fd, &fd);

	// ESRCH: the process is gone.
	CHECK(error ? (error->code == HS_ERROR_NOT_FOUND || error->error_number == ESRCH) && fd == -1 : fd >= 0);
	hs_error_destroy(error);
	if (fd >= 0)
		close(fd);
	return !error;
}

static bool opens(pid_t pid, struct process *ret)
{
	struct hs_error *error = process_open(pid, ret);

	CHECK(!error);
	hs_error_destroy(error);
	return !error;
}

struct short_thread {
	int says_id[2], may_end[2];
};

static void *live_until_told(void *data)
{
	const struct short_thread *thread = data;
	const pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	if (write(thread->says_id[1], &tid, sizeof(tid)) != sizeof(tid) || read(thread->may_end[0], &byte, 1) != 1)
		_exit(1);
	return NULL;
}

static void test_thread(void)
{
	struct short_thread thread;
	struct process own;
	pthread_t handle;
	pid_t tid = 0, successor;

	CHECK(pipe(thread.says_id) == 0 && pipe(thread.may_end) == 0);
	CHECK_EQUAL(pthread_create(&handle, NULL, live_until_told, &thread), 0);
	CHECK_EQUAL(read(thread.says_id[0], &tid, sizeof(tid)), sizeof(tid));
	if (!opens(getpid(), &own))
		return;
	CHECK(can_take(&own, getpid()));
	CHECK(can_take(&own, tid));
	CHECK_EQUAL(write(thread.may_end[1], "x", 1), 1);
	pthread_join(handle, NULL);
	for (int i = 0; i < 20000 && process_has_thread(&own, tid); i++) // joined a moment before it is gone
		usleep(1000);
	CHECK(!can_take(&own, tid));
	successor = start_successor(tid);
	if (successor > 0) {
		CHECK(!process_has_thread(&own, successor));
		CHECK(!can_take(&own, successor));
		end_child(successor);
	}
	process_close(&own);
}

static void test_main_thread(void)
{
	const pid_t child = fork();
	struct process process;
	pid_t successor;

	CHECK(child >= 0);
	if (child < 0)
		return;
	if (child == 0)
		for (;;)
			pause();
	if (opens(child, &process)) {
		const int pidfd = process.pidfd;

		CHECK(can_take(&process, child));
		process.pidfd = -1; // an old kernel's
		CHECK(can_take(&process, child));
		process.pidfd = pidfd;
		end_child(child);
		CHECK(!can_take(&process, child));
		successor = start_successor(child);
		if (successor > 0) {
			CHECK(!can_take(&process, child));
			end_child(successor);
		}
		process_close(&process);
	}
}

int main(void)
{
	own_fd = open("/dev/null", O_RDONLY);
	CHECK(own_fd >= 0);
	test_main_thread();
	test_thread();
	return CHECK_RESULT();
}
