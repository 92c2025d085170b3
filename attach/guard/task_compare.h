// SPDX-License-Identifier: Apache-2.0
// kcmp(2), which may take long: the kernel takes a lock of both processes for it (exec_update_lock, kernel/kcmp.c), and
// whoever executes a program holds that while it gives up its old memory and closes descriptors (begin_new_exec in
// fs/exec.c). That is for as long as the scheduler lets it wait, as its memory is large, and as a file system takes for
// a flush: without an end, where that is a program (FUSE).
//
// So another process asks, and the tool looks at it. Where that waits in kcmp(2) (its wchan says so), one of the two is
// executing a program, because nobody but who does so takes that lock for itself alone, and is past the point from
// which it cannot return to the old one: it runs no code in memory that was shared before, and has descriptors of its
// own (de_thread, unshare_files, then exec_mmap, in begin_new_exec). In kernels before 5.7 the lock was another one,
// held from an earlier point on. Where it is not seen to wait there, the tool waits on: while a target stands still for
// TASK_COMPARE_MS in all, else for five seconds, or until it is interrupted.
#ifndef HEAPSNAP_ATTACH_GUARD_TASK_COMPARE_H
#define HEAPSNAP_ATTACH_GUARD_TASK_COMPARE_H

#include "base/error.h"

#include <linux/kcmp.h>
#include <sys/types.h>

enum {
	TASK_COMPARE_MS = 300,
	TASK_COMPARE_LEAVES = 3, // beside what kcmp(2) says of these types
};

// Of two threads, as kcmp(2): 0 = they have the same, 1 or 2 = another, negative, with errno = it is not known.
// TASK_COMPARE_LEAVES: one of them executes a program, and will have another; only in kernels since 5.9, which are
// known by close_range(2). `type`: KCMP_VM or KCMP_FILES. ETIMEDOUT: the kernel has not said so in time. Where no
// process can be started, and nothing stands still, the tool asks itself.
long task_compare(pid_t tid, pid_t other_tid, enum kcmp_type type);

// The thread about which the kernel has not said in time, the last one since the last forget; 0 = there is none.
pid_t task_compare_unanswered(void);
void task_compare_forget(void);

// Standstills (standstill.h). begin: before the first thread is interrupted; HS_ERROR_SYSTEM: a limit of processes.
struct hs_error *task_compare_begin(void) HS_MUST_CHECK;
void task_compare_end(void);
// After the last one: gives back the process that asks.
void task_compare_done(void);

#endif
