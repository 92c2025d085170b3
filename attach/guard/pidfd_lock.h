// SPDX-License-Identifier: Apache-2.0
// The lock of the target's pidfd: the part of the work lock (attach/guard/work_lock.h) for tools that see different
// mounts of /proc.
//
// Since Linux 6.9 all pidfds of a process are one file (pidfs). It is seen through every mount of /proc, and also when
// the main thread has ended.
//
// Every user can open it. So its lock counts only where /proc/locks shows who has it, and if that is root, the tool's
// user or the target's: they have a say. Where another user has a shared lock, the tool takes one beside it, and all
// that have one are asked.
//
// What remains: the tool on a host sees one in a container, but that one does not see the host's. Another user who has
// no say can hide a tool, by an exclusive lock or by a list that is too long: they may keep nobody out by that. In all
// these cases the kernel's rule remains that a thread has one tracer.
#ifndef HEAPSNAP_ATTACH_GUARD_PIDFD_LOCK_H
#define HEAPSNAP_ATTACH_GUARD_PIDFD_LOCK_H

#include "base/process.h"

#include <sys/types.h>

// Takes it for the process `self`, which is the tool. Returns another that has it, and a say; 0: there is none, or that
// cannot be told. The caller closes *fd_ret in any case; -1 = none, or this kernel has no such file.
pid_t pidfd_lock_take(const struct process *process, pid_t self, int *fd_ret);

// The same answer, without a lock of one's own.
pid_t pidfd_lock_rival(const struct process *process, pid_t self);

#endif
