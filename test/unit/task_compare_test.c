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

// The kernel holds back whoever asks about it. A tool that asked itself would stand there with its target.
static void test_unanswered(void)
{
	const pid_t other = waiting_child(), pid = stuck_exec_begin();

	CHECK(!task_compare_begin());
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
	CHECK(task_compare(getpid(), pid, KCMP_VM) == -1 && errno == ETIMEDOUT);
	CHECK_EQUAL(task_compare_unanswered(), pid);
	CHECK(task_compare(getpid(), other, KCMP_VM) == -1 && errno == ETIMEDOUT); // the time is spent
	CHECK_EQUAL(task_compare_unanswered(), other);
	task_compare_end();
	task_compare_forget();
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0); // another process asks now
	CHECK(task_compare(getpid(), pid, KCMP_FILES) == -1 && errno == ETIMEDOUT);
	CHECK_EQUAL(task_compare_unanswered(), pid);
	CHECK(!task_compare_begin()); // each standstill has its own time
	CHECK(task_compare(getpid(), other, KCMP_VM) > 0);
	CHECK(task_compare(getpid(), pid, KCMP_VM) == -1 && errno == ETIMEDOUT);
	task_compare_end();
	CHECK_EQUAL(stuck_exec_end(pid), 0);
	task_compare_done();
	end(other);
}

// The tool is interrupted while it waits, and nothing stands still.
static void test_interrupted(void)
{
	const pid_t pid = stuck_exec_begin(), tool = fork();
	int status;

	if (tool == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(stuck.device);
		interrupt_install();
		raise(SIGINT);
		CHECK(task_compare(getpid(), pid, KCMP_VM) == -1 && errno == ETIMEDOUT);
		task_compare_done();
		_exit(check_failures ? 1 : 0);
	}
	waitpid(tool, &status, 0);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(stuck_exec_end(pid), 0);
}

// What nobody can know is not taken for what would be harmless.
static void test_sharers(void)
{
	const pid_t target = waiting_child(), pid = stuck_exec_begin();
	const struct strangers none = { 0 };

	CHECK(!task_compare_begin());
	CHECK(fails_with(memory_sharers_check(held_process(target), target, &none), "does not say whether process"));
	task_compare_end();
	CHECK(fails_with(memory_sharers_wait(held_process(target), 100), "does not say whether process"));
	CHECK_EQUAL(stuck_exec_end(pid), 0);
	CHECK(!memory_sharers_wait(held_process(target), 2000));
	CHECK(!task_compare_begin());
	CHECK(!memory_sharers_check(held_process(target), target, &none));
	task_compare_end();
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
	if (!stuck_exec_mount()) {
		CHECK_LEFT_OUT("no file system in user space can be mounted (FUSE): %s", strerror(errno));
		return CHECK_RESULT();
	}
	test_unanswered();
	test_interrupted();
	test_sharers();
	stuck_exec_unmount();
	return CHECK_RESULT();
}
