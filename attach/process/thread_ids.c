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

// Calls `take` with the status of each thread.
static void take_all(const struct process *process, void (*take)(pid_t tid, const char *status, void *context),
		     void *context)
{
	struct thread_walk walk;

	if (!thread_walk_begin(process, &walk))
		return;
	for (pid_t tid; (tid = thread_walk_next(&walk));) {
		HS_CLEANUP_FREE char *text = thread_status(process, tid);

		if (text)
			take(tid, text, context);
	}
	thread_walk_end(&walk);
}

struct masks {
	uint64_t digest;
	uint32_t count;
};

static void add_mask(pid_t tid, const char *status, void *context)
{
	const uint64_t mask = proc_status_number(status, "SigBlk:", 16, 0);
	struct masks *masks = context;

	masks->count++;
	masks->digest += (mask + 1) * UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)tid;
}

uint64_t thread_masks_digest(const struct process *process, uint32_t *count_ret)
{
	struct masks masks = { 0 };

	take_all(process, add_mask, &masks);
	*count_ret = masks.count;
	return masks.digest;
}

struct tracing {
	const struct process *process;
	size_t threads, untraced;
};

static void add_tracing(pid_t tid, const char *status, void *context)
{
	struct tracing *tracing = context;

	tracing->threads++;
	tracing->untraced +=
		proc_status_number(status, "TracerPid:", 10, 1) == 0 || thread_is_ending(tracing->process, tid);
}

bool threads_are_untraced(const struct process *process)
{
	struct tracing tracing = { .process = process };

	take_all(process, add_tracing, &tracing);
	return tracing.threads > 0 && tracing.untraced == tracing.threads;
}
