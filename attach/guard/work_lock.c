// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/work_lock.h"

#include "attach/guard/interrupt.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define PID_FS_MAGIC_NUMBER 0x50494446 // PID_FS_MAGIC in linux/magic.h, which older headers lack

enum { DUMP_WAIT_MS = 30000, PAUSE_MS = 10, NAME_WAIT_MS = 100 };

static const char *const names[] = {
#define X(name) #name,
	HS_WORKS(X)
#undef X
};

int64_t work_lock_byte(enum work work, pid_t holder) { return ((int64_t)work + 1) << 32 | (int64_t)holder; }

bool work_lock_read_byte(int64_t byte, enum work *work_ret, pid_t *holder_ret)
{
	int64_t work = (byte >> 32) - 1, holder = byte & 0xffffffff;

	if (work < 0 || work >= WORK_COUNT || holder <= 0 || holder > INT32_MAX)
		return false;
	*work_ret = (enum work)work;
	*holder_ret = (pid_t)holder;
	return true;
}

// As the ids in the paths of this /proc are; getpid says what it is in the tool's own PID namespace.
static pid_t own_pid(void)
{
	char text[32];
	ssize_t size = readlink("/proc/self", text, sizeof(text) - 1);

	if (size <= 0)
		return getpid();
	text[size] = 0;
	return (pid_t)strtol(text, NULL, 10);
}

static void set_byte(int fd, short type, int64_t start, int64_t length)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length };

	(void)fcntl(fd, F_OFD_SETLK, &lock); // without it the message has no name
}

void work_lock_follow(const struct work_lock *lock)
{
	if (lock->fd < 0)
		return;
	set_byte(lock->fd, F_RDLCK, work_lock_byte(lock->work, own_pid()), 1);
	// What the parent has said, before and behind.
	set_byte(lock->fd, F_UNLCK, 0, work_lock_byte(lock->work, own_pid()));
	set_byte(lock->fd, F_UNLCK, work_lock_byte(lock->work, own_pid()) + 1, 0);
}

// Locks of this open file itself do not count.
static bool read_holder(int fd, enum work *work_ret, pid_t *holder_ret)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
	       work_lock_read_byte(lock.l_start, work_ret, holder_ret);
}

static int open_lock(const struct process *process) { return process_openat(process, "personality", O_RDONLY); }

static void pause_a_little(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

	nanosleep(&pause, NULL);
}

static struct hs_error *refuse(const struct process *process, bool is_known, enum work work, pid_t holder)
{
	if (is_known)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"heapsnap %s (PID %d) is working on process %d; try again when PID %d has finished",
			names[work], (int)holder, (int)process->pid, (int)holder);
	return hs_error_create(
		HS_ERROR_REFUSED,
		"another heapsnap, or a program that holds its lock (/proc/%d/personality), is working on process %d; "
		"try again when it has finished",
		(int)process->pid, (int)process->pid);
}

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

// "3: FLOCK  ADVISORY  WRITE 1234 00:0d:5678 0 EOF" (proc_locks(5)); 0 = it is not shown, as one outside of this PID
// namespace.
static pid_t holder_in_list(const struct stat *file)
{
	HS_CLEANUP_FCLOSE FILE *list = fopen("/proc/locks", "re");
	HS_CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;

	while (list && getline(&line, &capacity, list) > 0) {
		unsigned device_major, device_minor;
		unsigned long inode;
		int holder;

		if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %x:%x:%lu", &holder, &device_major, &device_minor,
			   &inode) == 4 &&
		    inode == file->st_ino && device_major == major(file->st_dev) && device_minor == minor(file->st_dev))
			return holder;
	}
	return 0;
}

static bool may_hold(pid_t holder, const struct process *process)
{
	HS_CLEANUP_PROCESS struct process other_process = PROCESS_CLOSED;
	struct hs_error *error = process_glance(holder, &other_process);
	struct stat other, target;

	if (error) {
		hs_error_destroy(error);
		return false;
	}
	return fstat(process->folder, &target) == 0 && fstat(other_process.folder, &other) == 0 &&
	       (other.st_uid == 0 || other.st_uid == geteuid() || other.st_uid == target.st_uid);
}

static struct hs_error *lock_for_all(const struct process *process, struct work_lock *lock)
{
	struct stat file;
	pid_t holder;

	lock->pidfd = open_pidfd(process);
	if (lock->pidfd < 0 || flock(lock->pidfd, LOCK_EX | LOCK_NB) == 0 || fstat(lock->pidfd, &file) < 0)
		return NULL;
	holder = holder_in_list(&file);
	if (holder > 0 && may_hold(holder, process))
		return hs_error_create(HS_ERROR_REFUSED,
				       "another heapsnap (PID %d), which sees another /proc, is working on process %d; "
				       "try again when PID %d has finished",
				       (int)holder, (int)process->pid, (int)holder);
	return NULL; // somebody who has no say in it, or who is not seen
}

struct hs_error *work_lock_take(const struct process *process, enum work work, struct work_lock *ret)
{
	uint64_t began = hs_monotonic_ns(), wait_ms;
	struct work_lock lock = { open_lock(process), -1, work };
	bool is_known = false, has_said = false;
	struct hs_error *error = NULL;
	enum work other = WORK_attach;
	pid_t holder = 0;

	*ret = lock;
	if (lock.fd < 0)
		return NULL;
	while (!error && flock(lock.fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			error = hs_error_system(errno, "cannot lock /proc/%d/personality", (int)process->pid);
			break;
		}
		// Between its lock and its name there is a moment.
		is_known = read_holder(lock.fd, &other, &holder);
		wait_ms = !is_known ? NAME_WAIT_MS : work == WORK_dump && other == WORK_dump ? DUMP_WAIT_MS : 0;
		if (hs_monotonic_ns() - began >= wait_ms * UINT64_C(1000000)) {
			error = refuse(process, is_known, other, holder);
			break;
		}
		if (is_known && !has_said)
			hs_verbose("waiting for heapsnap %s (PID %d)", names[other], (int)holder);
		has_said = is_known;
		pause_a_little();
		error = interrupt_check();
	}
	if (!error) {
		work_lock_follow(&lock);
		error = lock_for_all(process, &lock);
	}
	if (error)
		work_lock_release(&lock);
	*ret = lock;
	return error;
}

void work_lock_release(struct work_lock *lock)
{
	if (lock->fd < 0)
		return;
	// Not by closing alone: a process that the tool has started may have the descriptor, too.
	set_byte(lock->fd, F_UNLCK, 0, 0);
	flock(lock->fd, LOCK_UN);
	close(lock->fd);
	if (lock->pidfd >= 0) {
		flock(lock->pidfd, LOCK_UN);
		close(lock->pidfd);
	}
	lock->fd = lock->pidfd = -1;
}

bool work_lock_is_taken(const struct process *process, char *text, size_t size)
{
	int fd = open_lock(process);
	bool taken = false;
	enum work work;
	pid_t holder;

	if (fd < 0)
		return false;
	// By their names, without a lock of one's own: it would keep others out for a moment.
	taken = read_holder(fd, &work, &holder);
	if (taken)
		snprintf(text, size, "heapsnap %s (PID %d) is working on process %d", names[work], (int)holder,
			 (int)process->pid);
	close(fd);
	return taken;
}
