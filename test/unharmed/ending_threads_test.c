// SPDX-License-Identifier: Apache-2.0
// Threads that end while the tool stops the others: nobody waits for them, and they are reaped.
#include "attach/process/thread_facts.h"
#include "attach/ptrace/ending_threads.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// A thread that ends slowly has so many sockets to close, each of which waits for an RCU grace period (packet_release
// in net/packet/af_packet.c). Where it has ended before the others stood, nothing was tested, and the next one has
// more.
enum { FEWEST_SOCKETS = 200, MOST_SOCKETS = 12800 };
static int sockets = FEWEST_SOCKETS;

enum { ENDED_TOO_SOON = 3 }; // exit status of a tool that came too late

static struct {
	pid_t pid, ending; // the process; its thread that ends when it is told to
	int may_end;       // a byte is written here, and it does
	bool ends_at_interrupt;
} target;

struct hs_error *__real_ptrace_interrupt(pid_t tid);
struct hs_error *__wrap_ptrace_interrupt(pid_t tid);

static bool ends(pid_t pid) { return thread_is_ending(held_process(pid), target.ending); }

static bool is_gone(pid_t pid) { return thread_state(held_process(pid), target.ending) == 'X'; }

// A main thread that has ended stays until the others have.
static bool has_ended(pid_t pid) { return is_gone(pid) || thread_state(held_process(pid), target.ending) == 'Z'; }

// After it was seized, and before it can stop.
struct hs_error *__wrap_ptrace_interrupt(pid_t tid)
{
	if (tid == target.ending && target.ends_at_interrupt) {
		target.ends_at_interrupt = false;
		CHECK_EQUAL(write(target.may_end, "x", 1), 1);
		CHECK(wait_until(ends, target.pid));
	}
	return __real_ptrace_interrupt(tid);
}

struct order {
	int may_end, says_id;
	bool slowly;
};

// The thread has a table of descriptors of its own, which are closed with its end.
static void *end_when_told(void *data)
{
	const struct order *order = data;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	if (order->slowly && unshare(CLONE_FILES) != 0)
		_exit(1);
	for (int i = 0; order->slowly && i < sockets; i++)
		if (socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)) < 0)
			_exit(1);
	if (write(order->says_id, &tid, sizeof(tid)) != (ssize_t)sizeof(tid) || read(order->may_end, &byte, 1) != 1)
		_exit(1);
	return NULL;
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void start_target(bool main_thread_ends, bool slowly)
{
	int order[2], id[2];

	if (pipe(order) || pipe(id))
		exit(2);
	fflush(stdout);
	target.pid = fork();
	if (target.pid < 0)
		exit(2);
	if (target.pid == 0) {
		struct order for_thread = { order[0], id[1], slowly };
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){ MOST_SOCKETS + 100, MOST_SOCKETS + 100 }) != 0)
			_exit(1);
		pthread_create(&thread, NULL, main_thread_ends ? wait_for_ever : end_when_told, &for_thread);
		if (!main_thread_ends)
			wait_for_ever(NULL);
		end_when_told(&for_thread);
		pthread_exit(NULL);
	}
	close(id[1]);
	CHECK_EQUAL(read(id[0], &target.ending, sizeof(target.ending)), (ssize_t)sizeof(target.ending));
	close(id[0]);
	close(order[0]);
	target.may_end = order[1];
	target.ends_at_interrupt = false;
}

static void end_target(void)
{
	int status;

	close(target.may_end);
	kill(target.pid, SIGKILL);
	CHECK_EQUAL(waitpid(target.pid, &status, 0), target.pid);
}

static bool nobody_is_left_to_reap(pid_t pid)
{
	(void)pid;
	return ending_threads_count() == 0;
}

// The others stand while it still ends.
static int freeze_the_others(void)
{
	struct frozen_process process;
	unsigned ending;
	bool too_soon;

	must(threads_freeze(held_process(target.pid), 2000, &process));
	CHECK_EQUAL(process.count, 1);
	CHECK(process.threads[0].tid != target.ending);
	ending = ending_threads_count();
	// A main thread is counted until the others end, if it was seized before it ended.
	too_soon = is_gone(target.pid) || (ending == 0 && has_ended(target.pid));
	CHECK(too_soon || ending == 1);
	must(threads_thaw(&process));
	return too_soon && CHECK_RESULT() == 0 ? ENDED_TOO_SOON : CHECK_RESULT();
}

// How long that takes is the kernel's: it is not measured.
static void wait_for_end(pid_t pid)
{
	while (!has_ended(pid))
		nap(1);
}

// And the tool, which does something else now, reaps it when it is dead: a main thread only with the last of the
// others, which is ended here.
static int freeze_and_reap(void)
{
	const int others = freeze_the_others();

	if (others == ENDED_TOO_SOON)
		return others;
	CHECK_EQUAL(others, 0);
	if (target.ending == target.pid)
		kill(target.pid, SIGKILL);
	wait_for_end(target.pid);
	CHECK(wait_until(nobody_is_left_to_reap, target.pid));
	CHECK(target.ending == target.pid || is_gone(target.pid));
	return CHECK_RESULT();
}

// And the tool is told of stops still: who follows threads waits for that (lib/run_signals.c).
static int be_told_of_stops(void)
{
	const struct timespec most = { .tv_sec = 60 };
	const int others = freeze_the_others();
	sigset_t child;
	pid_t pid;

	if (others == ENDED_TOO_SOON)
		return others;
	CHECK_EQUAL(others, 0);
	wait_for_end(target.pid); // that too would be told
	CHECK_EQUAL(ending_threads_count(), 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = fork();
	if (pid == 0)
		wait_for_ever(NULL);
	CHECK_EQUAL(ptrace_seize(pid, 0), 0);
	kill(pid, SIGUSR1);
	CHECK_EQUAL(sigtimedwait(&child, NULL, &most), SIGCHLD);
	kill(pid, SIGKILL);
	return CHECK_RESULT();
}

static bool ends_or_has_ended(pid_t pid) { return ends(pid) || has_ended(pid); }

// Runs the tool on a target, with more sockets until it does not come too late.
static void run_in_time(int (*tool)(void), bool of_main_thread, bool slowly, bool ends_before)
{
	int status;

	sockets = FEWEST_SOCKETS;
	do {
		start_target(of_main_thread, slowly);
		if (ends_before) {
			CHECK_EQUAL(write(target.may_end, "x", 1), 1);
			CHECK(wait_until(ends_or_has_ended, target.pid));
		}
		status = run_as_tool(tool);
		end_target();
		sockets *= 4;
	} while (slowly && status == ENDED_TOO_SOON && sockets <= MOST_SOCKETS);
	CHECK_EQUAL(status, 0);
}

static void test_slow_end(bool of_main_thread) { run_in_time(freeze_and_reap, of_main_thread, true, true); }

static void test_stops_are_told(void) { run_in_time(be_told_of_stops, true, true, true); }

static int freeze_amid_end(void)
{
	target.ends_at_interrupt = true;
	return freeze_and_reap();
}

static void test_end_after_seize(bool of_main_thread, bool slowly)
{
	run_in_time(freeze_amid_end, of_main_thread, slowly, false);
}

static int run_all(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));

	test_end_after_seize(true, false);
	if (fd < 0) {
		CHECK_LEFT_OUT("no packet sockets here, so no threads that end slowly");
		return CHECK_RESULT();
	}
	close(fd);
	test_slow_end(false);
	test_slow_end(true);
	test_stops_are_told();
	test_end_after_seize(false, true);
	test_end_after_seize(true, true);
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
