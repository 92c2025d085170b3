// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/work_lock.h"

#include "attach/guard/interrupt.h"
#include "attach/guard/lock_list.h"
#include "attach/guard/pidfd_lock.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DUMP_WAIT_MS = 30000, PAUSE_MS = 10, NAME_WAIT_MS = 100, THREAD_ATTEMPTS = 8, PATH_SIZE = 64 };

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

static void say_names(const struct work_lock *lock)
{
	if (lock->fd >= 0)
		say_who(lock->fd, lock->work);
	if (lock->thread_fd >= 0)
		say_who(lock->thread_fd, lock->work);
}

// The kernel lists an flock with the id of the process that took it; a change of its type replaces that id. Where
// somebody else has a shared lock, the change back to exclusive fails and drops the lock (flock(2)): it is taken shared
// again, and for a moment there is none.
static void take_over(int fd)
{
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		(void)flock(fd, LOCK_SH | LOCK_NB);
}

void work_lock_follow(const struct work_lock *lock)
{
	take_over(lock->fd);
	take_over(lock->thread_fd);
	take_over(lock->pidfd);
	say_names(lock);
}

// Who has the lock.
struct owner {
	bool is_listed; // somebody has the flock, by /proc/locks
	bool is_known;  // work and holder are set, from the name
	enum work work;
	pid_t holder;
	pid_t tid; // whose file it is, as name_file has it
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

// Its path. The process's own file and the main thread's below task/ are two files.
static void name_file(const struct process *process, pid_t tid, char *text, size_t size)
{
	if (tid == process->pid)
		snprintf(text, size, "/proc/%d/%s", (int)process->pid, file_name);
	else
		snprintf(text, size, "/proc/%d/task/%d/%s", (int)process->pid, (int)tid, file_name);
}

static void pause_a_little(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

	nanosleep(&pause, NULL);
}

// Why work_lock_take refuses: EWOULDBLOCK or ETIME.
static void describe(const struct process *process, const struct owner *owner, int failed, char *text, size_t size)
{
	char path[PATH_SIZE];

	name_file(process, owner->tid, path, sizeof(path));
	if (failed == ETIME)
		snprintf(
			text, size,
			"cannot tell whether another heapsnap is working on process %d, because /proc/locks is too long",
			(int)process->pid);
	else if (owner->is_known)
		snprintf(text, size, "heapsnap %s (PID %d) is working on process %d", names[owner->work],
			 (int)owner->holder, (int)process->pid);
	else
		snprintf(text, size,
			 "another heapsnap, or a program that holds its lock (%s), is working on process %d", path,
			 (int)process->pid);
}

static struct hs_error *refuse(const struct process *process, const struct owner *owner, int failed)
{
	char text[192];

	describe(process, owner, failed, text, sizeof(text));
	if (failed == ETIME)
		return hs_error_create(HS_ERROR_REFUSED, "%s; try again later, or as root", text);
	if (owner->is_known)
		return hs_error_create(HS_ERROR_REFUSED, "%s; try again when PID %d has finished", text,
				       (int)owner->holder);
	return hs_error_create(HS_ERROR_REFUSED, "%s; try again when it has finished", text);
}

static bool note_owner(const struct listed_lock *lock, void *context)
{
	struct owner *owner = context;

	if (lock->is_flock)
		owner->is_listed = true;
	else if (!owner->is_known)
		owner->is_known = work_lock_read_byte(lock->start, &owner->work, &owner->holder);
	return !owner->is_listed || !owner->is_known;
}

// The lock of the process's own file, for a tool that may not open it. A name in it counts without the lock: in a PID
// namespace the kernel does not list the flock of a tool that has ended while its child works. Only root, and a tool
// that began before the main thread ended, can have put one there. Returns an errno, as lock_file does; ETIME: that
// cannot be told.
static int look_for_own(const struct process *process, struct owner *ret)
{
	struct stat file;
	int failed;

	*ret = (struct owner){ .tid = process->pid };
	if (process->folder < 0 || fstatat(process->folder, file_name, &file, 0) < 0)
		return 0;
	failed = lock_list_read(&file, note_owner, ret);
	if (ret->is_listed || ret->is_known)
		return EWOULDBLOCK;
	return failed == ETIME || hs_errno_is_shortage(failed) ? failed : 0;
}

// That of a file that may be opened, without a lock of one's own: that would keep others out for a moment. -1 is no
// file. Where the list does not tell, the name does.
static bool is_locked(int fd, pid_t tid, struct owner *ret)
{
	struct stat file;
	int failed;

	if (fd < 0 || fstat(fd, &file) < 0)
		return false;
	*ret = read_owner(fd, tid);
	failed = lock_list_read(&file, note_owner, ret);
	return ret->is_listed || (failed && ret->is_known);
}

static void describe_rival(const struct process *process, pid_t rival, char *text, size_t size)
{
	snprintf(text, size, "another heapsnap (PID %d) is working on process %d", (int)rival, (int)process->pid);
}

static struct hs_error *lock_for_all(const struct process *process, struct work_lock *lock)
{
	const pid_t rival = pidfd_lock_take(process, own_pid(), &lock->pidfd);
	char text[96];

	if (!rival)
		return NULL;
	describe_rival(process, rival, text, sizeof(text));
	return hs_error_create(HS_ERROR_REFUSED, "%s; try again when PID %d has finished", text, (int)rival);
}

// Returns an errno. *owner_ret says then whose file it is, with EWOULDBLOCK also who has it.
static int lock_file(int fd, pid_t tid, struct owner *owner_ret)
{
	int failed = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;

	if (failed == EINTR)
		failed = EWOULDBLOCK;
	*owner_ret = failed == EWOULDBLOCK ? read_owner(fd, tid) : (struct owner){ .tid = tid };
	return failed;
}

// What others may take for the lock now: the process's own file, and where the main thread has ended, that of a thread.
// The main thread is asked about after the first file is locked: a tool that saw it end earlier either finds that lock
// in the list, or meets this one at the thread's file. Returns an errno, as lock_file does; then nothing is locked.
static int lock_files(const struct process *process, struct work_lock *lock, struct owner *owner_ret)
{
	pid_t tid = process->pid;
	int failed = lock->fd >= 0 ? lock_file(lock->fd, tid, owner_ret) : 0;

	if (failed)
		return failed;
	lock->thread_fd = open_thread(process, &tid);
	if (lock->thread_fd >= 0) {
		failed = lock_file(lock->thread_fd, tid, owner_ret);
		if (!failed && lock->fd < 0)
			failed = look_for_own(process, owner_ret);
	} else if (hs_errno_is_shortage(errno)) {
		failed = errno;
		*owner_ret = (struct owner){ .tid = tid };
	}
	if (!failed)
		return 0;
	if (lock->fd >= 0)
		flock(lock->fd, LOCK_UN);
	if (lock->thread_fd >= 0)
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
	uint64_t nameless_at = 0; // the first look in a row at which the owner had no name; 0 = it had one
	bool has_said = false;
	struct hs_error *error = NULL;
	char path[PATH_SIZE];
	struct owner owner;
	int failed;

	while (!error && (failed = lock_files(process, lock, &owner))) {
		const uint64_t now = hs_monotonic_ns();

		if (failed == ETIME)
			return refuse(process, &owner, failed);
		if (failed != EWOULDBLOCK) {
			name_file(process, owner.tid, path, sizeof(path));
			return hs_error_system(failed, "cannot lock %s", path);
		}
		if (owner.is_known)
			nameless_at = 0;
		else if (!nameless_at)
			nameless_at = now;
		if (now - (nameless_at ? nameless_at : began) >= patience_ms(&owner, lock->work) * UINT64_C(1000000))
			return refuse(process, &owner, failed);
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
		say_names(&lock);
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

bool work_lock_is_taken(const struct process *process, char *text, size_t size)
{
	pid_t tid = process->pid, rival;
	HS_CLEANUP_CLOSE int fd = open_own(process), thread_fd = -1;
	struct owner owner;
	int failed = is_locked(fd, tid, &owner) ? EWOULDBLOCK : 0;

	if (!failed) {
		thread_fd = open_thread(process, &tid);
		failed = is_locked(thread_fd, tid, &owner) ? EWOULDBLOCK : 0;
	}
	if (!failed && fd < 0)
		failed = look_for_own(process, &owner);
	if (failed == EWOULDBLOCK || failed == ETIME) {
		describe(process, &owner, failed, text, size);
		return true;
	}
	rival = fd >= 0 || thread_fd >= 0 ? pidfd_lock_rival(process, own_pid()) : 0;
	if (rival)
		describe_rival(process, rival, text, size);
	return rival;
}
