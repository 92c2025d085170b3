// SPDX-License-Identifier: Apache-2.0
#include "attach/kernel_workers.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// include/linux/sched.h. Before Linux 5.12 and 6.4 the bits meant something else; so the name is compared as well.
#define PF_IO_WORKER 0x10u
#define PF_USER_WORKER 0x4000u

bool stat_is_of_kernel_worker(const char *text)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	unsigned flags;

	// Fields 2 (name) and 9 (flags); proc_pid_stat(5)
	if (!name || !end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		return false;
	return ((flags & PF_IO_WORKER) && strncmp(name, "(iou-", 5) == 0) || ((flags & PF_USER_WORKER) && strncmp(name, "(vhost-", 7) == 0);
}

static bool read_is_worker(pid_t pid, pid_t tid, bool *known_ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error;
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	error = hs_read_file(path, 4096, &text, &size);
	*known_ret = !error;
	hs_error_destroy(error);
	return *known_ret && stat_is_of_kernel_worker(text);
}

static int compare(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

	return (a > b) - (a < b);
}

static void add(struct user_threads *threads, size_t *capacity, pid_t tid)
{
	if (threads->count == *capacity) {
		size_t more = *capacity ? 2 * *capacity : 64;
		pid_t *tids = realloc(threads->tids, more * sizeof(*tids));

		if (!tids)
			return;
		threads->tids = tids;
		*capacity = more;
	}
	threads->tids[threads->count++] = tid;
}

void user_threads_list(pid_t pid, struct user_threads *ret)
{
	size_t capacity = 0;
	DIR *directory;
	char path[64];

	*ret = (struct user_threads){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		bool known;

		if (tid > 0 && !read_is_worker(pid, tid, &known) && known)
			add(ret, &capacity, tid);
	}
	closedir(directory);
	if (ret->count > 0)
		qsort(ret->tids, ret->count, sizeof(*ret->tids), compare);
}

void user_threads_deinit(struct user_threads *threads)
{
	free(threads->tids);
	*threads = (struct user_threads){ 0 };
}

bool thread_is_kernel_worker(pid_t pid, pid_t tid, const struct user_threads *known)
{
	bool read;

	if (known->count > 0 && bsearch(&tid, known->tids, known->count, sizeof(tid), compare))
		return false;
	return read_is_worker(pid, tid, &read);
}
