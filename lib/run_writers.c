// SPDX-License-Identifier: Apache-2.0
#include "lib/run_writers.h"

#include "attach/process/target.h"
#include "base/log.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

bool run_writers_have_room(const struct run_writers *writers)
{
	for (int i = 0; i < RUN_WRITERS_MOST; i++)
		if (!writers->pids[i])
			return true;
	return false;
}

bool run_writers_are_busy(const struct run_writers *writers)
{
	for (int i = 0; i < RUN_WRITERS_MOST; i++)
		if (writers->pids[i])
			return true;
	return false;
}

bool run_writers_start(struct run_writers *writers, const struct run_signals *signals, const struct process *of)
{
	const pid_t tool = getpid();
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		hs_warn("no profile of process %d: no process can be started that writes it", (int)of->pid);
	for (int i = 0; i < RUN_WRITERS_MOST && pid > 0; i++) {
		if (writers->pids[i])
			continue;
		writers->pids[i] = pid;
		break;
	}
	if (pid != 0)
		return false;
	run_signals_of_writer(signals);
	target_is_followed_by((uint32_t)tool);
	return true;
}

void run_writers_reap(struct run_writers *writers)
{
	for (int i = 0; i < RUN_WRITERS_MOST; i++) {
		pid_t found;

		if (!writers->pids[i])
			continue;
		do
			found = waitpid(writers->pids[i], NULL, WNOHANG);
		while (found < 0 && errno == EINTR);
		if (found != 0)
			writers->pids[i] = 0;
	}
}
