// SPDX-License-Identifier: Apache-2.0
#include "attach/process/thread_ids.h"

#include "attach/process/thread_facts.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc_file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static char *thread_status(pid_t pid, pid_t tid)
{
	char *text = NULL;
	struct hs_error *error = hs_read_task_file(pid, tid, "status", &text, NULL);

	hs_error_destroy(error);
	return error ? NULL : text;
}

uint32_t thread_id_inside(pid_t pid, pid_t tid)
{
	HS_CLEANUP_FREE char *text = thread_status(pid, tid);
	const char *line = text ? strstr(text, "\nNSpid:") : NULL;
	const char *end = line ? strchr(line + 1, '\n') : NULL;

	if (!end)
		return 0;
	while (end > line && end[-1] >= '0' && end[-1] <= '9') // the innermost namespace's id is the last
		end--;
	return (uint32_t)strtoul(end, NULL, 10);
}

// Calls `take` with the status of each thread.
static void take_all(pid_t pid, void (*take)(pid_t tid, const char *status, void *context), void *context)
{
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_error *error = hs_format(&path, "/proc/%d/task", pid);
	DIR *directory = error ? NULL : opendir(path);

	hs_error_destroy(error);
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		HS_CLEANUP_FREE char *text = tid > 0 ? thread_status(pid, tid) : NULL;

		if (text)
			take(tid, text, context);
	}
	closedir(directory);
}

struct masks {
	uint64_t digest;
	uint32_t count;
};

static void add_mask(pid_t tid, const char *status, void *context)
{
	const char *line = strstr(status, "\nSigBlk:");
	struct masks *masks = context;
	uint64_t mask;

	if (!line)
		return;
	mask = strtoull(line + strlen("\nSigBlk:"), NULL, 16);
	masks->count++;
	masks->digest += (mask + 1) * UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)tid;
}

uint64_t thread_masks_digest(pid_t pid, uint32_t *count_ret)
{
	struct masks masks = { 0 };

	take_all(pid, add_mask, &masks);
	*count_ret = masks.count;
	return masks.digest;
}

struct tracing {
	pid_t pid;
	size_t threads, untraced;
};

static void add_tracing(pid_t tid, const char *status, void *context)
{
	struct tracing *tracing = context;

	tracing->threads++;
	tracing->untraced += strstr(status, "\nTracerPid:\t0\n") || thread_is_ending(tracing->pid, tid);
}

bool threads_are_untraced(pid_t pid)
{
	struct tracing tracing = { .pid = pid };

	take_all(pid, add_tracing, &tracing);
	return tracing.threads > 0 && tracing.untraced == tracing.threads;
}
