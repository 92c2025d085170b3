// SPDX-License-Identifier: Apache-2.0
#include "attach/urgency.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

enum { HIGHEST_PRIORITY = -20 }; // setpriority(2)

enum { LONGEST_AT_ONCE = 200000 }; // us of a real-time priority without a wait

static volatile sig_atomic_t raised;

int urgency_begin(void)
{
	int nice_value;

	errno = 0;
	nice_value = getpriority(PRIO_PROCESS, 0);
	if (nice_value == -1 && errno != 0)
		return HIGHEST_PRIORITY; // unknown: nothing is changed, and giving back changes nothing either
	setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY);
	return nice_value;
}

static void fall_back(int signal)
{
	const struct sched_param none = { 0 };

	(void)signal;
	sched_setscheduler(0, SCHED_OTHER, &none);
	raised = 0;
}

void urgency_raise(void)
{
	const struct sched_param lowest = { .sched_priority = 1 };
	struct sigaction action = { .sa_handler = fall_back, .sa_flags = SA_RESTART };
	struct rlimit limit;

	if (raised || sched_getscheduler(0) != SCHED_OTHER || getrlimit(RLIMIT_RTTIME, &limit) < 0)
		return;
	sigemptyset(&action.sa_mask);
	if (limit.rlim_cur > LONGEST_AT_ONCE)
		limit.rlim_cur = LONGEST_AT_ONCE;
	if (sigaction(SIGXCPU, &action, NULL) == 0 && setrlimit(RLIMIT_RTTIME, &limit) == 0)
		raised = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
}

void urgency_lower(void)
{
	if (raised)
		fall_back(0);
}

void urgency_end(int nice_value)
{
	urgency_lower();
	if (nice_value != HIGHEST_PRIORITY)
		setpriority(PRIO_PROCESS, 0, nice_value); // always allowed: downwards, or not at all
}
