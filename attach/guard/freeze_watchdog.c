// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/freeze_watchdog.h"

#include "attach/guard/side_process.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

struct message {
	char text[256];
	size_t size;
};

// Shared with the watchdog, which has the same memory.
static struct {
	_Atomic uint64_t wake_at, kill_at; // 0 = no target stands still
	uint64_t least;                    // time from arming to wake_at
	struct message killed, not_killed;
} shared;

static int watch(void *unused);
static struct side_process watchdog = { .what = "watchdog", .run = watch };
static _Atomic pid_t *known; // to the parent, too

HS_NOT_INSTRUMENTED static uint64_t own_clock(void)
{
	struct timespec now = { 0 };

	bare_call2(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

HS_NOT_INSTRUMENTED static void send(int number)
{
	if (watchdog.tool_fd >= 0)
		arch_own_syscall(SYS_pidfd_send_signal, 0, number, 0, 0, 0); // its descriptor is 0 here
	else if (bare_call1(SYS_getppid, 0) == watchdog.tool)
		bare_call2(SYS_kill, watchdog.tool, number);
}

// To whoever started the tool, and only if it does not have to wait.
HS_NOT_INSTRUMENTED static void tell(const struct message *message)
{
	struct pollfd poll = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct timespec none = { 0 };

	if (arch_own_syscall(SYS_ppoll, (long)&poll, 1, (long)&none, 0, 0) == 1 && (poll.revents & POLLOUT))
		bare_call3(SYS_write, STDERR_FILENO, (long)message->text, (long)message->size);
}

// True: the tool is no more, and so traces no process: exit_notify in kernel/exit.c gives up its tracees before it says
// so.
HS_NOT_INSTRUMENTED static bool wait_for_tool(uint64_t ns)
{
	struct pollfd poll = { .fd = watchdog.tool_fd >= 0 ? 0 : -1, .events = POLLIN };
	struct timespec timeout = { (time_t)(ns / SECOND), (long)(ns % SECOND) };
	bool ended = arch_own_syscall(SYS_ppoll, (long)&poll, 1, (long)&timeout, 0, 0) == 1;

	return ended || (watchdog.tool_fd < 0 && bare_call1(SYS_getppid, 0) != watchdog.tool);
}

// Until it has ended. One that waits for a page or a device ends when that has come.
HS_NOT_INSTRUMENTED static void kill_tool(void)
{
	const uint64_t usual = SECOND / 2;
	bool said = false;

	bare_call2(SYS_prctl, PR_SET_PDEATHSIG, 0);
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
	if (!side_process_enter(&watchdog, "heapsnap-watch", true))
		return 0;
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

struct hs_error *freeze_watchdog_start(uint64_t least)
{
	struct hs_error *error;

	shared.least = least;
	error = side_process_start(&watchdog);
	if (!error && known)
		atomic_store(known, watchdog.pid);
	return error;
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
	if (!side_process_is_there(&watchdog))
		return;
	side_process_stop(&watchdog);
	if (known)
		atomic_store(known, 0);
}

void freeze_watchdog_share(void)
{
	void *place = mmap(NULL, sizeof(*known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	known = place == MAP_FAILED ? NULL : place;
}

pid_t freeze_watchdog_of_child(void) { return known ? atomic_load(known) : 0; }
