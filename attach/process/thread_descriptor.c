// SPDX-License-Identifier: Apache-2.0
#include "attach/process/thread_descriptor.h"

#include "attach/guard/task_compare.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL // since Linux 6.9
#endif

// A pidfd is opened by a number. It was of the process's thread if the thread is there afterwards, and the pidfd still
// stands for a task then, as it does if a descriptor can be taken by it: a task keeps its number as long as it has one.
// -1 with errno.
static int open_pidfd(const struct process *process, pid_t tid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);

	if (pidfd >= 0 && !process_has_thread(process, tid)) {
		close(pidfd);
		pidfd = -1;
		errno = ESRCH;
	}
	return pidfd;
}

// pidfd_getfd takes it out of the table of the very task that the pidfd stands for (__pidfd_fget in kernel/pid.c): of
// the main thread for that of a process. -1 with errno.
static int take_by_pidfd(const struct process *process, pid_t tid, int64_t number)
{
	const bool is_held = tid == process->pid && process->pidfd >= 0;
	HS_CLEANUP_CLOSE int opened = is_held ? -1 : open_pidfd(process, tid); // before Linux 6.9: EINVAL
	const int pidfd = is_held ? process->pidfd : opened;

	return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, (int)number, 0);
}

struct hs_error *thread_descriptor_take(const struct process *process, pid_t tid, int64_t number, int *fd_ret)
{
	char path[32];
	int fd;

	if (number < 0 || number > INT32_MAX)
		return hs_error_create(HS_ERROR_NOT_FOUND, "thread %d has no descriptor %" PRId64, (int)tid, number);
	fd = take_by_pidfd(process, tid, number);
	if (fd < 0 && errno != EBADF) {
		snprintf(path, sizeof(path), "fd/%" PRId64, number);
		fd = process_openat_task(process, tid, path, O_PATH);
	}
	if (fd < 0 && (errno == EBADF || errno == ENOENT))
		return hs_error_create(HS_ERROR_NOT_FOUND, "thread %d has no descriptor %" PRId64, (int)tid, number);
	if (fd < 0)
		return hs_error_system(errno, "cannot take descriptor %" PRId64 " of thread %d", number, (int)tid);
	*fd_ret = fd;
	return NULL;
}

long descriptor_tables_compare(pid_t tid, pid_t other_tid) { return task_compare(tid, other_tid, KCMP_FILES); }

bool descriptor_table_exists(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "status", &status, NULL);

	hs_error_destroy(error);
	return !error && proc_status_number(status, "FDSize:", 10, 0) != 0; // task_state in fs/proc/array.c
}

bool descriptor_table_is_shared(pid_t tid, pid_t other_tid)
{
	return tid == other_tid || descriptor_tables_compare(tid, other_tid) == 0;
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

static void list_tables(const struct process *process, struct descriptor_tables *ret)
{
	const pid_t first = process_live_thread(process);
	size_t kept = 1, room = 0;
	struct thread_walk walk;

	*ret = (struct descriptor_tables){ 0 };
	add_thread(ret, &room, first);
	if (!thread_walk_begin(process, &walk))
		return;
	for (pid_t tid; (tid = thread_walk_next(&walk));)
		if (tid != first && descriptor_tables_compare(first, tid) > 0 && descriptor_table_exists(process, tid))
			add_thread(ret, &room, tid);
	thread_walk_end(&walk);
	if (ret->count < 2)
		return;
	qsort(ret->tids + 1, ret->count - 1, sizeof(*ret->tids), order_of_tables);
	for (size_t i = 1; i < ret->count; i++)
		if (kept == 1 || descriptor_tables_compare(ret->tids[kept - 1], ret->tids[i]) != 0)
			ret->tids[kept++] = ret->tids[i];
	ret->count = kept;
}

struct hs_error *descriptor_tables_list(const struct process *process, struct descriptor_tables *ret)
{
	struct hs_error *error;

	task_compare_forget();
	list_tables(process, ret);
	error = task_compare_check(process->pid);
	if (!error && ret->count == 0)
		error = &hs_error_no_memory;
	if (error)
		descriptor_tables_deinit(ret);
	return error;
}

void descriptor_tables_deinit(struct descriptor_tables *tables)
{
	free(tables->tids);
	*tables = (struct descriptor_tables){ 0 };
}
