// SPDX-License-Identifier: Apache-2.0
#include "attach/process/thread_descriptor.h"

#include "attach/process/target_access.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/live_thread.h"
#include "base/proc_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL // since Linux 6.9
#endif

// pidfd_getfd takes it out of the table of the very task that the pidfd stands for (__pidfd_fget in kernel/pid.c). -1
// with errno.
static int take_by_pidfd(pid_t pid, pid_t tid, int64_t number)
{
	HS_CLEANUP_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);

	// Before 6.9 only the main thread has one.
	if (pidfd < 0 && errno == EINVAL && tid == pid)
		pidfd = (int)syscall(SYS_pidfd_open, tid, 0);
	return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, (int)number, 0);
}

struct hs_error *thread_descriptor_take(pid_t pid, pid_t tid, int64_t number, int *fd_ret)
{
	char path[80];
	int fd;

	if (number < 0 || number > INT32_MAX)
		return hs_error_create(HS_ERROR_NOT_FOUND, "thread %d has no descriptor %" PRId64, (int)tid, number);
	fd = take_by_pidfd(pid, tid, number);
	if (fd < 0 && errno != EBADF) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%" PRId64, (int)pid, (int)tid, number);
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	if (fd < 0 && (errno == EBADF || errno == ENOENT))
		return hs_error_create(HS_ERROR_NOT_FOUND, "thread %d has no descriptor %" PRId64, (int)tid, number);
	if (fd < 0)
		return hs_error_system(errno, "cannot take descriptor %" PRId64 " of thread %d", number, (int)tid);
	*fd_ret = fd;
	return NULL;
}

long descriptor_tables_compare(pid_t one, pid_t other) { return syscall(SYS_kcmp, one, other, KCMP_FILES, 0, 0); }

bool descriptor_table_exists(pid_t pid, pid_t tid)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = hs_read_task_file(pid, tid, "status", &status, NULL);

	hs_error_destroy(error);
	return !error && status_number(status, "FDSize:", 10, 0) != 0; // task_state in fs/proc/array.c
}

bool descriptor_table_is_shared(pid_t one, pid_t other)
{
	return one == other || descriptor_tables_compare(one, other) == 0;
}

static int order_of_tables(const void *left, const void *right)
{
	long order = descriptor_tables_compare(*(const pid_t *)left, *(const pid_t *)right);

	return order == 1 ? -1 : order == 2 ? 1 : 0;
}

static void add_thread(struct descriptor_tables *tables, size_t *room, pid_t tid)
{
	if (!ARRAY_RESERVE(tables->tids, tables->count + 1, room))
		tables->tids[tables->count++] = tid;
}

void descriptor_tables_list(pid_t pid, struct descriptor_tables *ret)
{
	pid_t first = hs_live_thread(pid);
	size_t kept = 1, room = 0;
	DIR *directory;
	char path[64];

	*ret = (struct descriptor_tables){ 0 };
	add_thread(ret, &room, first);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && tid != first && descriptor_tables_compare(first, tid) > 0 &&
		    descriptor_table_exists(pid, tid))
			add_thread(ret, &room, tid);
	}
	if (directory)
		closedir(directory);
	if (ret->count < 2)
		return;
	qsort(ret->tids + 1, ret->count - 1, sizeof(*ret->tids), order_of_tables);
	for (size_t i = 1; i < ret->count; i++)
		if (kept == 1 || descriptor_tables_compare(ret->tids[kept - 1], ret->tids[i]) != 0)
			ret->tids[kept++] = ret->tids[i];
	ret->count = kept;
}

void descriptor_tables_deinit(struct descriptor_tables *tables)
{
	free(tables->tids);
	*tables = (struct descriptor_tables){ 0 };
}
