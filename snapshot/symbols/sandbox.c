// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/sandbox.h"

#include "attach/guard/interrupt.h"
#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshot/symbols/sandbox_filter.h"

enum {
	NOBODY = 65534, // the kernel's overflow uid
	CHILD_SOCKET = 3,
	CHILD_FILES = 16,
	EXIT_NOT_READY = 3,
	READY_TIMEOUT_MS = 30000,
	ENDING_MS = 2000,
};

static const char READY[] = "ready";

static bool limit(int resource, uint64_t value)
{
	struct rlimit64 now, wanted = { value, value };

	if (syscall(SYS_prlimit64, 0, resource, NULL, &now) < 0)
		return false;
	if (now.rlim_max < value)
		wanted = (struct rlimit64){ now.rlim_max, now.rlim_max };
	return syscall(SYS_prlimit64, 0, resource, &wanted, NULL) == 0;
}

// Bytes of address space in use (proc(5), statm); sanitizers use a large part of it.
static uint64_t address_space(void)
{
	char text[64] = { 0 };
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return size > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static bool set_limits(const struct sandbox_limits *limits)
{
	uint64_t used = address_space();

	return used && limit(RLIMIT_AS, used + limits->memory) && limit(RLIMIT_CPU, limits->processor_time) &&
	       limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, CHILD_FILES);
}

// When memory runs out, the kernel takes this one first.
static void be_first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) != 4)
		errno = 0; // a comfort only
	if (fd >= 0)
		close(fd);
}

// Leaves the socket, as CHILD_SOCKET, and nothing behind the standard streams.
static bool keep_only(int socket)
{
	const int nothing = hs_open_nothing(O_CLOEXEC);
	bool done = nothing >= 0;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && done; fd++)
		done = dup2(nothing, fd) == fd;
	if (done && socket != CHILD_SOCKET)
		done = dup2(socket, CHILD_SOCKET) == CHILD_SOCKET;
	if (done && syscall(SYS_close_range, CHILD_SOCKET + 1, UINT_MAX, 0) < 0) { // Linux 5.9
		struct rlimit64 files;

		done = prlimit64(0, RLIMIT_NOFILE, NULL, &files) == 0;
		for (uint64_t fd = CHILD_SOCKET + 1; done && fd < files.rlim_max && fd < INT_MAX; fd++)
			close((int)fd);
	}
	return done;
}

// In a user namespace where no other user is mapped, the child stays who it is; what follows takes the same rights from
// it.
static void become_nobody(void)
{
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		errno = 0;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capset, &header, none) == 0;
}

static void set_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTOU, SIGTTIN };
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

	// What the user does at the terminal is meant for the tool, which ends the child.
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], SIG_IGN);
	// A fault is the end, so that the tool learns of it.
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		signal(faults[i], SIG_DFL);
}

static bool give_up_rights(int socket, const struct sandbox_limits *limits, pid_t parent)
{
	set_signals();
	be_first_to_go();
	if (!keep_only(socket) || !set_limits(limits))
		return false;
	become_nobody();
	// A change of user clears it (prctl(2)), so it comes afterwards.
	if (!drop_capabilities() || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return false;
	return sandbox_filter_install();
}

static _Noreturn void run_child(int socket, const struct sandbox_limits *limits, pid_t parent,
				void (*work)(int socket, void *context), void *context)
{
	if (!give_up_rights(socket, limits, parent) || send(CHILD_SOCKET, READY, sizeof(READY), MSG_NOSIGNAL) < 0)
		_exit(EXIT_NOT_READY);
	work(CHILD_SOCKET, context);
	// No handlers of the tool, no flushing of its streams, and not what sanitizers do at _exit, which needs more
	// calls than are left.
	for (;;)
		syscall(SYS_exit_group, 0);
}

struct hs_error *sandbox_start(void (*work)(int socket, void *context), void *context,
			       const struct sandbox_limits *limits, struct sandbox *ret)
{
	char message[sizeof(READY)], ending[SANDBOX_ENDING_SIZE];
	pid_t parent = getpid();
	struct hs_error *error;
	int sockets[2];
	size_t size;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return hs_error_system(errno, "cannot make a socket pair");
	ret->pid = fork();
	if (ret->pid == 0)
		run_child(sockets[1], limits, parent, work, context);
	error = ret->pid < 0 ? hs_error_system(errno, "cannot start a process") : NULL;
	close(sockets[1]);
	ret->socket = sockets[0];
	ret->has_hung_up = false;
	if (error) {
		close(sockets[0]);
		return error;
	}
	error = sandbox_receive(ret, hs_monotonic_ns() + READY_TIMEOUT_MS * UINT64_C(1000000), message, sizeof(message),
				&size);
	if (error) {
		sandbox_end(ret, ending);
		if (error->code == HS_ERROR_INTERRUPTED)
			return error;
		hs_error_destroy(error);
		return hs_error_create(
			HS_ERROR_REFUSED,
			"the process that reads symbol files cannot drop its privileges here, and must not read them without");
	}
	return NULL;
}

// Leaves it in place for waitpid.
static bool has_ended(pid_t child)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

void sandbox_end(struct sandbox *sandbox, char ending[SANDBOX_ENDING_SIZE])
{
	bool by_itself = has_ended(sandbox->pid);
	int status;

	// A process that is killed closes its socket first and can be waited for a little later.
	for (int i = 0; i < ENDING_MS && !by_itself && sandbox->has_hung_up; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		by_itself = has_ended(sandbox->pid);
	}
	close(sandbox->socket);
	// Not yet waited for, so the number is still its own.
	if (!by_itself)
		kill(sandbox->pid, SIGKILL);
	while (waitpid(sandbox->pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		status = 0;
		break;
	}
	ending[0] = 0;
	if (by_itself && WIFSIGNALED(status))
		snprintf(ending, SANDBOX_ENDING_SIZE, "was killed by signal %d (%s)", WTERMSIG(status),
			 WTERMSIG(status) == SIGKILL ? "out of time or memory" : strsignal(WTERMSIG(status)));
	else if (by_itself && WEXITSTATUS(status))
		snprintf(ending, SANDBOX_ENDING_SIZE, "ended with status %d", WEXITSTATUS(status));
}

struct hs_error *sandbox_receive(struct sandbox *sandbox, uint64_t deadline_ns, void *buffer, size_t room,
				 size_t *size_ret)
{
	struct pollfd readable = { .fd = sandbox->socket, .events = POLLIN };
	ssize_t size;

	for (;;) {
		uint64_t now = hs_monotonic_ns(), left = now < deadline_ns ? (deadline_ns - now) / 1000000 + 1 : 0;
		int ready = left ? poll(&readable, 1, left < INT_MAX ? (int)left : INT_MAX) : 0;
		struct hs_error *error = interrupt_check();

		if (error)
			return error;
		if (ready > 0)
			break;
		if (ready == 0)
			return hs_error_create(HS_ERROR_TIMEOUT, "did not answer in time");
		if (errno != EINTR)
			return hs_error_system(errno, "cannot wait for a process");
	}
	// Without room for control data, sent descriptors are dropped by the kernel (unix(7)).
	size = recv(sandbox->socket, buffer, room, MSG_TRUNC | MSG_DONTWAIT);
	if (size <= 0) {
		sandbox->has_hung_up = true;
		return hs_error_create(HS_ERROR_GONE, "ended before its work was done");
	}
	if ((size_t)size > room)
		return hs_error_create(HS_ERROR_BAD_DATA, "sent a message that is too long");
	*size_ret = (size_t)size;
	return NULL;
}

struct hs_error *sandbox_send(const struct sandbox *sandbox, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						   .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	if (sendmsg(sandbox->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
		return hs_error_create(HS_ERROR_GONE, "ended before its work was done");
	return NULL;
}
