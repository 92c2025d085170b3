// SPDX-License-Identifier: Apache-2.0
// One tool at a time is at work on a process.
//
// The lock is an flock of /proc/PID/personality, a file that belongs to the process alone:
// - The kernel gives it up when the last process that has the descriptor ends, however it ends. Nothing lies on a disk,
//   and nothing in the target.
// - Only the target's own user and root may open it (mode 0400, as for ptrace), so no other user can hold it to keep
//   anybody out. The target's owner can; they can have it traced by another program as well.
// - It is the same for root, users, and every other mount, network and user namespace, as long as they see the same
//   mount of /proc.
// - Reading it does nothing.
//
// Where the main thread has ended, only root may open that file. So the file of the first thread that lives is locked
// as well, by root too. Who may not open the first finds in /proc/locks whether somebody has locked it or stands in it
// by name: root, or a tool that began before the main thread ended. Where that list is too long
// (attach/guard/lock_list.h), such a tool is refused. What is not found: the lock of a user's tool that began after
// that, and whose thread has ended since. The kernel's rule remains that a thread has one tracer.
//
// Another mount of /proc (a container's own) has other files. So a pidfd of the target is locked as well
// (attach/guard/pidfd_lock.h).
//
// The holder says so by a read lock of one byte of the same file, at an offset that is made of the command and the
// process id. A tool that finds the lock taken asks for these. The id is that of the PID namespace of this /proc.
#ifndef HEAPSNAP_ATTACH_GUARD_WORK_LOCK_H
#define HEAPSNAP_ATTACH_GUARD_WORK_LOCK_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The names are the commands'. The order does not change: tools of two versions meet.
#define HS_WORKS(X) X(attach) X(set) X(dump) X(detach)

enum work {
#define X(name) WORK_##name,
	HS_WORKS(X)
#undef X
		WORK_COUNT
};

struct work_lock {
	int fd;        // of the process's own file; -1 = none
	int thread_fd; // of a thread's, where the main thread has ended; -1 = none
	int pidfd;     // -1 = none, or it is no lock for all
	enum work work;
};

// Refuses with the name of who has it, and touches nothing. A dump waits for another dump, which has it only while it
// copies. A process that is not there, or whose files may not be opened, has no lock to take: what comes next says why.
struct hs_error *work_lock_take(const struct process *process, enum work work, struct work_lock *ret) HS_MUST_CHECK;

// After a fork of which the child does the work (attach/guard/tool_guard.h): it has the lock, and now its own id stands
// there, and in the kernel's list, where its parent may have ended.
void work_lock_follow(const struct work_lock *lock);

void work_lock_release(struct work_lock *lock);

// For `check`: whether work_lock_take would refuse now, with a text that says why. What it cannot see without a lock of
// its own, as /proc/locks cannot be read or is too long, is told by the name alone.
bool work_lock_is_taken(const struct process *process, char *text, size_t size);

// Pure: the byte that says what is done and by whom, and back. False: no such byte is written by heapsnap.
int64_t work_lock_byte(enum work work, pid_t holder);
bool work_lock_read_byte(int64_t byte, enum work *work_ret, pid_t *holder_ret);

#endif
