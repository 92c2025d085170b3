// SPDX-License-Identifier: Apache-2.0
// Every kind of process that is refused, with the reason; and those that need care.
#include "attach/guard/interrupt.h"
#include "attach/process/target.h"
#include "attach/process/thread_facts.h"
#include "attach/ptrace/remote_call.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

// A forked child that does `prepare` and waits to be killed. Returns when it is ready.
static pid_t start_child(void (*prepare)(void))
{
	int pipes[2];
	pid_t pid;
	char byte;

	if (pipe(pipes))
		exit(2);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prepare();
		syscall(SYS_write, pipes[1], "r", 1);
		for (;;)
			syscall(SYS_read, pipes[0] + 100, &byte, 1); // fails at once: a computing process
	}
	if (read(pipes[0], &byte, 1) != 1)
		exit(2);
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void check_refused(pid_t pid, const char *reason)
{
	struct target_info info;
	struct hs_error *error = target_examine(held_process(pid), &info);

	if (!error) {
		CHECK(!"refused");
		target_info_deinit(&info);
		return;
	}
	CHECK_EQUAL(error->code, process_is_there(held_process(pid)) ? HS_ERROR_REFUSED : HS_ERROR_NOT_FOUND);
	if (!strstr(error->message, reason))
		fprintf(stderr, "not \"%s\": %s\n", reason, error->message);
	CHECK(strstr(error->message, reason) != NULL);
	CHECK(strchr(error->message, '\n') == NULL);
	hs_error_destroy(error);
}

static void check_accepted(pid_t pid)
{
	struct target_info info;

	must(target_examine(held_process(pid), &info));
	CHECK_EQUAL(info.pid, pid);
	CHECK(info.name && info.thread_count > 0 && info.address_space_used > 0);
	target_info_deinit(&info);
}

static void do_nothing(void) {}

static void become_nobody(void)
{
	if (setgid(65534) || setuid(65534))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
}

static void become_undumpable_nobody(void)
{
	become_nobody();
	prctl(PR_SET_DUMPABLE, 0);
}

static void enter_strict_seccomp(void) { prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); }

// Reading, writing, exiting and returning from signals; everything else kills.
static void enter_seccomp_filter(void)
{
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// `check` in a child that has become another user.
static void as_nobody(void (*check)(pid_t), pid_t pid)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		become_nobody();
		check(pid);
		_exit(check_failures != 0);
	}
	waitpid(child, &status, 0);
	CHECK_EQUAL(status, 0);
}

static void check_user(pid_t pid) { check_refused(pid, "belongs to user 0, group 0, and heapsnap runs as user 65534"); }

static void check_undumpable(pid_t pid) { check_refused(pid, "is not dumpable"); }

static void check_no_admin(pid_t pid) { check_refused(pid, "only CAP_SYS_ADMIN may suspend"); }

static void become_filtered_nobody(void)
{
	become_nobody();
	enter_seccomp_filter();
}

static void test_refusals(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("2"));
	struct frozen_process process;
	struct dirent *entry;
	char path[64], owner[64];
	DIR *directory;
	pid_t pid;

	check_accepted(program.pid);
	check_refused(2147483647, "no process with PID 2147483647");
	check_refused(getpid(), "is heapsnap itself");
	if (access("/proc/2/exe", F_OK) != 0 && status_of(2, 2, "Kthread:", 10) == 1)
		check_refused(2, "is a kernel thread");

	snprintf(path, sizeof(path), "/proc/%d/task", (int)program.pid);
	snprintf(owner, sizeof(owner), "is a thread of process %d (ptrace_sleepers)", (int)program.pid);
	directory = opendir(path);
	while ((entry = readdir(directory))) {
		if (atoi(entry->d_name) > program.pid)
			check_refused(atoi(entry->d_name), owner);
	}
	closedir(directory);

	must(threads_freeze(held_process(program.pid), 2000, &process));
	snprintf(owner, sizeof(owner), "is already traced by process %d (target_test)", (int)getpid());
	check_refused(program.pid, owner);
	must(threads_thaw(&process));
	check_accepted(program.pid);
	as_nobody(check_user, program.pid);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);

	pid = start_child(do_nothing);
	kill(pid, SIGKILL);
	siginfo_t info;

	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	check_refused(pid, "a zombie");
	waitpid(pid, NULL, 0);

	pid = start_child(become_nobody);
	as_nobody(check_accepted, pid);
	end_child(pid);
	pid = start_child(become_undumpable_nobody);
	as_nobody(check_undumpable, pid);
	check_accepted(pid);
	end_child(pid);

	pid = start_child(enter_strict_seccomp);
	check_refused(pid, "strict seccomp");
	end_child(pid);
	pid = start_child(become_filtered_nobody);
	as_nobody(check_no_admin, pid);
	end_child(pid);
}

// A filter that kills for the calls that are made does not, because it is suspended, and it is in force again
// afterwards.
static void test_seccomp_suspended(void)
{
	pid_t pid = start_child(enter_seccomp_filter);
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;
	struct target_info info;
	int64_t result;

	must(target_examine(held_process(pid), &info));
	CHECK_EQUAL(info.threads.seccomp_mode, 2);
	target_info_deinit(&info);
	must(target_memory_open(held_process(pid), &memory));
	for (int i = 0; i < 50; i++) {
		must(freeze_prepared(&memory, 2000, &process));
		must(remote_call_open(&process, &memory, &caller));
		must(remote_call(&caller, SYS_getpid, (const uint64_t[6]){ 0 }, &result));
		CHECK_EQUAL(result, pid);
		must(remote_call_close(&caller));
		must(threads_thaw(&process));
		CHECK(!anything_stopped_or_traced(pid));
		CHECK_EQUAL(status_of(pid, pid, "Seccomp:", 10), 2);
	}
	target_memory_close(&memory);
	end_child(pid);
}

enum { DONE, GONE, OTHER_ERROR }; // exit statuses

static int status_for(struct hs_error *error)
{
	const int status = !error                            ? DONE
			   : error->code == HS_ERROR_GONE    ? GONE
			   : error->code == HS_ERROR_TIMEOUT ? STARVED
							     : OTHER_ERROR;

	hs_error_destroy(error);
	return status;
}

// The target is killed at that request.
static _Noreturn void open_and_close(pid_t pid, unsigned request)
{
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;
	struct hs_error *error;
	char text[16];

	snprintf(text, sizeof(text), "%u", request);
	setenv("HEAPSNAP_KILL_AT_REQUEST", text, 1);
	fault_kills(pid);
	must(target_memory_open(held_process(pid), &memory));
	error = freeze_prepared(&memory, 2000, &process);
	if (error)
		_exit(status_for(error));
	error = remote_call_open(&process, &memory, &caller);
	if (!error)
		error = remote_call_close(&caller);
	_exit(status_for(hs_error_join(error, threads_thaw(&process))));
}

// A target that dies at any request is reported as gone, also between the suspension of its filter and the choice of
// that thread. pre: the tool has made no request before, and so not read yet at which one to kill.
static void test_target_dies(void)
{
	unsigned request = 0;
	int status;

	do {
		pid_t pid = start_child(enter_seccomp_filter), tool;

		request++;
		fflush(stdout);
		tool = fork();
		if (tool == 0)
			open_and_close(pid, request);
		waitpid(tool, &status, 0);
		if (was_starved(status))
			exit(check_failures ? 1 : STARVED);
		if (!WIFEXITED(status) || WEXITSTATUS(status) == OTHER_ERROR)
			fprintf(stderr, "request %u: status 0x%x\n", request, (unsigned)status);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) != OTHER_ERROR);
		end_child(pid);
	} while (status != DONE && request < 100);
	printf("died at each of %u requests\n", request - 1);
	CHECK(request > 10 && request < 100);
}

static int vfork_pipe[2];

// The parent of a vfork waits without an ear for signals until the child is gone.
static pid_t start_vfork_parent(void)
{
	pid_t pid;
	char byte;

	if (pipe(vfork_pipe))
		exit(2);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(vfork_pipe[1]);
		if (vfork() == 0) {
			syscall(SYS_read, vfork_pipe[0], &byte, 1);
			_exit(0);
		}
		_exit(42);
	}
	close(vfork_pipe[0]);
	return pid;
}

static bool in_uninterruptible_sleep(pid_t pid) { return thread_state(held_process(pid), pid) == 'D'; }

static void test_does_not_stop(void)
{
	pid_t pid = start_vfork_parent(), tool;
	int status;

	CHECK(wait_until(in_uninterruptible_sleep, pid));
	fflush(stdout);
	tool = fork();
	if (tool == 0) {
		struct frozen_process process;
		struct hs_error *error = threads_freeze(held_process(pid), 100, &process);
		char expected[64];

		check_failures = 0;
		snprintf(expected, sizeof(expected), "thread %d of process %d did not stop in time (state D", (int)pid,
			 (int)pid);
		CHECK(error && error->code == HS_ERROR_TIMEOUT && strstr(error->message, expected));
		_exit(check_failures != 0);
	}
	waitpid(tool, &status, 0);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(status_of(pid, pid, "TracerPid:", 10), 0);
	close(vfork_pipe[1]);
	waitpid(pid, &status, 0);
	CHECK_EQUAL(status, 42 << 8);
}

static int run_all(void)
{
	if (getuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return CHECK_RESULT();
	}
	test_target_dies();
	test_refusals();
	test_seccomp_suspended();
	test_does_not_stop();
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
