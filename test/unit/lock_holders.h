// SPDX-License-Identifier: Apache-2.0
// Targets, and processes that hold their locks, for the tests of the work lock.
#ifndef HEAPSNAP_TEST_UNIT_LOCK_HOLDERS_H
#define HEAPSNAP_TEST_UNIT_LOCK_HOLDERS_H

#include "attach/guard/lock_list.h"
#include "attach/guard/work_lock.h"

#include "check.h"
#include "held_process.h"
#include "somebody.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PID_FS 0x50494446 // PID_FS_MAGIC of include/uapi/linux/magic.h

// A process that waits, and is the target.
static inline pid_t make_target(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static inline int refuses(pid_t target, enum work work, const char *says)
{
	struct work_lock lock;
	struct hs_error *error = work_lock_take(held_process(target), work, &lock);
	int result;

	if (!error) {
		work_lock_release(&lock);
		return 0;
	}
	result = error->code == HS_ERROR_REFUSED && strstr(error->message, says) ? 1 : -1;
	if (result < 0)
		fprintf(stderr, "%s, not %s\n", error->message, says);
	hs_error_destroy(error);
	return result;
}

// A tool that has the lock, is told to fork as tool_guard does, and then waits to be killed. Returns when it has it.
static inline pid_t make_holder(pid_t target, enum work work, uid_t uid, bool forks, pid_t *worker_ret)
{
	int ready[2];
	pid_t pid, worker = 0;

	CHECK(pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		struct work_lock lock;
		struct hs_error *error;

		if (uid != geteuid() && (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0))
			_exit(2);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		error = work_lock_take(held_process(target), work, &lock);
		if (error)
			_exit(1);
		if (forks && fork() > 0)
			for (;;)
				pause();
		work_lock_follow(&lock);
		worker = getpid();
		if (write(ready[1], &worker, sizeof(worker)) != sizeof(worker))
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &worker, sizeof(worker)) == sizeof(worker));
	close(ready[0]);
	*worker_ret = worker;
	return pid;
}

// Whether an flock of the file is listed as that process's.
static inline bool note_pid(const struct listed_lock *lock, void *context)
{
	pid_t *pid = context;

	if (lock->is_flock && lock->pid == *pid)
		*pid = 0;
	return *pid;
}

static inline bool is_listed(int fd, pid_t pid)
{
	struct stat file;

	CHECK(fstat(fd, &file) == 0 && lock_list_read(&file, note_pid, &pid) == 0);
	return pid == 0;
}

static inline int open_file(pid_t target)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/personality", (int)target);
	return open(path, O_RDONLY | O_CLOEXEC);
}

// -1: a kernel where all pidfds are one file.
static inline int open_file_for_all(pid_t target)
{
	struct statfs system;
	int fd = (int)syscall(SYS_pidfd_open, target, 0);

	if (fd >= 0 && fstatfs(fd, &system) == 0 && system.f_type == PID_FS)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

// Nobody where it could not be made: 0 would be every process of the test's group, the caller of the test among them.
static inline void end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

// A child of init, or of the test (a subreaper).
static inline void end_worker(pid_t worker)
{
	end(worker);
	while (worker > 0 && kill(worker, 0) == 0)
		waitpid(worker, NULL, 0);
}

// A process that holds the lock that all tools see, whatever their /proc; 0: this kernel has none, as all pidfds are
// one file.
static inline pid_t hold_for_all(pid_t target, uid_t uid, uid_t effective, int operation)
{
	int ready[2], has_it = 0;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int fd;

		if (setresgid(uid, uid, uid) != 0 || setresuid(uid, effective, effective) != 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
			_exit(2);
		fd = open_file_for_all(target);
		has_it = fd >= 0 && flock(fd, operation) == 0;
		if (write(ready[1], &has_it, sizeof(has_it)) != sizeof(has_it))
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &has_it, sizeof(has_it)) == sizeof(has_it));
	close(ready[0]);
	if (!has_it)
		end(pid);
	return has_it ? pid : 0;
}

#endif
