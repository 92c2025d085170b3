// SPDX-License-Identifier: Apache-2.0
// The locks on one file, as /proc/locks lists them (proc_locks(5)).
//
// The list is of the whole system, and any user can make it long. The kernel finds the place of each read by counting
// from its beginning, with every other user of locks kept waiting, so that time grows with the square of its length: at
// 1 MiB a read of 4 KiB takes 0.2 ms, at 12 MiB 15 ms (seen on Linux 6.18). So the list is read up to 1 MiB (some 16000
// locks), and for 200 ms of processor time at most.
#ifndef HEAPSNAP_ATTACH_GUARD_LOCK_LIST_H
#define HEAPSNAP_ATTACH_GUARD_LOCK_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct listed_lock {
	bool is_flock; // else one of an open file description, which has no PID
	pid_t pid; // who took it, and may have ended since; a lock of one outside of this PID namespace is not listed
	int64_t start;
};

// False: no more is wanted.
typedef bool lock_list_visit(const struct listed_lock *lock, void *context);

// Returns 0, or an errno; ETIME: the list is too long, and `visit` has not got all.
int lock_list_read(const struct stat *file, lock_list_visit *visit, void *context);

#endif
