// SPDX-License-Identifier: Apache-2.0
// Which processes are looked at under a freeze where kcmp(2) does not tell of all: for a user without privilege, behind
// a filter, in a kernel without it.
#include "attach/guard/task_compare.h"
#include "attach/process/sharing.h"

#include "attach/process/descriptor_sharers.h"
#include "attach/process/memory_sharers.h"
#include "check.h"
#include "held_process.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static _Noreturn void wait_for_end(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static int run_sharer(void *argument)
{
	(void)argument;
	wait_for_end();
}

static pid_t begin(unsigned long flags)
{
	// One for each of two at a time: with the address sanitizer, what the first one marks of its stack in memory
	// that it shares with the test would hold for the second one's.
	static char stacks[2][16384] __attribute__((aligned(16)));
	static unsigned begun;
	char *stack = stacks[begun++ % 2];
	pid_t pid;

	fflush(stdout);
	pid = clone(run_sharer, stack + sizeof(stacks[0]), (int)flags | SIGCHLD, NULL);
	if (pid < 0)
		_exit(2);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void refuse_kcmp(int error_number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kcmp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error_number),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(2);
}

static struct {
	struct sharing sharing;
	pid_t other;
	int asked; // about a thread of `other`
} search;

static bool count_asked(const struct process *other, pid_t tid, const void *sharing)
{
	(void)tid;
	(void)sharing;
	search.asked += other->pid == search.other;
	return false;
}

// How often a search among the processes asks about threads of `other`.
static int times_asked(pid_t target, pid_t other, const struct strangers *strangers)
{
	search.sharing = (struct sharing){ .process = held_process(target),
					   .tids = &target,
					   .count = 1,
					   .strangers = strangers,
					   .shares = count_asked };
	search.other = other;
	search.asked = 0;
	CHECK(!sharing_check(&search.sharing));
	return search.asked;
}

// A filter stays as long as the process: what comes after it is done in a child.
static void refused(int error_number, bool is_asked)
{
	const pid_t target = begin(0), other = begin(0);
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child < 0)
		_exit(2);
	if (child == 0) {
		struct strangers strangers;

		refuse_kcmp(error_number);
		strangers_list(held_process(target), NULL, 0, &strangers);
		CHECK(!pid_set_has(&strangers.apart, other));
		CHECK_EQUAL(pid_set_has(&strangers.untold, other), !is_asked);
		CHECK_EQUAL(times_asked(target, other, &strangers), is_asked);
		CHECK_EQUAL(times_asked(target, other, NULL), 1);
		strangers_deinit(&strangers);
		fflush(stdout);
		_exit(check_failures > 0);
	}
	waitpid(child, &status, 0);
	CHECK_EQUAL(status, 0);
	end(target);
	end(other);
}

static void become(uid_t user)
{
	task_compare_done(); // the process that asks has the rights with which it was started
	CHECK_EQUAL(setresuid(user, user, 0), 0);
}

// Whose processes these are decides whether they may be asked about; the tool is made another user for the listing.
static void refused_when_listed(unsigned long flags)
{
	const pid_t target = getpid(), other = begin(flags), apart = begin(0);
	struct strangers strangers;
	struct hs_error *error;

	become(NOBODY);
	strangers_list(held_process(target), NULL, 0, &strangers);
	CHECK(pid_set_has(&strangers.untold, other) && pid_set_has(&strangers.untold, apart));
	CHECK_EQUAL(times_asked(target, apart, &strangers), 0);
	become(0);
	error = flags & CLONE_VM ? memory_sharers_check(held_process(target), target, &strangers)
				 : descriptor_sharers_check(held_process(target), target, &strangers);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	hs_error_destroy(error);
	strangers_deinit(&strangers);
	end(other);
	end(apart);
}

int main(void)
{
	refused(EPERM, false);
	refused(ENOSYS, false);
	refused(ESRCH, true);
	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) != 0) {
		CHECK_LEFT_OUT("no kcmp(2) here");
	} else if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
	} else {
		refused_when_listed(CLONE_VM);
		refused_when_listed(CLONE_FILES);
	}
	return CHECK_RESULT();
}
