// SPDX-License-Identifier: Apache-2.0
// What two threads share (attach/guard/task_compare.h), where the kernel says so at once, and where it does not.
#include "attach/guard/interrupt_signal.h"
#include "attach/guard/task_compare.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/sharing.h"
#include "base/clock.h"
#include "check.h"
#include "held_process.h"
#include "output_folder.h"
#include "stuck_exec.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static pid_t waiting_child(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(stuck.device);
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void check_answers(pid_t other)
{
	CHECK_EQUAL(task_compare(getpid(), getpid(), KCMP_VM), 0);
	CHECK_EQUAL(task_compare(getpid(), getpid(), KCMP_FILES), 0);
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
	CHECK_EQUAL(task_compare(getpid(), other, KCMP_VM), syscall(SYS_kcmp, getpid(), other, KCMP_VM, 0, 0));
	CHECK_EQUAL(task_compare(other, getpid(), KCMP_FILES), syscall(SYS_kcmp, other, getpid(), KCMP_FILES, 0, 0));
	CHECK(task_compare(getpid(), 0x3fffffff, KCMP_VM) == -1 && errno == ESRCH);
	CHECK(!task_compare_check(getpid()));
}

// The same answers in a standstill as outside.
static void test_answers(void)
{
	const pid_t other = waiting_child();

	check_answers(other);
	for (int i = 0; i < 3; i++) {
		CHECK(!task_compare_begin());
		check_answers(other);
		task_compare_end();
		check_answers(other);
	}
	task_compare_done();
	check_answers(other);
	task_compare_done();
	end(other);
}

// Of those that this process has.
static void stop_asking_processes(void)
{
	unsigned found = 0;
	char path[64], name[32] = "";
	int pid;
	FILE *children, *comm;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		comm = fopen(path, "re");
		if (comm && fscanf(comm, "%31s", name) == 1 && strcmp(name, "heapsnap-ask") == 0)
			found += kill(pid, SIGSTOP) == 0;
		if (comm)
			fclose(comm);
	}
	if (children)
		fclose(children);
	CHECK(found > 0);
}

static bool is_refused(void) { return fails_with(task_compare_check(getpid()), "did not say in time whether process"); }

// Whether the kernel holds back whoever asks about a process that closes files in execve. It need not.
static bool is_held_back(pid_t pid)
{
	const pid_t other = fork();
	int status = 0;

	if (other == 0) {
		syscall(SYS_kcmp, getpid(), pid, KCMP_VM, 0, 0);
		_exit(0);
	}
	for (int i = 0; i < 100 && waitpid(other, &status, WNOHANG) == 0; i++)
		usleep(5000);
	return kill(other, SIGKILL) == 0 && waitpid(other, &status, 0) == other;
}

// A tool that asked itself would stand there with its target.
static void test_leaves(void)
{
	const pid_t other = waiting_child(), one = stuck_exec_begin();
	const uint64_t flush = stuck.flush;
	const pid_t two = stuck_exec_begin();
	const pid_t all[] = { other, one, other, two, other };
	long results[5];

	task_compare_forget();
	for (int i = 0; i < 2; i++) {
		CHECK(!task_compare_begin());
		CHECK_EQUAL(task_compare(getpid(), one, KCMP_VM), TASK_COMPARE_LEAVES);
		CHECK_EQUAL(task_compare(getpid(), two, KCMP_VM), TASK_COMPARE_LEAVES);
		CHECK_EQUAL(task_compare(getpid(), one, KCMP_FILES), TASK_COMPARE_LEAVES); // known
		CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
		CHECK(!task_compare_check(getpid()));
		task_compare_end();
		CHECK_EQUAL(task_compare(getpid(), one, KCMP_FILES), TASK_COMPARE_LEAVES);
		CHECK(task_compare(getpid(), other, KCMP_VM) > 0 && task_compare(getpid(), other, KCMP_VM) < 3);
	}
	CHECK(!task_compare_begin());
	task_compare_all(getpid(), all, 5, KCMP_FILES, results);
	for (int i = 0; i < 5; i += 2)
		CHECK_EQUAL(results[i], syscall(SYS_kcmp, getpid(), other, KCMP_FILES, 0, 0));
	CHECK(results[1] == TASK_COMPARE_LEAVES && results[3] == TASK_COMPARE_LEAVES);
	CHECK(!task_compare_check(getpid()));
	task_compare_end();
	CHECK_EQUAL(stuck_exec_end(two), 0);
	stuck.flush = flush;
	CHECK_EQUAL(stuck_exec_end(one), 0);
	task_compare_done();
	end(other);
}

// Many at a time, more than one process is told at once.
static void test_all(void)
{
	enum { MANY = 1000 };
	const pid_t other = waiting_child();
	static pid_t tids[MANY];
	static long results[MANY];

	for (int i = 0; i < MANY; i++)
		tids[i] = i % 3 == 0 ? getpid() : i % 3 == 1 ? other : 0x3fffffff;
	for (int i = 0; i < 2; i++) {
		if (i)
			CHECK(!task_compare_begin());
		memset(results, 0xa5, sizeof(results));
		task_compare_all(getpid(), tids, MANY, KCMP_VM, results);
		for (int j = 0; j < MANY; j++)
			CHECK(j % 3 == 0   ? results[j] == 0
			      : j % 3 == 1 ? results[j] > 0 && results[j] < 3
					   : results[j] == -ESRCH);
		if (i)
			task_compare_end();
	}
	task_compare_done();
	end(other);
}

// What does not answer, and is not seen to wait in the kernel either: it is stopped.
static void test_unanswered(void)
{
	const pid_t other = waiting_child();
	const struct strangers none = { 0 };

	task_compare_forget();
	CHECK(!task_compare_begin());
	stop_asking_processes();
	CHECK(task_compare(getpid(), other, KCMP_VM) == -1 && errno == ETIMEDOUT);
	CHECK(is_refused());
	// What nobody can know is not taken for what would be harmless.
	CHECK(fails_with(memory_sharers_check(held_process(other), other, &none),
			 "did not say in time whether process"));
	task_compare_end();
	task_compare_forget();
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0); // another process asks now
	CHECK(!task_compare_check(getpid()));
	stop_asking_processes();
	CHECK(task_compare(getpid(), other, KCMP_FILES) == -1 && errno == ETIMEDOUT);
	CHECK(is_refused());
	CHECK(!task_compare_begin()); // each standstill has its own time
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
	task_compare_end();
	task_compare_done();
	end(other);
}

// The tool is interrupted while it waits, and nothing stands still.
static void test_interrupted(void)
{
	const pid_t other = waiting_child(), tool = fork();
	uint64_t began;
	int status;

	if (tool == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		interrupt_install();
		CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
		stop_asking_processes();
		raise(SIGTERM); // not ignored where the test runs in the background
		began = hs_monotonic_ns();
		CHECK(task_compare(getpid(), other, KCMP_VM) == -1 && errno == ETIMEDOUT);
		CHECK(hs_monotonic_ns() - began < UINT64_C(5000000000)); // what it waits for otherwise, at least
		task_compare_done();
		_exit(check_failures ? 1 : 0);
	}
	waitpid(tool, &status, 0);
	CHECK_EQUAL(status, 0);
	end(other);
}

// A stranger that stays in the middle of execve keeps no tool from its work.
static void test_sharers(void)
{
	const pid_t target = waiting_child(), pid = stuck_exec_begin();
	struct strangers strangers;

	CHECK(!memory_sharers_wait(held_process(target), 100));
	strangers_list(held_process(target), NULL, 0, &strangers);
	CHECK(pid_set_has(&strangers.apart, pid));
	CHECK(!task_compare_begin());
	CHECK(!memory_sharers_check(held_process(target), target, &strangers));
	task_compare_end();
	strangers_deinit(&strangers);
	CHECK_EQUAL(stuck_exec_end(pid), 0);
	task_compare_done();
	end(target);
}

int main(void)
{
	pid_t pid;
	bool held;

	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) != 0) {
		CHECK_LEFT_OUT("no kcmp(2) here");
		return CHECK_RESULT();
	}
	alarm(120); // one that asks itself waits for ever
	test_answers();
	test_all();
	test_unanswered();
	test_interrupted();
	if (!stuck_exec_mount()) {
		CHECK_LEFT_OUT("no file system in user space can be mounted (FUSE): %s", strerror(errno));
		return CHECK_RESULT();
	}
	pid = stuck_exec_begin();
	held = is_held_back(pid);
	CHECK_EQUAL(stuck_exec_end(pid), 0);
	if (held) {
		test_leaves();
		test_sharers();
	} else {
		CHECK_LEFT_OUT("this kernel has no lock while execve(2) closes files");
	}
	stuck_exec_unmount();
	return CHECK_RESULT();
}
