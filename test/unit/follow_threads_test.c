// SPDX-License-Identifier: Apache-2.0
// Threads of a followed process that are held: by how many looks that is known of all of them, and that a stop of
// another process is found meanwhile.
#include "check.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/follow_threads.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/stop_wait.h"
#include "base/clock.h"

#include <pthread.h>
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

int main(void)
{
	const pid_t pid = start(THREADS), other = start(0);
	struct follow_threads follow = { 0 };
	struct process process;

	check_ok(process_open(pid, &process));
	kill(pid, SIGSTOP);
	CHECK_EQUAL(waitpid(pid, NULL, WUNTRACED), pid);
	check_ok(follow_threads_begin(&process, &follow));
	CHECK_EQUAL(follow.count, THREADS + 1);
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
	return CHECK_RESULT();
}
