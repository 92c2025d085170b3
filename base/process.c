// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc_stat.h"
#include "base/proc_status.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { FILE_NAME_SIZE = 96 };

// A closed handle is one of a process that is not there.
static int open_below(int folder, const char *file, int flags)
{
	if (folder >= 0)
		return openat(folder, file, flags | O_CLOEXEC);
	errno = ENOENT;
	return -1;
}

// `file` below `folder`; `name` is for messages.
static struct hs_error *read_below(int folder, const char *file, const char *name, char **text_ret, size_t *size_ret)
{
	HS_CLEANUP_CLOSE int fd = open_below(folder, file, O_RDONLY);
	size_t size;

	if (fd < 0)
		return hs_error_system(errno, "cannot open %s", name);
	return hs_read_fd(fd, name, PROC_STATUS_LIMIT, text_ret, size_ret ? size_ret : &size);
}

struct hs_error *process_read_file(const struct process *process, const char *file, char **text_ret, size_t *size_ret)
{
	char name[FILE_NAME_SIZE];

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)process->pid, file);
	return read_below(process->folder, file, name, text_ret, size_ret);
}

int process_openat_task(const struct process *process, pid_t tid, const char *file, int flags)
{
	char name[FILE_NAME_SIZE];

	snprintf(name, sizeof(name), "task/%d/%s", (int)tid, file);
	return open_below(process->folder, name, flags);
}

bool process_has_thread(const struct process *process, pid_t tid)
{
	char name[FILE_NAME_SIZE];
	struct stat file;

	snprintf(name, sizeof(name), "task/%d", (int)tid);
	if (process->folder >= 0)
		return fstatat(process->folder, name, &file, 0) == 0;
	errno = ENOENT;
	return false;
}

struct hs_error *process_read_task_file(const struct process *process, pid_t tid, const char *file, char **text_ret,
					size_t *size_ret)
{
	char below[FILE_NAME_SIZE], name[FILE_NAME_SIZE + 32];

	snprintf(below, sizeof(below), "task/%d/%s", (int)tid, file);
	snprintf(name, sizeof(name), "/proc/%d/%s", (int)process->pid, below);
	return read_below(process->folder, below, name, text_ret, size_ret);
}

// That the process's stat can be read proves that it is there. An error otherwise.
static struct hs_error *prove_presence(const struct process *process)
{
	HS_CLEANUP_FREE char *text = NULL;

	return process_read_file(process, "stat", &text, NULL);
}

static bool is_about_absence(const struct hs_error *error)
{
	return error->error_number == ENOENT || error->error_number == ESRCH;
}

struct hs_error *process_gone(const struct process *process)
{
	return hs_error_create(HS_ERROR_GONE, "process %d is gone", (int)process->pid);
}

struct hs_error *process_not_found(enum hs_error_code code, pid_t pid)
{
	return hs_error_create(code, "no process with PID %d", (int)pid);
}

bool process_is_there(const struct process *process)
{
	struct hs_error *error = prove_presence(process);
	const bool is_there = !error || !is_about_absence(error);

	hs_error_destroy(error);
	return is_there;
}

struct hs_error *process_glance(pid_t pid, struct process *ret)
{
	char path[32];

	*ret = PROCESS_CLOSED;
	ret->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	ret->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ret->folder >= 0)
		return NULL;
	if (errno == ENOENT)
		return process_not_found(HS_ERROR_REFUSED, pid);
	return hs_error_system(errno, "cannot open %s", path);
}

// The number was looked up again for the pidfd. It stood for the same process, since the folder's was there before and
// is there after: a process keeps its number as long as it has one. pre: /proc is of this PID namespace
// (hs_tool_begin).
struct hs_error *process_hold(struct process *process)
{
	struct hs_error *error;

	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0 && hs_errno_is_shortage(errno))
		return hs_error_system(errno, "cannot open a descriptor of process %d", (int)process->pid);
	error = prove_presence(process);
	if (!error)
		return NULL;
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->pidfd = -1;
	if (!is_about_absence(error))
		return error;
	hs_error_destroy(error);
	return process_gone(process);
}

struct hs_error *process_open(pid_t pid, struct process *ret)
{
	struct hs_error *error = process_glance(pid, ret);

	if (error)
		return error;
	error = process_hold(ret);
	if (error)
		process_close(ret);
	return error;
}

void process_close(struct process *process)
{
	if (process->folder >= 0)
		close(process->folder);
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->folder = process->pidfd = -1;
}

static bool thread_lives(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "stat", &text, NULL);

	hs_error_destroy(error);
	return !error && proc_stat_lives(text);
}

// A thread beside the main one; that one again where none is found.
static pid_t find_other(const struct process *process)
{
	pid_t found = process->pid;
	struct thread_walk walk;

	if (!thread_walk_begin(process, &walk))
		return found;
	for (pid_t tid; found == process->pid && (tid = thread_walk_next(&walk));)
		if (tid != process->pid && thread_lives(process, tid))
			found = tid;
	thread_walk_end(&walk);
	return found;
}

// All threads that a walk has found may have ended before they were looked at, and others may have begun.
enum { WALKS_MOST = 3 };

pid_t process_live_thread(const struct process *process)
{
	pid_t found = process->pid;

	for (int walks = 0; found == process->pid && walks < WALKS_MOST; walks++) {
		HS_CLEANUP_FREE char *text = NULL;
		struct hs_error *error = process_read_file(process, "stat", &text, NULL);
		struct proc_stat stat;

		hs_error_destroy(error);
		if (error || proc_stat_lives(text))
			break;
		found = find_other(process);
		if (!proc_stat_parse(text, &stat) || stat.thread_count <= 1)
			break;
	}
	return found;
}

bool process_lives(const struct process *process) { return thread_lives(process, process_live_thread(process)); }

// Whether the folder, which was opened by a thread's id, is of a thread of the process: it says so, and the process,
// whose number it says, was there afterwards.
static bool is_folder_of_thread(const struct process *process, int folder)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = read_below(folder, "status", "status", &text, NULL);
	const bool says_so = !error && proc_status_number(text, "Tgid:", 10, 0) == (uint64_t)process->pid;

	hs_error_destroy(error);
	return says_so && process_is_there(process);
}

int process_thread_folder(const struct process *process, pid_t tid)
{
	char path[32];
	int folder;

	// task/TID has no map_files (tid_base_stuff in fs/proc/base.c).
	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0 && !is_folder_of_thread(process, folder)) {
		close(folder);
		folder = -1;
		errno = ESRCH;
	}
	return folder;
}

// Of the thread that process_live_thread has chosen.
static int folder_of(const struct process *process, pid_t tid)
{
	if (tid != process->pid)
		return process_thread_folder(process, tid);
	if (process->folder >= 0)
		return fcntl(process->folder, F_DUPFD_CLOEXEC, 0);
	errno = ENOENT;
	return -1;
}

// Threads may be so short-lived that the chosen one has ended before its folder, or a file of it, is open. That says
// nothing of the process: another one is chosen then, so many times.
enum { LIVE_TRIES = 64 };
// And that so often none was found: all may be dead, and many, and still be counted.
enum { NONE_FOUND_MOST = 3 };

// Whether it has ended, and others are there: a main thread that has ended is still counted.
static bool has_successor(const struct process *process, pid_t tid, int *none_found)
{
	HS_CLEANUP_FREE char *text = NULL;

	if (tid == process->pid && ++*none_found == NONE_FOUND_MOST)
		return false;

	struct hs_error *error = thread_lives(process, tid) ? NULL : process_read_file(process, "stat", &text, NULL);
	struct proc_stat stat;

	hs_error_destroy(error);
	return text && proc_stat_parse(text, &stat) && stat.thread_count > 1;
}

// `file` of the live folder, NULL = the folder. -1 with errno. *tid_ret: the thread whose folder it is.
static int open_live(const struct process *process, const char *file, int flags, pid_t *tid_ret)
{
	int none_found = 0;

	for (int tries = 1;; tries++) {
		int folder, fd, error_number;

		*tid_ret = process_live_thread(process);
		folder = fd = folder_of(process, *tid_ret);
		if (folder >= 0 && file) {
			fd = open_below(folder, file, flags);
			error_number = errno;
			close(folder);
			errno = error_number;
		}
		error_number = errno;
		// A file of a thread that had just ended may be open, and empty: before Linux 6.10 (__mem_open and
		// proc_maps_open in fs/proc), and its maps in 6.18.
		if (tries == LIVE_TRIES || (fd >= 0 && *tid_ret == process->pid) ||
		    (fd < 0 && error_number != ENOENT && error_number != ESRCH) ||
		    !has_successor(process, *tid_ret, &none_found)) {
			errno = error_number;
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
}

int process_live_folder(const struct process *process)
{
	pid_t tid;

	return open_live(process, NULL, 0, &tid);
}

int process_openat(const struct process *process, const char *file, int flags)
{
	pid_t tid;

	return open_live(process, file, flags, &tid);
}

struct hs_error *process_read_live_file(const struct process *process, const char *file, char **text_ret,
					size_t *size_ret)
{
	return process_read_long_live_file(process, file, PROC_STATUS_LIMIT, text_ret, size_ret);
}

// A file that is not there, or cannot be read any more, because the process has ended. The error's number stays: there
// are callers that go by it. (Only errors that have one are written to, so not the static one of no memory.)
static struct hs_error *without_file(const struct process *process, struct hs_error *error)
{
	if (is_about_absence(error) && !process_lives(process))
		error->code = HS_ERROR_GONE;
	return error;
}

struct hs_error *process_read_long_live_file(const struct process *process, const char *file, size_t limit,
					     char **text_ret, size_t *size_ret)
{
	char name[FILE_NAME_SIZE];
	int none_found = 0;

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)process->pid, file);
	for (int tries = 1;; tries++) {
		pid_t tid;
		HS_CLEANUP_CLOSE int fd = open_live(process, file, O_RDONLY, &tid);
		struct hs_error *error;
		size_t size;

		if (fd < 0)
			return without_file(process, hs_error_system(errno, "cannot open %s", name));
		error = hs_read_fd(fd, name, limit, text_ret, &size);
		if (size_ret && !error)
			*size_ret = size;
		// The files of a thread that has ended may be there, and empty.
		if ((error ? !is_about_absence(error) : size > 0) || tries == LIVE_TRIES ||
		    !has_successor(process, tid, &none_found))
			return error ? without_file(process, error) : NULL;
		if (!error)
			free(*text_ret);
		*text_ret = NULL;
		hs_error_destroy(error);
	}
}

bool thread_walk_begin(const struct process *process, struct thread_walk *ret)
{
	const int fd = open_below(process->folder, "task", O_RDONLY | O_DIRECTORY);

	ret->folder = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !ret->folder)
		close(fd);
	return ret->folder;
}

// The next name that is a number; 0 = there is none.
static pid_t next_number(DIR *folder)
{
	for (struct dirent *entry; (entry = readdir(folder));) {
		char *end;
		const long number = strtol(entry->d_name, &end, 10);

		if (number > 0 && !*end)
			return (pid_t)number;
	}
	return 0;
}

pid_t thread_walk_next(struct thread_walk *walk) { return next_number(walk->folder); }

void thread_walk_end(struct thread_walk *walk)
{
	closedir(walk->folder);
	walk->folder = NULL;
}

bool process_walk_begin(struct process_walk *ret)
{
	ret->folder = opendir("/proc");
	return ret->folder;
}

pid_t process_walk_next(struct process_walk *walk) { return next_number(walk->folder); }

void process_walk_end(struct process_walk *walk)
{
	closedir(walk->folder);
	walk->folder = NULL;
}

bool processes_are_unlisted(void)
{
	struct stat file;

	// A handle of the folder (O_PATH) can be had with hidepid=2 (pid_getattr and proc_pid_permission in
	// fs/proc/base.c).
	return stat("/proc/1", &file) != 0 && errno == ENOENT;
}

struct hs_error *process_auxv(const struct process *process, const uint64_t *types, size_t count, uint64_t *values_ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	size_t size;
	struct hs_error *error = process_read_live_file(process, "auxv", &text, &size);

	memset(values_ret, 0, count * sizeof(*values_ret));
	if (error)
		return error;
	for (size_t i = 0; i + sizeof(Elf64_auxv_t) <= size; i += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;

		memcpy(&entry, text + i, sizeof(entry));
		for (size_t t = 0; t < count; t++)
			if (entry.a_type == types[t])
				values_ret[t] = entry.a_un.a_val;
	}
	return NULL;
}
