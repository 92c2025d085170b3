// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/priority_boost.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

// us of a real-time priority without a wait; LEAST: twelve ticks of a kernel with HZ=250, which counts this time in
// ticks.
enum { LONGEST_AT_ONCE = 200000, LEAST = 50000 };

// Steps of nice(2) above its own while others are waited for; each is 1.25 times the share of a processor.
enum { WAITING_STEPS = 4 };

static volatile sig_atomic_t raised, fell_back;
static struct {
	bool is_nice_known;
	int nice_value;
	bool is_kept; // of the first priority_boost_raise of this standstill:
	struct rlimit limit;
	struct sigaction action;
} before;

static void set_nice(int nice_value)
{
	if (before.is_nice_known)
		setpriority(PRIO_PROCESS, 0, nice_value); // allowed or not; what is too high is the highest
}

void priority_boost_begin(void)
{
	errno = 0;
	before.nice_value = getpriority(PRIO_PROCESS, 0);
	before.is_nice_known = errno == 0;
	set_nice(before.nice_value - WAITING_STEPS);
}

// Without CAP_SYS_NICE the flag SCHED_RESET_ON_FORK cannot be cleared again (sched(7)): then it stays, and does nothing
// but for children's priority.
static void fall_back(int signal)
{
	const struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_OTHER, &none) < 0)
		sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
	raised = 0;
	fell_back = fell_back || signal; // the kernel has moved the soft limit up with the signal, and goes on counting
}

uint64_t priority_boost_longest(const struct rlimit *limit)
{
	uint64_t longest = LONGEST_AT_ONCE;

	if (limit->rlim_cur < longest)
		longest = limit->rlim_cur;
	if (limit->rlim_max / 2 < longest) // RLIM_INFINITY is the largest number
		longest = limit->rlim_max / 2;
	return longest < LEAST ? 0 : longest;
}

// False: it cannot be limited, and there is no real-time priority.
static bool limit_time(void)
{
	struct sigaction action = { .sa_handler = fall_back, .sa_flags = SA_RESTART };
	struct rlimit limit;

	if (getrlimit(RLIMIT_RTTIME, &before.limit) < 0)
		return false;
	limit = before.limit;
	limit.rlim_cur = priority_boost_longest(&limit);
	if (limit.rlim_cur == 0)
		return false;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGXCPU, &action, &before.action) < 0)
		return false;
	before.is_kept = setrlimit(RLIMIT_RTTIME, &limit) == 0;
	if (!before.is_kept)
		sigaction(SIGXCPU, &before.action, NULL);
	return before.is_kept;
}

void priority_boost_raise(void)
{
	const struct sched_param lowest = { .sched_priority = 1 };

	set_nice(HS_HIGHEST_PRIORITY);
	if (raised || fell_back || (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
		return;
	if (before.is_kept || limit_time())
		raised = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
}

void priority_boost_lower(void)
{
	if (raised)
		fall_back(0);
	set_nice(before.nice_value - WAITING_STEPS);
}

void priority_boost_end(void)
{
	priority_boost_lower();
	if (before.is_kept) {
		setrlimit(RLIMIT_RTTIME, &before.limit);
		sigaction(SIGXCPU, &before.action, NULL);
		before.is_kept = false;
	}
	fell_back = 0;
	set_nice(before.nice_value);
}
