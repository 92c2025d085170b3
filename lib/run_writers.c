// SPDX-License-Identifier: Apache-2.0
#include "lib/run_writers.h"

#include "attach/process/target.h"
#include "base/log.h"

#include <errno.h>
#include <signal.h>
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
	if (pid < 0) {
		hs_warn("no profile of process %d: no process can be started that writes it", (int)of->pid);
		writers->done.failed++;
	}
	writers->newest = -1;
	for (int i = 0; i < RUN_WRITERS_MOST && pid > 0; i++) {
		if (writers->pids[i])
			continue;
		writers->pids[i] = pid;
		writers->newest = i;
		break;
	}
	if (pid != 0)
		return false;
	run_signals_of_writer(signals);
	target_is_followed_by((uint32_t)tool);
	return true;
}

void run_written_add(struct hs_run_written *written, int status)
{
	const int how = WIFEXITED(status) ? WEXITSTATUS(status) : HS_RUN_FAILED;

	written->whole += how == HS_RUN_WROTE;
	written->incomplete += how == HS_RUN_WROTE_INCOMPLETE;
	written->failed += how != HS_RUN_WROTE && how != HS_RUN_WROTE_INCOMPLETE && how != HS_RUN_TOOK_NONE;
}

void run_writers_kill(struct run_writers *writers, int place)
{
	pid_t *pid = &writers->pids[place];

	if (*pid == 0)
		return; // it has ended
	kill(*pid, SIGKILL);
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
}

void run_writers_reap(struct run_writers *writers)
{
	for (int i = 0; i < RUN_WRITERS_MOST; i++) {
		int status = W_EXITCODE(HS_RUN_FAILED, 0);
		pid_t found;

		if (!writers->pids[i])
			continue;
		do
			found = waitpid(writers->pids[i], &status, WNOHANG);
		while (found < 0 && errno == EINTR);
		if (found == 0)
			continue;
		run_written_add(&writers->done, status);
		writers->pids[i] = 0;
	}
}
