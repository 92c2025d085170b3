// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/work_lock.h"

#include "attach/guard/interrupt.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define PID_FS_MAGIC_NUMBER 0x50494446 // PID_FS_MAGIC in linux/magic.h, which older headers lack

enum { DUMP_WAIT_MS = 30000, PAUSE_MS = 10, NAME_WAIT_MS = 100, THREAD_ATTEMPTS = 8 };

static const char file_name[] = "personality";

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

static void say_who(int fd, enum work work)
{
	const int64_t byte = work_lock_byte(work, own_pid());

	set_byte(fd, F_RDLCK, byte, 1);
	// What the parent has said, before and behind.
	set_byte(fd, F_UNLCK, 0, byte);
	set_byte(fd, F_UNLCK, byte + 1, 0);
}

void work_lock_follow(const struct work_lock *lock)
{
	if (lock->fd >= 0)
		say_who(lock->fd, lock->work);
	if (lock->thread_fd >= 0)
		say_who(lock->thread_fd, lock->work);
}

// Who has the lock.
struct owner {
	bool is_known; // by these two
	enum work work;
	pid_t holder;
	pid_t tid; // whose file it is
};

// Locks of this open file itself do not count.
static struct owner read_owner(int fd, pid_t tid)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct owner owner = { .tid = tid };

	owner.is_known = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
			 work_lock_read_byte(lock.l_start, &owner.work, &owner.holder);
	return owner;
}

// The process's own file, which is the main thread's also when that has ended. -1 with errno.
static int open_own(const struct process *process)
{
	if (process->folder >= 0)
		return openat(process->folder, file_name, O_RDONLY | O_CLOEXEC);
	errno = ENOENT;
	return -1;
}

// That of the first thread that lives, where the main thread does not. -1: there is none, or with errno.
static int open_thread(const struct process *process, pid_t *tid_ret)
{
	int fd = -1;

	errno = ESRCH;
	// the thread may end before it is opened
	for (int attempt = 0; fd < 0 && attempt < THREAD_ATTEMPTS && (errno == ESRCH || errno == ENOENT); attempt++) {
		*tid_ret = process_live_thread(process);
		if (*tid_ret == process->pid)
			return -1;
		fd = process_openat_task(process, *tid_ret, file_name, O_RDONLY);
	}
	return fd;
}

static void pause_a_little(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

	nanosleep(&pause, NULL);
}

static struct hs_error *refuse(const struct process *process, const struct owner *owner)
{
	if (owner->is_known)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"heapsnap %s (PID %d) is working on process %d; try again when PID %d has finished",
			names[owner->work], (int)owner->holder, (int)process->pid, (int)owner->holder);
	return hs_error_create(
		HS_ERROR_REFUSED,
		"another heapsnap, or a program that holds its lock (/proc/%d/task/%d/%s), is working on process %d; "
		"try again when it has finished",
		(int)process->pid, (int)owner->tid, file_name, (int)process->pid);
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

// A line of /proc/locks (proc_locks(5)): "3: FLOCK  ADVISORY  WRITE 1234 00:0d:5678 0 EOF".
struct listed_lock {
	bool is_flock; // else one of an open file description, which has no PID
	int pid;
	int64_t start;
};

// The next one of `file`. False: there is no more. Locks of processes outside of this PID namespace are not shown.
static bool next_listed(FILE *list, const struct stat *file, struct listed_lock *ret)
{
	HS_CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;

	while (getline(&line, &capacity, list) > 0) {
		unsigned device_major, device_minor;
		unsigned long inode;
		char kind[8];

		if (sscanf(line, "%*d: %7s ADVISORY %*s %d %x:%x:%lu %" SCNd64, kind, &ret->pid, &device_major,
			   &device_minor, &inode, &ret->start) != 6 ||
		    inode != file->st_ino || device_major != major(file->st_dev) || device_minor != minor(file->st_dev))
			continue;
		ret->is_flock = strcmp(kind, "FLOCK") == 0;
		if (ret->is_flock || strcmp(kind, "OFDLCK") == 0)
			return true;
	}
	return false;
}

// 0 = nobody who is shown.
static pid_t holder_in_list(const struct stat *file)
{
	HS_CLEANUP_FCLOSE FILE *list = fopen("/proc/locks", "re");
	struct listed_lock lock;

	while (list && next_listed(list, file, &lock))
		if (lock.is_flock)
			return lock.pid;
	return 0;
}

// Whether somebody has the lock of the process's own file, for a tool that may not open it, and who. Whoever may open
// it has a say.
static bool own_is_held(const struct process *process, struct owner *ret)
{
	HS_CLEANUP_FCLOSE FILE *list = fopen("/proc/locks", "re");
	struct listed_lock lock;
	struct stat file;
	bool is_held = false;

	*ret = (struct owner){ .tid = process->pid };
	if (!list || process->folder < 0 || fstatat(process->folder, file_name, &file, 0) < 0)
		return false;
	while (next_listed(list, &file, &lock)) {
		if (lock.is_flock)
			is_held = true;
		else if (!ret->is_known)
			ret->is_known = work_lock_read_byte(lock.start, &ret->work, &ret->holder);
	}
	return is_held;
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
				       "another heapsnap (PID %d) is working on process %d; try again when PID %d has "
				       "finished",
				       (int)holder, (int)process->pid, (int)holder);
	return NULL; // somebody who has no say in it, or who is not seen
}

// Returns an errno; EWOULDBLOCK: *owner_ret has it.
static int lock_file(int fd, pid_t tid, struct owner *owner_ret)
{
	int failed = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;

	if (failed == EINTR)
		failed = EWOULDBLOCK;
	if (failed == EWOULDBLOCK)
		*owner_ret = read_owner(fd, tid);
	return failed;
}

// What others may take for the lock now: the process's own file, and where the main thread has ended, that of a thread.
// Whether it has is asked when the first is locked: who has seen it end before looks for that lock, or finds the
// second. Returns an errno, as lock_file does; then nothing is locked.
static int lock_files(const struct process *process, struct work_lock *lock, struct owner *owner_ret)
{
	pid_t tid = process->pid;
	int failed = lock->fd >= 0 ? lock_file(lock->fd, tid, owner_ret) : 0;

	if (failed)
		return failed;
	lock->thread_fd = open_thread(process, &tid);
	if (lock->thread_fd < 0)
		return 0;
	failed = lock_file(lock->thread_fd, tid, owner_ret);
	if (!failed && lock->fd < 0 && own_is_held(process, owner_ret))
		failed = EWOULDBLOCK;
	if (!failed)
		return 0;
	if (lock->fd >= 0)
		flock(lock->fd, LOCK_UN);
	close(lock->thread_fd);
	lock->thread_fd = -1;
	return failed;
}

// How long a tool waits for that owner. Between a lock and its name there is a moment.
static uint64_t patience_ms(const struct owner *owner, enum work work)
{
	if (!owner->is_known)
		return NAME_WAIT_MS;
	return work == WORK_dump && owner->work == WORK_dump ? DUMP_WAIT_MS : 0;
}

static struct hs_error *wait_for_files(const struct process *process, struct work_lock *lock)
{
	const uint64_t began = hs_monotonic_ns();
	uint64_t known_at = began; // when the owner had a name last
	bool has_said = false;
	struct hs_error *error = NULL;
	struct owner owner;
	int failed;

	while (!error && (failed = lock_files(process, lock, &owner))) {
		const uint64_t now = hs_monotonic_ns();

		if (failed != EWOULDBLOCK)
			return hs_error_system(failed, "cannot lock /proc/%d/%s", (int)process->pid, file_name);
		if (owner.is_known)
			known_at = now;
		if (now - (owner.is_known ? began : known_at) >= patience_ms(&owner, lock->work) * UINT64_C(1000000))
			return refuse(process, &owner);
		if (owner.is_known && !has_said)
			hs_verbose("waiting for heapsnap %s (PID %d)", names[owner.work], (int)owner.holder);
		has_said |= owner.is_known;
		pause_a_little();
		error = interrupt_check();
	}
	return error;
}

struct hs_error *work_lock_take(const struct process *process, enum work work, struct work_lock *ret)
{
	struct work_lock lock = { open_own(process), -1, -1, work };
	struct hs_error *error;

	*ret = (struct work_lock){ -1, -1, -1, work };
	if (lock.fd < 0 && hs_errno_is_shortage(errno))
		return hs_error_system(errno, "cannot open /proc/%d/%s", (int)process->pid, file_name);
	error = wait_for_files(process, &lock);
	if (!error && (lock.fd >= 0 || lock.thread_fd >= 0)) {
		work_lock_follow(&lock);
		error = lock_for_all(process, &lock);
	}
	if (error)
		work_lock_release(&lock);
	*ret = lock;
	return error;
}

// Not by closing alone: a process that the tool has started may have the descriptor, too.
static void release(int *fd)
{
	if (*fd < 0)
		return;
	set_byte(*fd, F_UNLCK, 0, 0);
	flock(*fd, LOCK_UN);
	close(*fd);
	*fd = -1;
}

void work_lock_release(struct work_lock *lock)
{
	release(&lock->fd);
	release(&lock->thread_fd);
	release(&lock->pidfd);
}

// Of one that may be opened, by its name, without a lock of one's own: that would keep others out for a moment.
static struct owner glance_at_owner(int fd, pid_t tid)
{
	struct owner owner = { 0 };

	if (fd < 0)
		return owner;
	owner = read_owner(fd, tid);
	close(fd);
	return owner;
}

bool work_lock_is_taken(const struct process *process, char *text, size_t size)
{
	pid_t tid = process->pid;
	int fd = open_own(process);
	struct owner owner = glance_at_owner(fd, tid);

	if (!owner.is_known)
		owner = glance_at_owner(open_thread(process, &tid), tid);
	if (!owner.is_known && fd < 0)
		own_is_held(process, &owner);
	if (owner.is_known)
		snprintf(text, size, "heapsnap %s (PID %d) is working on process %d", names[owner.work],
			 (int)owner.holder, (int)process->pid);
	return owner.is_known;
}
