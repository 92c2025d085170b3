// SPDX-License-Identifier: Apache-2.0
#include "attach/process/pid_set.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

	return (a > b) - (a < b);
}

static void add(struct pid_set *set, pid_t id)
{
	if (!ARRAY_RESERVE(set->pids, set->count + 1, &set->room))
		set->pids[set->count++] = id;
}

static void sort(struct pid_set *set)
{
	if (set->count > 0)
		qsort(set->pids, set->count, sizeof(*set->pids), compare);
}

void process_set_list(bool (*is_known)(pid_t pid, void *), bool (*include)(const struct process *, void *),
		      void *context, struct pid_set *ret)
{
	struct process_walk walk;

	*ret = (struct pid_set){ 0 };
	if (!process_walk_begin(&walk))
		return;
	for (pid_t pid; (pid = process_walk_next(&walk));) {
		HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;
		struct hs_error *error;

		if (is_known(pid, context))
			continue;
		error = process_glance(pid, &process);
		if (!error && include(&process, context))
			add(ret, process.pid);
		hs_error_destroy(error);
	}
	process_walk_end(&walk);
	sort(ret);
}

void thread_set_list(const struct process *process, bool (*include)(pid_t, const void *), const void *context,
		     struct pid_set *ret)
{
	struct thread_walk walk;

	*ret = (struct pid_set){ 0 };
	if (!thread_walk_begin(process, &walk))
		return;
	for (pid_t tid; (tid = thread_walk_next(&walk));)
		if (include(tid, context))
			add(ret, tid);
	thread_walk_end(&walk);
	sort(ret);
}

pid_t thread_first(const struct process *process, bool (*passes)(const struct process *, pid_t, const void *),
		   const void *context)
{
	struct thread_walk walk;
	pid_t found = 0;

	if (!thread_walk_begin(process, &walk))
		return 0;
	for (pid_t tid; !found && (tid = thread_walk_next(&walk));)
		if (passes(process, tid, context))
			found = tid;
	thread_walk_end(&walk);
	return found;
}

void pid_set_deinit(struct pid_set *set)
{
	free(set->pids);
	*set = (struct pid_set){ 0 };
}

bool pid_set_add(struct pid_set *set, pid_t id)
{
	size_t place = set->count;

	if (pid_set_has(set, id))
		return true;
	if (ARRAY_RESERVE(set->pids, set->count + 1, &set->room))
		return false;
	while (place > 0 && set->pids[place - 1] > id)
		place--;
	memmove(&set->pids[place + 1], &set->pids[place], (set->count - place) * sizeof(*set->pids));
	set->pids[place] = id;
	set->count++;
	return true;
}

const pid_t *pid_set_find(const struct pid_set *set, pid_t id)
{
	return set->count ? bsearch(&id, set->pids, set->count, sizeof(id), compare) : NULL;
}

bool pid_set_has(const struct pid_set *set, pid_t id) { return pid_set_find(set, id); }
