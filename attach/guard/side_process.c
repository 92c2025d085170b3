// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/side_process.h"

#include "attach/guard/interrupt_signal.h"
#include "attach/guard/priority_boost.h"
#include "base/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// FILES_MAX: where close_range(2) is not there (before Linux 5.9).
enum { STACK_SIZE = 64 << 10, FILES_MAX = 65536, READY_SECONDS = 60, READY_POLL_NS = 20000000 };

// Whoever reads the tool's output to its end does not wait for this process.
HS_NOT_INSTRUMENTED static void keep_few_descriptors(const struct side_process *process, bool keeps_errors)
{
	if (process->tool_fd < 0)
		bare_call1(SYS_close, 0);
	else
		bare_call3(SYS_dup3, process->tool_fd, 0, 0);
	bare_call1(SYS_close, 1);
	if (!keeps_errors)
		bare_call1(SYS_close, 2);
	if (bare_call3(SYS_close_range, 3, UINT32_MAX, 0) != 0)
		for (long fd = 3; fd < FILES_MAX; fd++)
			bare_call1(SYS_close, fd);
}

HS_NOT_INSTRUMENTED bool side_process_enter(struct side_process *process, const char *name, bool keeps_errors)
{
	if (bare_call2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL) != 0 || bare_call1(SYS_getppid, 0) != process->tool)
		return false;
	bare_call1(SYS_setsid, 0); // out of reach of what is sent to the terminal's process group
	bare_call2(SYS_prctl, PR_SET_NAME, (long)name);
	bare_call1(SYS_chdir, (long)"/");
	keep_few_descriptors(process, keeps_errors);
	bare_call3(SYS_setpriority, PRIO_PROCESS, 0, HS_HIGHEST_PRIORITY); // allowed or not
	atomic_store(&process->ready, 1);
	bare_call3(SYS_futex, (long)&process->ready, FUTEX_WAKE_PRIVATE, 1);
	return true;
}

static bool has_ended(const struct side_process *process)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
	       info.si_pid == process->pid;
}

// A tool that is killed before the process has run would leave one with copies of its descriptors, the lock on the
// target among them (work_lock.h), for as long as that gets no processor. No thread is stopped yet, so there is time.
static struct hs_error *wait_until_ready(const struct side_process *process)
{
	uint64_t deadline = hs_monotonic_ns() + READY_SECONDS * UINT64_C(1000000000);

	while (!atomic_load(&process->ready)) {
		uint64_t now = hs_monotonic_ns(), left = now < deadline ? deadline - now : 0;
		struct timespec timeout = { 0, READY_POLL_NS }; // should the kernel not wake
		struct hs_error *error = interrupt_signal_check();

		if (error)
			return error;
		if (has_ended(process) && !atomic_load(&process->ready))
			return hs_error_create(HS_ERROR_SYSTEM, "the %s process has ended; try again", process->what);
		if (left == 0)
			return hs_error_create(HS_ERROR_TIMEOUT,
					       "the %s process got no processor time for %d seconds; try again",
					       process->what, READY_SECONDS);
		syscall(SYS_futex, &process->ready, FUTEX_WAIT_PRIVATE, 0, &timeout, NULL, 0);
	}
	return NULL;
}

static struct hs_error *start(struct side_process *process)
{
	struct hs_error *error;
	sigset_t all, mask;
	int error_number;

	process->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (process->stack == MAP_FAILED) {
		process->stack = NULL;
		return &hs_error_no_memory;
	}
	atomic_store(&process->ready, 0);
	process->tool = getpid();
	process->tool_fd = (int)syscall(SYS_pidfd_open, process->tool, 0);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask); // which the process begins with, and keeps
	process->pid = clone(process->run, (char *)process->stack + STACK_SIZE, CLONE_VM, process);
	error_number = errno;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (process->tool_fd >= 0)
		close(process->tool_fd);
	if (process->pid > 0) {
		error = wait_until_ready(process);
		if (error)
			side_process_stop(process);
		return error;
	}
	process->pid = 0;
	munmap(process->stack, STACK_SIZE);
	return hs_error_system(error_number,
			       "cannot start the %s process (is there a limit of processes? RLIMIT_NPROC, pids.max)",
			       process->what);
}

bool side_process_is_there(const struct side_process *process) { return process->pid && process->owner == getpid(); }

struct hs_error *side_process_start(struct side_process *process)
{
	if (side_process_is_there(process))
		return NULL;
	process->owner = getpid();
	return start(process);
}

void side_process_stop(struct side_process *process)
{
	if (!side_process_is_there(process))
		return;
	// A child that is not yet reaped: the number is its own. One that cannot be killed ends with the tool.
	if (kill(process->pid, SIGKILL) == 0) {
		while (waitpid(process->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
		munmap(process->stack, STACK_SIZE);
	}
	process->pid = 0;
	process->stack = NULL;
}
