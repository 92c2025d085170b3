// SPDX-License-Identifier: Apache-2.0
// A child that has ended, and that no process has waited for: it has its number, and nothing else.
#ifndef HEAPSNAP_TEST_ENDED_CHILD_H
#define HEAPSNAP_TEST_ENDED_CHILD_H

#include "check.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static inline pid_t ended_child_start(void)
{
	const pid_t pid = fork();
	siginfo_t info;

	if (pid < 0)
		_exit(2);
	if (pid == 0)
		_exit(0);
	CHECK_EQUAL(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

static inline void ended_child_reap(pid_t pid) { waitpid(pid, NULL, 0); }

#endif
