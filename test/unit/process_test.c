// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include "base/cleanup.h"
#include "base/proc_maps.h"
#include "base/proc_stat.h"
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STAT_END " 0 0 0 0 0 0 0 0 0 0 3 0 8 0 0 0 0 0 9" // fields 10 to 28

static void test_stat(void)
{
	struct proc_stat stat;

	CHECK(proc_stat_parse("7 (a) b) S 1 7 1 0 -1 4194560" STAT_END, &stat));
	CHECK_EQUAL(stat.name_size, 4);
	CHECK(memcmp(stat.name, "a) b", 4) == 0);
	CHECK_EQUAL(stat.state, 'S');
	CHECK_EQUAL(stat.flags, 4194560);
	CHECK_EQUAL(stat.thread_count, 3);
	CHECK_EQUAL(stat.stack_start, 9);
	CHECK(!proc_stat_parse("7 (a) S 1 7 1 0 -1 4194560 0", &stat));
	CHECK(!proc_stat_parse("7", &stat));
	CHECK(!proc_stat_parse(")(", &stat));
	CHECK(proc_stat_lives("7 (a) S 1 7 1 0 -1 4194560" STAT_END));
	CHECK(!proc_stat_lives("7 (a) D 1 7 1 0 -1 4194564" STAT_END)); // PF_EXITING
	CHECK(!proc_stat_lives("7 (a) S) Z 1 7 1 0 -1 4194560" STAT_END));
	CHECK(proc_stat_lives("7 (a) Z) S 1 7 1 0 -1 4194560" STAT_END));
	CHECK(!proc_stat_lives("7"));
}

static int pipes[2];

static void *live_on(void *unused)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	(void)unused;
	if (write(pipes[1], &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
}

static bool opens(pid_t pid, struct process *ret)
{
	struct hs_error *error = process_open(pid, ret);

	if (error)
		fprintf(stderr, "%s\n", error->message);
	CHECK(!error);
	hs_error_destroy(error);
	return !error;
}

static bool can_read(const struct process *process, const char *file)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_live_file(process, file, &text, NULL);

	hs_error_destroy(error);
	return !error && *text;
}

static bool has_maps(const struct process *process)
{
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);
	const bool has = !error && maps.count > 0;

	if (!error)
		proc_maps_deinit(&maps);
	hs_error_destroy(error);
	return has;
}

static void test_own(void)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct process own;
	struct thread_walk walk;
	struct hs_error *error;
	const uint64_t types[] = { AT_ENTRY, UINT64_C(1) << 40 };
	uint64_t values[2];
	bool found = false;

	if (!opens(getpid(), &own))
		return;
	CHECK(own.pidfd >= 0);
	CHECK(process_is_there(&own));
	CHECK_EQUAL(process_live_thread(&own), getpid());
	CHECK(can_read(&own, "maps"));
	error = process_read_task_file(&own, getpid(), "comm", &text, NULL);
	CHECK(!error);
	CHECK_STRING(text, "process_test\n");
	CHECK(!process_auxv(&own, types, 2, values));
	CHECK_EQUAL(values[0], getauxval(AT_ENTRY));
	CHECK_EQUAL(values[1], 0);
	CHECK(thread_walk_begin(&own, &walk));
	for (pid_t tid; (tid = thread_walk_next(&walk));)
		found = found || tid == getpid();
	thread_walk_end(&walk);
	CHECK(found);
	process_close(&own);
	CHECK_EQUAL(own.folder, -1);
}

// Every number is one of a process that was there; the test's own and its parent's are among them, once.
static void test_processes(void)
{
	struct process_walk walk;
	size_t own = 0, parent = 0, least = 0;

	CHECK(process_walk_begin(&walk));
	for (pid_t pid; (pid = process_walk_next(&walk));) {
		own += pid == getpid();
		parent += pid == getppid();
		least += pid < 1;
	}
	process_walk_end(&walk);
	CHECK_EQUAL(own, 1);
	CHECK_EQUAL(parent, 1);
	CHECK_EQUAL(least, 0);
}

static void test_none(void)
{
	struct process process;
	struct hs_error *error = process_open(2147483647, &process);

	CHECK(error && error->code == HS_ERROR_REFUSED);
	CHECK_STRING(error ? error->message : NULL, "no process with PID 2147483647");
	hs_error_destroy(error);
}

static void end_child(pid_t child)
{
	CHECK(child > 0);
	if (child <= 0) // -1 would be every process
		return;
	kill(child, SIGKILL);
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
}

static void test_main_thread_ended(void)
{
	struct process process;
	pthread_t thread;
	siginfo_t info;
	pid_t child, tid = 0;
	int folder;

	CHECK_EQUAL(pipe(pipes), 0);
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (child < 0)
		return;
	if (child == 0) {
		if (pthread_create(&thread, NULL, live_on, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	CHECK_EQUAL(read(pipes[0], &tid, sizeof(tid)), sizeof(tid));
	if (opens(child, &process)) {
		for (int i = 0; i < 20000 && process_live_thread(&process) == child; i++)
			usleep(1000);
		CHECK(tid != child);
		CHECK_EQUAL(process_live_thread(&process), tid);
		CHECK(can_read(&process, "maps"));
		// A thread of another process, though it is there.
		folder = process_thread_folder(&process, getpid());
		CHECK_EQUAL(folder, -1);
		// A zombie has no other.
		CHECK_EQUAL(syscall(SYS_pidfd_send_signal, process.pidfd, SIGKILL, NULL, 0), 0);
		CHECK_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
		CHECK_EQUAL(process_live_thread(&process), child);
		CHECK(process_is_there(&process));
		process_close(&process);
	}
	end_child(child);
}

static void *hand_on(void *unused)
{
	pthread_t next;

	usleep(500);
	if (pthread_create(&next, NULL, hand_on, NULL) || pthread_detach(next))
		_exit(1);
	return unused;
}

// The main thread has ended, and each other one lives half a millisecond: what is asked of the process is answered by
// one that lives.
static void test_short_threads(void)
{
	struct process process;
	pid_t child;
	int missing = 0;

	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (child < 0)
		return;
	if (child == 0) {
		hand_on(NULL);
		pthread_exit(NULL);
	}
	if (opens(child, &process)) {
		for (int i = 0; i < 20000 && process_live_thread(&process) == child; i++)
			usleep(1000);
		for (int i = 0; i < 3000; i++) {
			HS_CLEANUP_CLOSE int fd = process_openat(&process, "auxv", O_RDONLY);
			HS_CLEANUP_CLOSE int folder = process_live_folder(&process);

			missing += fd < 0 || folder < 0 || !can_read(&process, "status") || !has_maps(&process);
		}
		CHECK_EQUAL(missing, 0);
		process_close(&process);
	}
	end_child(child);
}

static pid_t start_child(pid_t wanted)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD,
		.set_tid = wanted ? (uint64_t)(uintptr_t)&wanted : 0,
		.set_tid_size = wanted ? 1 : 0,
	};
	pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

	if (child == 0)
		for (;;)
			pause();
	return child;
}

static void check_absence(const struct process *process)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct thread_walk walk;
	struct hs_error *error = process_read_file(process, "stat", &text, NULL);

	CHECK(error && (error->error_number == ENOENT || error->error_number == ESRCH));
	hs_error_destroy(error);
	error = process_read_task_file(process, process->pid, "stat", &text, NULL);
	CHECK(error && (error->error_number == ENOENT || error->error_number == ESRCH));
	hs_error_destroy(error);
	CHECK(!can_read(process, "maps"));
	CHECK(!process_is_there(process));
	CHECK(!thread_walk_begin(process, &walk));
}

static void test_number_used_again(void)
{
	struct process process;
	pid_t child = start_child(0), other;
	struct hs_error *error;
	int early;

	CHECK(child > 0);
	if (child <= 0)
		return;
	error = process_glance(child, &process);
	CHECK(!error);
	if (error) {
		hs_error_destroy(error);
		end_child(child);
		return;
	}
	early = process_openat(&process, "maps", O_RDONLY);
	CHECK(early >= 0);
	end_child(child);
	check_absence(&process);
	other = start_child(child);
	if (other < 0) {
		CHECK_LEFT_OUT("no permission to choose the number of a process\n");
	} else {
		char byte;
		int folder;

		CHECK_EQUAL(other, child);
		check_absence(&process);
		CHECK(read(early, &byte, 1) <= 0);
		folder = process_thread_folder(&process, child);
		CHECK_EQUAL(folder, -1);
		error = process_hold(&process);
		CHECK(error && error->code == HS_ERROR_GONE);
		hs_error_destroy(error);
		CHECK_EQUAL(process.pidfd, -1);
		end_child(other);
	}
	close(early);
	process_close(&process);
}

int main(void)
{
	test_stat();
	test_own();
	test_processes();
	test_none();
	test_main_thread_ended();
	test_short_threads();
	test_number_used_again();
	return CHECK_RESULT();
}
