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
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// To close one takes the kernel some milliseconds (packet_release in net/packet/af_packet.c waits for an RCU grace
// period).
#define SLOW_DESCRIPTORS 200

static struct {
	pid_t pid, ending; // the process; its thread that ends when it is told to
	int may_end;       // a byte is written here, and it does
	bool ends_at_interrupt;
} target;

struct hs_error *__real_ptrace_interrupt(pid_t tid);
struct hs_error *__wrap_ptrace_interrupt(pid_t tid);

static bool ends(pid_t pid) { return thread_is_ending(held_process(pid), target.ending); }

static bool is_gone(pid_t pid) { return thread_state(held_process(pid), target.ending) == 'X'; }

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
	for (int i = 0; order->slowly && i < SLOW_DESCRIPTORS; i++)
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

	must(threads_freeze(held_process(target.pid), 2000, &process));
	CHECK_EQUAL(process.count, 1);
	CHECK(process.threads[0].tid != target.ending);
	CHECK(!is_gone(target.pid));
	CHECK_EQUAL(ending_threads_count(), 1);
	must(threads_thaw(&process));
	return CHECK_RESULT();
}

// And the tool, which does something else now, reaps it when it is dead: a main thread only with the last of the
// others, which is ended here.
static int freeze_and_reap(void)
{
	CHECK_EQUAL(freeze_the_others(), 0);
	if (target.ending == target.pid)
		kill(target.pid, SIGKILL);
	CHECK(wait_until(nobody_is_left_to_reap, target.pid) || wait_until(nobody_is_left_to_reap, target.pid));
	CHECK(target.ending == target.pid || is_gone(target.pid));
	return CHECK_RESULT();
}

static void test_slow_end(bool of_main_thread)
{
	start_target(of_main_thread, true);
	CHECK_EQUAL(write(target.may_end, "x", 1), 1);
	CHECK(wait_until(ends, target.pid));
	CHECK_EQUAL(run_as_tool(freeze_and_reap), 0);
	end_target();
}

static int freeze_amid_end(void)
{
	target.ends_at_interrupt = true;
	return freeze_and_reap();
}

static void test_end_after_seize(bool of_main_thread, bool slowly)
{
	start_target(of_main_thread, slowly);
	CHECK_EQUAL(run_as_tool(freeze_amid_end), 0);
	end_target();
}

int main(void)
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
	test_end_after_seize(false, true);
	test_end_after_seize(true, true);
	return CHECK_RESULT();
}
