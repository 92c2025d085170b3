// SPDX-License-Identifier: Apache-2.0
// Threads of a followed process that are held: by how many looks that is known of all of them, that a stop of another
// process is found meanwhile, and that they go on waiting where the tool is killed then.
#include "check.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/follow_threads.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/stop_wait.h"
#include "base/clock.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 300 };
#define WAIT_NS UINT64_C(20000000000)

// How often it was asked for anybody's stop, for which the kernel goes through all tracees, and for one thread's.
static unsigned asked_for_all, asked_for_one;

// In place of the C library's.
int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	asked_for_all += type == P_ALL;
	asked_for_one += type == P_PID;
	return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}

static void check_ok(struct hs_error *error)
{
	CHECK(!error);
	hs_error_destroy(error);
}

static void *wait_for_ever(void *context)
{
	for (;;)
		pause();
	return context;
}

// A child with so many threads more, which all have begun.
static pid_t start(int threads)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) != 0 || (pid = fork()) < 0)
		_exit(2);
	if (pid == 0) {
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, 65536);
		while (threads-- > 0)
			if (pthread_create(&thread, &attributes, wait_for_ever, NULL) != 0)
				_exit(3);
		if (write(ends[1], "", 1) != 1)
			_exit(4);
		wait_for_ever(NULL);
	}
	close(ends[1]);
	CHECK_EQUAL(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

// What is found is handled, as lib/run_family.c does it. Returns a thread that is none of the process's, and was found
// in a stop; 0 = none was.
static pid_t handle_found(struct follow_threads *follow)
{
	pid_t tid, made, other = 0;
	bool is_end;

	while ((tid = stop_find(&is_end))) {
		if (follow_threads_know(follow, tid)) {
			CHECK_EQUAL(follow_threads_look_at(follow, tid, &made), FOLLOW_NONE);
			continue;
		}
		other = tid;
		check_ok(ptrace_continue(tid, 0));
	}
	return other;
}

static bool all_have_stopped(const struct process *process)
{
	struct thread_walk walk;
	bool all = thread_walk_begin(process, &walk);

	CHECK(all);
	for (pid_t tid; (tid = thread_walk_next(&walk));)
		all = all && thread_state(process, tid) == 't';
	thread_walk_end(&walk);
	return all;
}

static void wait_for_stops(const struct process *process)
{
	const uint64_t deadline = hs_monotonic_ns() + WAIT_NS;

	while (!all_have_stopped(process) && hs_monotonic_ns() < deadline)
		usleep(5000);
}

// All that is left, over the stops on the way.
static void wait_for_ends(void)
{
	pid_t found;
	int status;

	while ((found = waitpid(-1, &status, __WALL)) > 0)
		if (WIFSTOPPED(status))
			hs_error_destroy(ptrace_continue(found, 0));
}

static void test_looks(void)
{
	const pid_t pid = start(THREADS), other = start(0);
	struct follow_threads follow = { 0 };
	struct process process;

	check_ok(process_open(pid, &process));
	kill(pid, SIGSTOP);
	CHECK_EQUAL(waitpid(pid, NULL, WUNTRACED), pid);
	check_ok(follow_threads_begin(&process, &follow));
	CHECK(follow.count >= THREADS + 1); // a sanitizer has some of its own
	CHECK_EQUAL(ptrace_seize(other, HS_PTRACE_OPTIONS), 0);
	wait_for_stops(&process);
	kill(pid, SIGCONT);
	while (follow.is_stopped || handle_found(&follow))
		handle_found(&follow);
	usleep(50000);
	handle_found(&follow);

	check_ok(follow_threads_hold(&follow));
	CHECK(!follow_threads_stand(&follow));
	wait_for_stops(&process);
	kill(other, SIGUSR1);
	CHECK_EQUAL(stop_wait(other, hs_monotonic_ns() + WAIT_NS, false).kind, STOP_SIGNAL);
	asked_for_all = asked_for_one = 0;
	CHECK(!follow_threads_stand(&follow));
	CHECK_EQUAL(handle_found(&follow), other);
	CHECK(follow_threads_stand(&follow));
	follow.threads[THREADS / 2].stands = false; // as if it were still to come
	CHECK(!follow_threads_stand(&follow));
	follow.threads[THREADS / 2].stands = true;
	// One look that finds a thread, one that finds the other process's, and one that finds nothing; the number of
	// the others is proportional to the threads.
	CHECK(asked_for_all <= 4);
	CHECK(asked_for_one <= 4 * THREADS);
	follow_threads_release(&follow);
	CHECK(!follow_threads_stand(&follow));
	follow_threads_end(&follow);
	process_close(&process);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	wait_for_ends();
}

// Calls that wait for a byte; what they return.
static ssize_t call_epoll(int fd, bool has_mask)
{
	struct epoll_event event = { .events = EPOLLIN };
	const int epoll = epoll_create1(EPOLL_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		return -2;
	return has_mask ? epoll_pwait(epoll, &event, 1, 100000, &none) : epoll_wait(epoll, &event, 1, -1);
}

static ssize_t call_epoll_wait(int fd) { return call_epoll(fd, false); }

static ssize_t call_epoll_pwait(int fd) { return call_epoll(fd, true); }

static ssize_t call_poll(int fd)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, 100000);
}

static ssize_t call_recv(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0);
}

static ssize_t call_recv_timed(int fd)
{
	const struct timeval time = { .tv_sec = 100 };

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0 ? call_recv(fd) : -2;
}

static const struct call {
	const char *name;
	ssize_t (*call)(int fd);
} calls[] = {
	{ "epoll_wait", call_epoll_wait },
	{ "epoll_pwait", call_epoll_pwait },
	{ "poll", call_poll },
	{ "recv", call_recv },
	{ "recv with SO_RCVTIMEO", call_recv_timed },
};

// A tool that holds the process and is killed then.
static _Noreturn void hold_and_die(pid_t pid)
{
	struct follow_threads follow;
	struct process process;
	struct hs_error *error = process_open(pid, &process);

	if (!error)
		error = follow_threads_begin(&process, &follow);
	if (!error)
		error = follow_threads_hold(&follow);
	if (error)
		_exit(2);
	wait_for_stops(&process);
	handle_found(&follow);
	if (!follow_threads_stand(&follow))
		_exit(3);
	raise(SIGKILL);
	_exit(4);
}

static void test_killed(const struct call *call)
{
	int ends[2], status = 0;
	struct process process;
	pid_t pid, tool;

	CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // nothing, without Yama
		_exit(call->call(ends[0]) != 1);
	}
	check_ok(process_open(pid, &process));
	for (int i = 0; i < 1000 && thread_state(&process, pid) != 'S'; i++)
		usleep(5000);
	usleep(20000);
	tool = fork();
	if (tool == 0)
		hold_and_die(pid);
	CHECK_EQUAL(waitpid(tool, &status, 0), tool);
	CHECK(WIFSIGNALED(status));
	usleep(20000);
	CHECK_EQUAL(write(ends[1], "", 1), 1);
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	if (status != 0)
		printf("%s\n", call->name);
	CHECK_EQUAL(status, 0);
	process_close(&process);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	test_looks();
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		test_killed(&calls[i]);
	return CHECK_RESULT();
}
