// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/pidfd_lock.h"

#include "attach/guard/lock_list.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/proc_status.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PID_FS_MAGIC_NUMBER 0x50494446 // PID_FS_MAGIC in linux/magic.h, which older headers lack

// One of its own: what the lock belongs to is the opening. -1: none, or of a kernel where all pidfds are one file.
static int open_pidfd(const struct process *process)
{
	int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct statfs system;

	// the number was looked up again, and stood for the same process if that is there still
	if (fd >= 0 &&
	    (!process_is_there(process) || fstatfs(fd, &system) < 0 || system.f_type != PID_FS_MAGIC_NUMBER)) {
		close(fd);
		return -1;
	}
	return fd;
}

// Judged by the real user: a user who executes a set-user-ID program keeps theirs.
static bool may_hold(pid_t holder, const struct process *process)
{
	HS_CLEANUP_PROCESS struct process other = PROCESS_CLOSED;
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_glance(holder, &other);
	struct stat target;
	unsigned uids[3];

	if (!error)
		error = process_read_file(&other, "status", &status, NULL);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	return fstat(process->folder, &target) == 0 && proc_status_ids(status, "Uid:", uids) &&
	       (uids[0] == 0 || uids[0] == geteuid() || uids[0] == target.st_uid);
}

struct rival {
	const struct process *process;
	pid_t self, holder; // 0 = none
};

static bool note_rival(const struct listed_lock *lock, void *context)
{
	struct rival *rival = context;

	if (lock->is_flock && lock->pid > 0 && lock->pid != rival->self && may_hold(lock->pid, rival->process))
		rival->holder = lock->pid;
	return rival->holder == 0;
}

// 0: there is none, or *failed_ret says why it is not known.
static pid_t find_rival(const struct process *process, int fd, pid_t self, int *failed_ret)
{
	struct rival rival = { .process = process, .self = self };
	struct stat file;

	*failed_ret = fstat(fd, &file) < 0 ? errno : lock_list_read(&file, note_rival, &rival);
	return rival.holder;
}

pid_t pidfd_lock_take(const struct process *process, pid_t self, int *fd_ret)
{
	int fd = open_pidfd(process), failed;
	pid_t holder;

	*fd_ret = fd;
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	// Beside another user's shared lock, before the others are looked for: of two tools one sees the other.
	(void)flock(fd, LOCK_SH | LOCK_NB);
	holder = find_rival(process, fd, self, &failed);
	// Somebody who has no say, or is not seen, or hides in a long list: nobody may keep the tool out by that.
	if (!holder && failed)
		hs_verbose("cannot tell whether a heapsnap that sees another /proc is working on process %d: %s",
			   (int)process->pid,
			   failed == ETIME ? "/proc/locks is too long" : "/proc/locks cannot be read");
	return holder;
}

pid_t pidfd_lock_rival(const struct process *process, pid_t self)
{
	HS_CLEANUP_CLOSE int fd = open_pidfd(process);
	int failed;

	return fd >= 0 ? find_rival(process, fd, self, &failed) : 0;
}
