// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/freeze_error.h"

#include "attach/process/thread_facts.h"
#include "base/cleanup.h"

#include <string.h>

struct hs_error *freeze_error_stuck(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *channel = NULL;
	char state = thread_state(process, tid);
	struct hs_error *error = process_read_task_file(process, tid, "wchan", &channel, NULL);

	hs_error_destroy(error);
	return hs_error_create(HS_ERROR_TIMEOUT,
			       "thread %d of process %d did not stop in time (state %c, waits in %s); try again later",
			       (int)tid, (int)process->pid, state,
			       channel && channel[0] && strcmp(channel, "0") != 0 ? channel : "user code");
}

struct hs_error *freeze_error_exec(const struct process *process)
{
	return hs_error_create(HS_ERROR_GONE, "process %d has executed another program; try again", (int)process->pid);
}

struct hs_error *freeze_error_vfork(const struct process *process)
{
	return hs_error_create(HS_ERROR_REFUSED, "a thread of process %d has just made a child that shares its memory",
			       (int)process->pid);
}

struct hs_error *freeze_error_too_fast(const struct process *process)
{
	return hs_error_create(HS_ERROR_TIMEOUT,
			       "process %d starts threads faster than they can be stopped; try again later",
			       (int)process->pid);
}

struct hs_error *freeze_error_ends(const struct process *process)
{
	return hs_error_create(HS_ERROR_REFUSED, "process %d is about to end, or to execute another program",
			       (int)process->pid);
}
