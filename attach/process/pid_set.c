// SPDX-License-Identifier: Apache-2.0
#include "attach/process/pid_set.h"

#include "base/array.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

	return (a > b) - (a < b);
}

static void add(struct pid_set *set, size_t *room, pid_t pid)
{
	if (!ARRAY_RESERVE(set->pids, set->count + 1, room))
		set->pids[set->count++] = pid;
}

void pid_set_list(const char *directory, bool (*include)(pid_t, void *), void *context, struct pid_set *ret)
{
	DIR *stream = opendir(directory);
	size_t room = 0;

	*ret = (struct pid_set){ 0 };
	if (!stream)
		return;
	for (struct dirent *entry; (entry = readdir(stream));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10); // 0 for all that is no number

		if (pid > 0 && include(pid, context))
			add(ret, &room, pid);
	}
	closedir(stream);
	if (ret->count > 0)
		qsort(ret->pids, ret->count, sizeof(*ret->pids), compare);
}

pid_t pid_first_thread(pid_t pid, bool (*passes)(pid_t, void *), void *context)
{
	char path[64];
	pid_t found = 0;
	DIR *stream;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	stream = opendir(path);
	if (!stream)
		return 0;
	for (struct dirent *entry; !found && (entry = readdir(stream));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && passes(tid, context))
			found = tid;
	}
	closedir(stream);
	return found;
}

void pid_set_deinit(struct pid_set *set)
{
	free(set->pids);
	*set = (struct pid_set){ 0 };
}

bool pid_set_has(const struct pid_set *set, pid_t pid)
{
	return set->count > 0 && bsearch(&pid, set->pids, set->count, sizeof(pid), compare);
}
