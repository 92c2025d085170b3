// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/freeze_watchdog.h"

#include "attach/arch/syscall.h"
#include "attach/guard/interrupt_signal.h"
#include "attach/guard/priority_boost.h"
#include "base/clock.h"
#include "inject/abi/sanitizer_marks.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
// FILES_MAX: where close_range(2) is not there (before Linux 5.9).
enum { STACK_SIZE = 64 << 10, FILES_MAX = 65536, READY_SECONDS = 60, READY_POLL_NS = 20000000 };

struct message {
	char text[256];
	size_t size;
};

// Shared with the watchdog, which has the same memory.
static struct {
	_Atomic uint64_t wake_at, kill_at; // 0 = no target stands still
	uint64_t least;                    // time from arming to wake_at
	// a futex: the watchdog ends with the tool from now on, and has none of its descriptors
	_Atomic uint32_t is_ready;
	int tool_fd; // -1: a kernel without pidfds (before Linux 5.3)
	pid_t tool;
	struct message killed, not_killed;
} shared;

static pid_t watchdog, owner; // owner: who has started it; a process that was forked since has none
static void *stack;
static _Atomic pid_t *known; // to the parent, too

// What runs in the watchdog is without the C library, whose errno is the tool's, and not instrumented.

HS_NOT_INSTRUMENTED static long call1(long number, long one) { return arch_own_syscall(number, one, 0, 0, 0, 0); }
HS_NOT_INSTRUMENTED static long call2(long number, long one, long two)
{
	return arch_own_syscall(number, one, two, 0, 0, 0);
}
HS_NOT_INSTRUMENTED static long call3(long number, long one, long two, long three)
{
	return arch_own_syscall(number, one, two, three, 0, 0);
}

HS_NOT_INSTRUMENTED static uint64_t own_clock(void)
{
	struct timespec now = { 0 };

	call2(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

HS_NOT_INSTRUMENTED static void send(int number)
{
	if (shared.tool_fd >= 0)
		arch_own_syscall(SYS_pidfd_send_signal, 0, number, 0, 0, 0); // its descriptor is 0 here
	else if (call1(SYS_getppid, 0) == shared.tool)
		call2(SYS_kill, shared.tool, number);
}

// To whoever started the tool, and only if it does not have to wait.
HS_NOT_INSTRUMENTED static void tell(const struct message *message)
{
	struct pollfd poll = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct timespec none = { 0 };

	if (arch_own_syscall(SYS_ppoll, (long)&poll, 1, (long)&none, 0, 0) == 1 && (poll.revents & POLLOUT))
		call3(SYS_write, STDERR_FILENO, (long)message->text, (long)message->size);
}

// Keeps what it needs: the tool as descriptor 0, and standard error. Whoever reads the tool's output to its end does
// not wait for this process.
HS_NOT_INSTRUMENTED static void keep_few_descriptors(void)
{
	if (shared.tool_fd < 0)
		call1(SYS_close, 0);
	else
		call3(SYS_dup3, shared.tool_fd, 0, 0);
	call1(SYS_close, 1);
	if (call3(SYS_close_range, 3, UINT32_MAX, 0) != 0)
		for (long fd = 3; fd < FILES_MAX; fd++)
			call1(SYS_close, fd);
}

// True: the tool is no more, and so traces no process: exit_notify in kernel/exit.c gives up its tracees before it says
// so.
HS_NOT_INSTRUMENTED static bool wait_for_tool(uint64_t ns)
{
	struct pollfd poll = { .fd = shared.tool_fd >= 0 ? 0 : -1, .events = POLLIN };
	struct timespec timeout = { (time_t)(ns / SECOND), (long)(ns % SECOND) };
	bool ended = arch_own_syscall(SYS_ppoll, (long)&poll, 1, (long)&timeout, 0, 0) == 1;

	return ended || (shared.tool_fd < 0 && call1(SYS_getppid, 0) != shared.tool);
}

// Until it has ended. One that waits for a page or a device ends when that has come.
HS_NOT_INSTRUMENTED static void kill_tool(void)
{
	const uint64_t usual = SECOND / 2;
	bool said = false;

	call2(SYS_prctl, PR_SET_PDEATHSIG, 0);
	for (;;) {
		send(SIGKILL);
		if (wait_for_tool(usual))
			break;
		if (!said)
			tell(&shared.not_killed);
		said = true;
	}
	tell(&shared.killed);
}

HS_NOT_INSTRUMENTED static int watch(void *unused)
{
	uint64_t woken = 0; // the kill_at for which SIGCONT was sent

	(void)unused;
	call2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	if (call1(SYS_getppid, 0) != shared.tool)
		return 0;
	call1(SYS_setsid, 0); // out of reach of what is sent to the terminal's process group
	call2(SYS_prctl, PR_SET_NAME, (long)"heapsnap-watch");
	call1(SYS_chdir, (long)"/");
	keep_few_descriptors();
	call3(SYS_setpriority, PRIO_PROCESS, 0, HS_HIGHEST_PRIORITY); // allowed or not
	atomic_store(&shared.is_ready, 1);
	call3(SYS_futex, (long)&shared.is_ready, FUTEX_WAKE_PRIVATE, 1);
	for (;;) {
		uint64_t now = own_clock(), kill_at = atomic_load(&shared.kill_at),
			 wake_at = atomic_load(&shared.wake_at);
		uint64_t next;

		if (kill_at == 0) {
			next = now + shared.least; // what is armed from now on is not due before
		} else if (now >= kill_at) {
			kill_tool();
			return 0;
		} else if (now >= wake_at) {
			if (woken != kill_at)
				send(SIGCONT);
			woken = kill_at;
			next = kill_at;
		} else {
			next = wake_at;
		}
		if (wait_for_tool(next - now))
			return 0;
	}
}

static bool has_ended(void)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)watchdog, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
	       info.si_pid == watchdog;
}

// A tool that is killed before the watchdog has run would leave one with copies of its descriptors, the lock on the
// target among them (work_lock.h), for as long as that gets no processor. No thread is stopped yet, so there is time.
static struct hs_error *wait_until_ready(void)
{
	uint64_t deadline = hs_monotonic_ns() + READY_SECONDS * SECOND;

	while (!atomic_load(&shared.is_ready)) {
		uint64_t now = hs_monotonic_ns(), left = now < deadline ? deadline - now : 0;
		struct timespec timeout = { 0, READY_POLL_NS }; // should the kernel not wake
		struct hs_error *error = interrupt_signal_check();

		if (error)
			return error;
		if (has_ended() && !atomic_load(&shared.is_ready))
			return hs_error_create(HS_ERROR_SYSTEM, "the watchdog process was killed; try again");
		if (left == 0)
			return hs_error_create(HS_ERROR_TIMEOUT,
					       "the watchdog process got no processor time for %d seconds; try again",
					       READY_SECONDS);
		syscall(SYS_futex, &shared.is_ready, FUTEX_WAIT_PRIVATE, 0, &timeout, NULL, 0);
	}
	return NULL;
}

static struct hs_error *start(void)
{
	sigset_t all, mask;
	int error_number;

	// Stays mapped until the watchdog is reaped.
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED) {
		stack = NULL;
		return &hs_error_no_memory;
	}
	atomic_store(&shared.is_ready, 0);
	shared.tool = getpid();
	shared.tool_fd = (int)syscall(SYS_pidfd_open, shared.tool, 0);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask); // which the watchdog begins with, and keeps
	watchdog = clone(watch, (char *)stack + STACK_SIZE, CLONE_VM, NULL);
	error_number = errno;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (shared.tool_fd >= 0)
		close(shared.tool_fd);
	if (watchdog > 0) {
		struct hs_error *error;

		if (known)
			atomic_store(known, watchdog);
		error = wait_until_ready();

		if (error)
			freeze_watchdog_stop();
		return error;
	}
	watchdog = 0;
	munmap(stack, STACK_SIZE);
	return hs_error_system(
		error_number,
		"cannot start the watchdog process (is there a limit of processes? RLIMIT_NPROC, pids.max)");
}

struct hs_error *freeze_watchdog_start(uint64_t least)
{
	if (watchdog && owner == getpid())
		return NULL;
	owner = getpid();
	shared.least = least;
	return start();
}

__attribute__((format(printf, 2, 3))) static void write_message(struct message *message, const char *format, ...)
{
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(message->text, sizeof(message->text), format, arguments);
	va_end(arguments);
	message->size = (size_t)size < sizeof(message->text) ? (size_t)size : sizeof(message->text) - 1;
}

void freeze_watchdog_arm(const struct process *process, uint64_t wake_at, uint64_t kill_at, uint64_t bound)
{
	const double seconds = (double)bound / (double)SECOND;

	write_message(
		&shared.killed,
		"heapsnap: stopped process %d for %.3g s, its limit, and was killed by its watchdog; the "
		"process runs on. `heapsnap status %d` shows what is left; the next attach or detach clears it away\n",
		(int)process->pid, seconds, (int)process->pid);
	write_message(
		&shared.not_killed,
		"heapsnap: process %d has been stopped for more than %.3g s, its limit: heapsnap (process %d) has not ended after SIGKILL yet; the process runs on when it has\n",
		(int)process->pid, seconds, (int)getpid());
	atomic_store(&shared.wake_at, wake_at);
	atomic_store(&shared.kill_at, kill_at);
}

void freeze_watchdog_disarm(void) { atomic_store(&shared.kill_at, 0); }

void freeze_watchdog_stop(void)
{
	if (!watchdog || owner != getpid())
		return;
	// A child that is not yet reaped: the number is its own. One that cannot be killed ends with the tool.
	if (kill(watchdog, SIGKILL) == 0) {
		while (waitpid(watchdog, NULL, __WALL) < 0 && errno == EINTR)
			;
		munmap(stack, STACK_SIZE);
	}
	if (known)
		atomic_store(known, 0);
	watchdog = 0;
	stack = NULL;
}

void freeze_watchdog_share(void)
{
	void *place = mmap(NULL, sizeof(*known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	known = place == MAP_FAILED ? NULL : place;
}

pid_t freeze_watchdog_of_child(void) { return known ? atomic_load(known) : 0; }
