// SPDX-License-Identifier: Apache-2.0
// The tool's priority: of the real-time ones under limits of its time (RLIMIT_RTTIME) never one under which the kernel
// would kill it, and of the ordinary ones none that keeps those from a processor for whom it waits.
#include "attach/guard/priority_boost.h"
#include "check.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_longest(void)
{
	static const struct {
		rlim_t soft, hard;
		uint64_t expected;
	} cases[] = {
		{ RLIM_INFINITY, RLIM_INFINITY, 200000 },
		{ 200001, RLIM_INFINITY, 200000 },
		{ 150000, RLIM_INFINITY, 150000 }, // the user's own
		{ 49999, RLIM_INFINITY, 0 },
		{ 0, RLIM_INFINITY, 0 },
		{ 1000000, 1000000, 200000 },
		{ 400000, 400000, 200000 },
		{ 399998, 399998, 199999 }, // at the hard limit the kernel kills, also where the soft one is the same
		{ 200000, 200000, 100000 },
		{ 60000, 200000, 60000 },
		{ 100000, 100000, 50000 },
		{ 99999, 99999, 0 },
		{ 20000, 20000, 0 },
		{ 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rlimit limit = { cases[i].soft, cases[i].hard };

		CHECK_EQUAL(priority_boost_longest(&limit), cases[i].expected);
	}
}

// In a process of its own: a hard limit cannot be raised again by everybody. Its status says what does not hold.
static int run_under(rlim_t hard, rlim_t soft_meanwhile)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct rlimit limit = { hard, hard };
		bool has_limit;

		if (setrlimit(RLIMIT_RTTIME, &limit) != 0)
			_exit(1);
		priority_boost_begin();
		priority_boost_raise();
		getrlimit(RLIMIT_RTTIME, &limit);
		has_limit = limit.rlim_cur == (soft_meanwhile ? soft_meanwhile : hard) && limit.rlim_max == hard;
		if (!has_limit)
			_exit(2);
		if (!soft_meanwhile && sched_getscheduler(0) != SCHED_OTHER)
			_exit(3);
		priority_boost_end();
		getrlimit(RLIMIT_RTTIME, &limit);
		_exit(limit.rlim_cur == hard && limit.rlim_max == hard && sched_getscheduler(0) == SCHED_OTHER ? 0 : 4);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_limits(void)
{
	CHECK_EQUAL(run_under(20000, 0), 0);
	CHECK_EQUAL(run_under(99999, 0), 0);
	CHECK_EQUAL(run_under(150000, 75000), 0);
	CHECK_EQUAL(run_under(1000000, 200000), 0);
}

// Whoever has fallen back does not go on from there in the same standstill: with its signal the kernel has moved the
// limit up, and the time counts on.
static void test_fallen_back(void)
{
	const int real_time = SCHED_FIFO | SCHED_RESET_ON_FORK;
	bool has_one;

	priority_boost_begin();
	priority_boost_raise();
	has_one = sched_getscheduler(0) == real_time;
	if (!has_one) {
		puts("no real-time priority to be had: falling back is not tried");
	} else {
		priority_boost_lower();
		CHECK_EQUAL(sched_getscheduler(0), SCHED_OTHER);
		priority_boost_raise();
		CHECK_EQUAL(sched_getscheduler(0), real_time);
		raise(SIGXCPU);
		CHECK_EQUAL(sched_getscheduler(0), SCHED_OTHER);
		priority_boost_raise();
		CHECK_EQUAL(sched_getscheduler(0), SCHED_OTHER);
	}
	priority_boost_end();
	priority_boost_begin();
	priority_boost_raise(); // the next standstill
	CHECK_EQUAL(sched_getscheduler(0) == real_time, has_one);
	priority_boost_end();
	CHECK_EQUAL(sched_getscheduler(0), SCHED_OTHER);
}

static int nice_value(void) { return getpriority(PRIO_PROCESS, 0); }

// While threads are waited for the tool is not far above them: those that share its session or cgroup would get no
// processor.
static void test_nice(void)
{
	const int own = nice_value(), waiting = own - 4 < -20 ? -20 : own - 4;

	priority_boost_begin();
	if (nice_value() == own) {
		puts("no higher priority to be had: its steps are not tried");
	} else {
		CHECK_EQUAL(nice_value(), waiting);
		priority_boost_raise();
		CHECK_EQUAL(nice_value(), -20);
		priority_boost_lower();
		CHECK_EQUAL(nice_value(), waiting);
		priority_boost_raise();
	}
	priority_boost_end();
	CHECK_EQUAL(nice_value(), own);
}

// Takes CAP_SYS_NICE away from the thread's effective capabilities, or gives it back.
static bool set_capability(bool has)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const uint32_t nice_bit = UINT32_C(1) << CAP_SYS_NICE;

	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	data[0].effective = has ? data[0].effective | nice_bit : data[0].effective & ~nice_bit;
	return syscall(SYS_capset, &header, data) == 0;
}

enum { NOT_TRIED = 77 };

// Who has a real-time priority without the capability (by RLIMIT_RTPRIO) may not clear SCHED_RESET_ON_FORK again, and
// gives it back all the same; and takes one again at the next stop.
static _Noreturn void be_without_capability(void)
{
	const int real_time = SCHED_FIFO | SCHED_RESET_ON_FORK;

	for (int i = 0; i < 2; i++) {
		priority_boost_begin();
		priority_boost_raise();
		if (sched_getscheduler(0) != real_time || !set_capability(false))
			_exit(i == 0 ? NOT_TRIED : 1);
		priority_boost_lower();
		if (sched_getscheduler(0) != (SCHED_OTHER | SCHED_RESET_ON_FORK))
			_exit(2);
		priority_boost_end();
		if (!set_capability(true))
			_exit(3);
	}
	_exit(0);
}

static void test_without_capability(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		be_without_capability();
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_TRIED)
		puts("no real-time priority to be had: giving it back without the capability is not tried");
	else
		CHECK_EQUAL(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

int main(void)
{
	test_without_capability();
	test_longest();
	test_limits();
	test_fallen_back();
	test_nice();
	return CHECK_RESULT();
}
