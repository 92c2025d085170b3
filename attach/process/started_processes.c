// SPDX-License-Identifier: Apache-2.0
#include "attach/process/started_processes.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

// More are not counted, and threads beyond that not looked at: there are at least so many.
enum { SEEN_MOST = 100000, THREADS_MOST = 64, CHILDREN_FAULTS = 9 };

void started_processes_note(struct started_processes *started, pid_t pid)
{
	if (started->seen.count < SEEN_MOST && !pid_set_has(&started->seen, pid))
		(void)!pid_set_add(&started->seen, pid);
}

// Of one thread. A kernel without CONFIG_PROC_CHILDREN has no such file.
static void look_at_thread(struct started_processes *started, const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "children", &text, NULL);
	const char *place = text;

	hs_error_destroy(error); // it has ended, or there are very many
	while (!error && *place) {
		char *end;
		const long pid = strtol(place, &end, 10);

		if (end == place)
			return;
		if (pid > 0 && pid < INT32_MAX)
			started_processes_note(started, (pid_t)pid);
		place = end + strspn(end, " \n");
	}
}

// Page faults of children that were waited for: whatever runs has some (proc(5), /proc/PID/stat, cminflt).
static bool has_waited_for_any(const struct process *process)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "stat", &text, NULL);
	const char *field = error ? NULL : strrchr(text, ')');

	hs_error_destroy(error);
	for (int i = 0; field && i < CHILDREN_FAULTS; i++)
		field = strchr(field + 1, ' ');
	return field && strtoull(field + 1, NULL, 10) > 0;
}

void started_processes_look(struct started_processes *started, const struct process *process)
{
	struct thread_walk walk;
	unsigned threads = 0;

	started->was_any |= has_waited_for_any(process);
	if (!thread_walk_begin(process, &walk))
		return;
	for (pid_t tid; threads < THREADS_MOST && (tid = thread_walk_next(&walk)); threads++)
		look_at_thread(started, process, tid);
	thread_walk_end(&walk);
}

size_t started_processes_count(const struct started_processes *started)
{
	return started->seen.count ? started->seen.count : started->was_any;
}

void started_processes_deinit(struct started_processes *started)
{
	pid_set_deinit(&started->seen);
	*started = (struct started_processes){ 0 };
}
