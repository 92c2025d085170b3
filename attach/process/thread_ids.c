// SPDX-License-Identifier: Apache-2.0
#include "attach/process/thread_ids.h"

#include "attach/process/thread_facts.h"
#include "base/cleanup.h"
#include "base/proc_status.h"

#include <stdlib.h>
#include <string.h>

static char *thread_status(const struct process *process, pid_t tid)
{
	char *text = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "status", &text, NULL);

	hs_error_destroy(error);
	return error ? NULL : text;
}

uint32_t thread_id_inside(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *text = thread_status(process, tid);

	return text ? (uint32_t)proc_status_innermost_id(text) : 0;
}

struct threads_seen threads_see(const struct process *process)
{
	struct threads_seen seen = { 0 };
	struct thread_walk walk;
	uint32_t untraced = 0;

	if (!thread_walk_begin(process, &walk))
		return seen;
	for (pid_t tid; (tid = thread_walk_next(&walk));) {
		HS_CLEANUP_FREE char *status = thread_status(process, tid);

		if (!status)
			continue;
		seen.count++;
		seen.masks += (proc_status_number(status, "SigBlk:", 16, 0) + 1) * UINT64_C(0x9e3779b97f4a7c15) *
			      (uint64_t)tid;
		untraced += proc_status_number(status, "TracerPid:", 10, 1) == 0 || thread_is_ending(process, tid);
	}
	thread_walk_end(&walk);
	seen.is_untraced = seen.count > 0 && untraced == seen.count;
	return seen;
}
