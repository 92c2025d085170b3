// SPDX-License-Identifier: Apache-2.0
// A process that the tool works on. A number may stand for another process a moment later; a descriptor of the folder
// /proc/PID never does: once the process has been waited for, whatever is opened or read below it fails with ENOENT or
// ESRCH (proc_pid_lookup and get_proc_task in fs/proc/base.c go by struct pid, which is not used again).
#ifndef HEAPSNAP_BASE_PROCESS_H
#define HEAPSNAP_BASE_PROCESS_H

#include "base/error.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;  // for messages, and for system calls that take nothing else
	int folder; // /proc/PID, O_PATH; -1 = closed
	int pidfd;  // -1 = none: only glanced at, a thread's id, or the kernel has none (before Linux 5.3)
};

// Of a closed handle all that is read below fails with ENOENT, as of a process that has ended.
#define PROCESS_CLOSED ((struct process){ .folder = -1, .pidfd = -1 })

// Where a number becomes a process. HS_ERROR_REFUSED: there is none of that number, or /proc hides it.
// process_glance is for those that are only looked at in passing; process_hold makes what was glanced at one that is
// worked on, and says HS_ERROR_GONE where it has ended; process_open is both. The caller closes it after success.
struct hs_error *process_glance(pid_t pid, struct process *ret) HS_MUST_CHECK;
struct hs_error *process_hold(struct process *process) HS_MUST_CHECK;
struct hs_error *process_open(pid_t pid, struct process *ret) HS_MUST_CHECK;
void process_close(struct process *process);

#define HS_CLEANUP_PROCESS __attribute__((cleanup(process_close)))

// The errors of a process that has ended while it was worked on (HS_ERROR_GONE), and of a number that stands for none.
struct hs_error *process_gone(const struct process *process) HS_MUST_CHECK;
struct hs_error *process_not_found(enum hs_error_code code, pid_t pid) HS_MUST_CHECK;

// Whether it still has its number: it lives, or nobody has waited for it.
bool process_is_there(const struct process *process);

// The main thread of a process may end while others live on. It gives up its memory, then its files, which may take the
// kernel seconds; then it is a zombie, and keeps its number and the folder /proc/PID; but the process's memory, files
// and namespaces are shown only below the number of a thread that lives: /proc/TID is there for each of them, and the
// same in all (proc(5) does not list these folders).
// process_live_thread: the main thread as long as it lives, else another thread; the main thread again where none does.
pid_t process_live_thread(const struct process *process);
// Whether any of its threads lives.
bool process_lives(const struct process *process);
// The folder of a thread, and of that one, proven to be one of this process: O_PATH, owned by the caller. -1 with
// errno.
int process_thread_folder(const struct process *process, pid_t tid);
int process_live_folder(const struct process *process);

// Opens a file of the live folder. -1 with errno.
int process_openat(const struct process *process, const char *file, int flags);

// Reads a file of /proc/PID itself; of the live folder; of /proc/PID/task/TID. *text_ret is owned by the caller and has
// a 0 byte after its bytes, which are counted in *size_ret unless that is NULL. HS_ERROR_BAD_DATA when the file is
// longer than 64 KiB; of the live folder also HS_ERROR_GONE when it cannot be read since the
// process has ended (of a process that nobody has waited for yet, maps can be read, and are empty).
struct hs_error *process_read_file(const struct process *process, const char *file, char **text_ret,
				   size_t *size_ret) HS_MUST_CHECK;
struct hs_error *process_read_live_file(const struct process *process, const char *file, char **text_ret,
					size_t *size_ret) HS_MUST_CHECK;
// The same of one of at most `limit` bytes.
struct hs_error *process_read_long_live_file(const struct process *process, const char *file, size_t limit,
					     char **text_ret, size_t *size_ret) HS_MUST_CHECK;
struct hs_error *process_read_task_file(const struct process *process, pid_t tid, const char *file, char **text_ret,
					size_t *size_ret) HS_MUST_CHECK;

// Whether the thread is one of the process, at this moment: one system call, and nothing is opened. Where that cannot
// be told, false with another errno than ENOENT and ESRCH.
bool process_has_thread(const struct process *process, pid_t tid);

// Opens a file of /proc/PID/task/TID, "." for the folder. -1 with errno.
int process_openat_task(const struct process *process, pid_t tid, const char *file, int flags);

// The threads of a process, one after the other: ids of those that were there at some moment of the walk. A process
// that is gone has none; the walk then is not to be begun (false, with errno).
struct thread_walk {
	DIR *folder;
};
bool thread_walk_begin(const struct process *process, struct thread_walk *ret);
pid_t thread_walk_next(struct thread_walk *walk); // 0 = that was all
void thread_walk_end(struct thread_walk *walk);

// The processes, one after the other: numbers of those that /proc listed at some moment of the walk. Nothing of them is
// opened. False, with errno: /proc cannot be listed; the walk then is not begun.
struct process_walk {
	DIR *folder;
};
bool process_walk_begin(struct process_walk *ret);
pid_t process_walk_next(struct process_walk *walk); // 0 = that was all
void process_walk_end(struct process_walk *walk);

// Whether /proc leaves processes out of its list (mount options hidepid=2 and hidepid=4). A PID namespace always has
// its first process, so where that is not shown, others' are not. Where it is the tool's user's own, that cannot be
// told: false.
bool processes_are_unlisted(void);

// Values of the auxiliary vector that the kernel gave the program (getauxval(3)), by their types: AT_... of <elf.h>. 0
// where it has none.
struct hs_error *process_auxv(const struct process *process, const uint64_t *types, size_t count,
			      uint64_t *values_ret) HS_MUST_CHECK;

#endif
