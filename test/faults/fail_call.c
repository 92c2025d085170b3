// SPDX-License-Identifier: Apache-2.0
// Runs a program and makes chosen system calls of it, and of its children, fail. The calls are not made then.
//
// usage: fail_call [-c FILE] CALL[/ARGUMENT]:ERRNO:FIRST[-LAST]... -- PROGRAM ARGUMENTS...
//   CALL is a name of the table below, ARGUMENT the value that its first argument must have. The FIRST to the LAST such
//   call (of all processes together, counted from 1; without LAST only the FIRST, with nothing behind the dash all
//   later ones) return ERRNO (a number), or, where that is "kill", kill the process that makes the call, before it is
//   made. FIRST 0: none. -c: the number of calls that each of them matched goes into FILE, one line each.
// The exit status is the program's; 126 when it could not be run; a program killed by a signal kills this one by the
// same.
//
// By a seccomp filter that notifies this program (seccomp_unotify(2)): no tracer is involved, so the program itself may
// be one.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILURES_MAX = 8, NOT_RUN = 126, KILL = -1 };

static const struct {
	const char *name;
	int number;
} calls[] = {
#define CALL(name)                                                                                                     \
	{                                                                                                              \
#name, SYS_##name                                                                                      \
	}
	CALL(capget),
	CALL(capset),
	CALL(chdir),
	CALL(clock_nanosleep),
	CALL(clone),
	CALL(clone3),
	CALL(close),
	CALL(close_range),
	CALL(dup3),
	CALL(fallocate),
	CALL(fchmod),
	CALL(fchown),
	CALL(fcntl),
	CALL(flock),
	CALL(fork),
	CALL(fstat),
	CALL(fstatfs),
	CALL(fsync),
	CALL(ftruncate),
	CALL(futex),
	CALL(getdents64),
	CALL(getpid),
	CALL(getpriority),
	CALL(getrandom),
	CALL(gettid),
	CALL(ioctl),
	CALL(kcmp),
	CALL(kill),
	CALL(linkat),
	CALL(lseek),
	CALL(membarrier),
	CALL(memfd_create),
	CALL(mlock),
	CALL(mlock2),
	CALL(mlockall),
	CALL(mmap),
	CALL(mprotect),
	CALL(munlock),
	CALL(munlockall),
	CALL(munmap),
	CALL(newfstatat),
	CALL(openat),
	CALL(openat2),
	CALL(pidfd_getfd),
	CALL(pidfd_open),
	CALL(pidfd_send_signal),
	CALL(pipe2),
	CALL(poll),
	CALL(ppoll),
	CALL(prctl),
	CALL(pread64),
	CALL(prlimit64),
	CALL(process_vm_readv),
	CALL(ptrace),
	CALL(pwrite64),
	CALL(read),
	CALL(readlink),
	CALL(readlinkat),
	CALL(recvmsg),
	CALL(rename),
	CALL(renameat),
	CALL(renameat2),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(sched_getscheduler),
	CALL(sched_setscheduler),
	CALL(sched_yield),
	CALL(seccomp),
	CALL(sendmsg),
	CALL(setitimer),
	CALL(setpriority),
	CALL(setresgid),
	CALL(setresuid),
	CALL(setrlimit),
	CALL(setsid),
	CALL(socketpair),
	CALL(statfs),
	CALL(statx),
	CALL(sysinfo),
	CALL(unlink),
	CALL(unlinkat),
	CALL(vfork),
	CALL(wait4),
	CALL(waitid),
	CALL(write),
	CALL(writev),
#undef CALL
};

struct failure {
	int number;
	bool has_argument;
	uint64_t argument;
	int error;
	unsigned long first, last; // of the calls that match
	unsigned long seen;
};

static struct failure failures[FAILURES_MAX];
static size_t failure_count;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "fail_call: %s: %s\n", what, strerror(errno));
	exit(NOT_RUN);
}

static void parse(char *text)
{
	struct failure *failure = &failures[failure_count++];
	char *error = strchr(text, ':'), *first = error ? strchr(error + 1, ':') : NULL, *end, *argument;

	if (!first || failure_count > FAILURES_MAX) {
		errno = EINVAL;
		fail(text);
	}
	*error++ = *first++ = 0;
	failure->error = strcmp(error, "kill") == 0 ? KILL : (int)strtol(error, NULL, 10);
	failure->first = failure->last = strtoul(first, &end, 10);
	if (*end == '-')
		failure->last = end[1] ? strtoul(end + 1, NULL, 10) : -1ul;
	argument = strchr(text, '/');
	if (argument) {
		*argument++ = 0;
		failure->has_argument = true;
		failure->argument = strtoull(argument, NULL, 0);
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, text) == 0) {
			failure->number = calls[i].number;
			return;
		}
	}
	errno = ENOSYS;
	fail(text);
}

// Every chosen call notifies; the arguments are looked at there.
static int install_filter(void)
{
	struct sock_filter code[4 + FAILURES_MAX + 2];
	struct sock_fprog program = { .filter = code };
	unsigned short at = 0;

	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < failure_count; i++)
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)failures[i].number,
							  (unsigned char)(failure_count - i), 0);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	program.len = at;
	if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		fail("no_new_privs");
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

// What parent and child tell each other without a system call, which the filter might stop before anybody listens.
struct handover {
	atomic_int listener; // of the child; -1 = not yet, -2 = there is none
	atomic_bool taken;
};

// Waits in user mode: see above.
static void offer(struct handover *handover, int listener)
{
	atomic_store(&handover->listener, listener < 0 ? -2 : listener);
	while (listener >= 0 && !atomic_load(&handover->taken))
		__builtin_ia32_pause();
}

// A copy of the child's listener; -1 = it has none, and has told why.
static int take(struct handover *handover, pid_t child)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0), listener, copy;

	if (pidfd < 0)
		fail("pidfd_open");
	while ((listener = atomic_load(&handover->listener)) == -1)
		sched_yield();
	if (listener < 0)
		return -1;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, listener, 0);
	if (copy < 0)
		fail("pidfd_getfd");
	close(pidfd);
	atomic_store(&handover->taken, true);
	return copy;
}

// The errno that a call is to return; 0 = it is made; KILL.
static int decide(const struct seccomp_data *call)
{
	int error = 0;

	for (size_t i = 0; i < failure_count; i++) {
		struct failure *failure = &failures[i];

		if (failure->number != call->nr || (failure->has_argument && failure->argument != call->args[0]))
			continue;
		failure->seen++;
		if (failure->first > 0 && failure->seen >= failure->first && failure->seen <= failure->last)
			error = failure->error;
	}
	return error;
}

static void answer_all(int listener)
{
	struct pollfd ready = { .fd = listener, .events = POLLIN };

	// POLLHUP: no process has the filter any more.
	while (poll(&ready, 1, -1) >= 0 && !(ready.revents & POLLHUP)) {
		struct seccomp_notif call = { 0 };
		struct seccomp_notif_resp answer = { 0 };
		int error;

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
			continue; // the caller was killed meanwhile
		error = decide(&call.data);
		if (error == KILL) {
			kill((pid_t)call.pid, SIGKILL);
			continue;
		}
		answer.id = call.id;
		answer.error = -error;
		answer.flags = error ? 0 : (uint32_t)SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

int main(int argc, char **argv)
{
	const char *counts = NULL;
	struct handover *handover =
		mmap(NULL, sizeof(*handover), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int listener, status, next = 1;
	pid_t child;

	if (argc > 2 && strcmp(argv[1], "-c") == 0) {
		counts = argv[2];
		next = 3;
	}
	while (next < argc && strcmp(argv[next], "--") != 0)
		parse(argv[next++]);
	if (next + 1 >= argc || failure_count == 0) {
		fprintf(stderr,
			"usage: fail_call [-c FILE] CALL[/ARGUMENT]:ERRNO:FIRST[-LAST]... -- PROGRAM ARGUMENTS...\n");
		return NOT_RUN;
	}
	if (handover == MAP_FAILED)
		fail("mmap");
	atomic_store(&handover->listener, -1);
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); // a call that nobody answers would wait for ever
		listener = install_filter();
		offer(handover, listener);
		if (listener < 0)
			fail("cannot install the filter");
		execv(argv[next + 1], argv + next + 1);
		fail(argv[next + 1]);
	}
	listener = take(handover, child);
	if (listener >= 0)
		answer_all(listener);
	if (waitpid(child, &status, 0) != child)
		fail("waitpid");
	if (counts) {
		FILE *file = fopen(counts, "w");

		for (size_t i = 0; file && i < failure_count; i++)
			fprintf(file, "%lu\n", failures[i].seen);
		if (!file || fclose(file) != 0)
			fail(counts);
	}
	if (WIFSIGNALED(status)) {
		const struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : NOT_RUN;
}
