// SPDX-License-Identifier: Apache-2.0
// What two threads share (attach/guard/task_compare.h), where the kernel says so at once, and where it does not.
#include "attach/guard/interrupt_signal.h"
#include "attach/guard/task_compare.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/sharing.h"
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
	CHECK_EQUAL(task_compare_unanswered(), 0);
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

// The process that asks, of this process.
static pid_t asking_process(void)
{
	pid_t found = 0;
	char path[64], name[32] = "";
	int pid;
	FILE *children, *comm;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		comm = fopen(path, "re");
		if (comm && fscanf(comm, "%31s", name) == 1 && strcmp(name, "heapsnap-ask") == 0)
			found = pid;
		if (comm)
			fclose(comm);
	}
	if (children)
		fclose(children);
	CHECK(found > 0);
	return found;
}

// The kernel holds back whoever asks about it. A tool that asked itself would stand there with its target.
static void test_leaves(void)
{
	const pid_t other = waiting_child(), pid = stuck_exec_begin();

	task_compare_forget();
	CHECK(!task_compare_begin());
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
	CHECK_EQUAL(task_compare(getpid(), pid, KCMP_VM), TASK_COMPARE_LEAVES);
	CHECK_EQUAL(task_compare_unanswered(), 0);
	CHECK(task_compare(getpid(), other, KCMP_VM) == -1 && errno == ETIMEDOUT); // nobody is there to ask
	CHECK_EQUAL(task_compare_unanswered(), other);
	task_compare_end();
	task_compare_forget();
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0 && task_compare(getpid(), other, KCMP_VM) < 3); // another asks
	CHECK_EQUAL(task_compare(getpid(), pid, KCMP_FILES), TASK_COMPARE_LEAVES);
	CHECK_EQUAL(task_compare(pid, getpid(), KCMP_FILES), TASK_COMPARE_LEAVES);
	CHECK_EQUAL(task_compare_unanswered(), 0);
	CHECK(!task_compare_begin());
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
	CHECK_EQUAL(task_compare(getpid(), pid, KCMP_VM), TASK_COMPARE_LEAVES);
	task_compare_end();
	CHECK_EQUAL(stuck_exec_end(pid), 0);
	task_compare_done();
	end(other);
}

// What does not answer, and is not seen to wait in the kernel either: it is stopped.
static void test_unanswered(void)
{
	const pid_t other = waiting_child();
	const struct strangers none = { 0 };

	CHECK(!task_compare_begin());
	kill(asking_process(), SIGSTOP);
	CHECK(task_compare(getpid(), other, KCMP_VM) == -1 && errno == ETIMEDOUT);
	CHECK_EQUAL(task_compare_unanswered(), other);
	// What nobody can know is not taken for what would be harmless.
	CHECK(fails_with(memory_sharers_check(held_process(other), other, &none),
			 "did not say in time whether process"));
	task_compare_end();
	task_compare_forget();
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0); // another process asks now
	CHECK_EQUAL(task_compare_unanswered(), 0);
	kill(asking_process(), SIGSTOP);
	CHECK(task_compare(getpid(), other, KCMP_FILES) == -1 && errno == ETIMEDOUT);
	CHECK_EQUAL(task_compare_unanswered(), other);
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
	int status;

	if (tool == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		interrupt_install();
		CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
		kill(asking_process(), SIGSTOP);
		raise(SIGINT);
		CHECK(task_compare(getpid(), other, KCMP_VM) == -1 && errno == ETIMEDOUT);
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
	CHECK_EQUAL(stuck_exec_end(pid), 0);
	strangers_deinit(&strangers);
	task_compare_done();
	end(target);
}

int main(void)
{
	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) != 0) {
		CHECK_LEFT_OUT("no kcmp(2) here");
		return CHECK_RESULT();
	}
	alarm(120); // one that asks itself waits for ever
	test_answers();
	test_unanswered();
	test_interrupted();
	if (!stuck_exec_mount()) {
		CHECK_LEFT_OUT("no file system in user space can be mounted (FUSE): %s", strerror(errno));
		return CHECK_RESULT();
	}
	test_leaves();
	test_sharers();
	stuck_exec_unmount();
	return CHECK_RESULT();
}
