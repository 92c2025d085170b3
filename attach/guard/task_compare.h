// SPDX-License-Identifier: Apache-2.0
// kcmp(2), which may take long: the kernel takes a lock of both processes for it (exec_update_lock, kernel/kcmp.c), and
// whoever executes a program holds that while it gives up its old memory and, in most kernels, closes descriptors
// (begin_new_exec in fs/exec.c). That is for as long as the scheduler lets it wait, as its memory is large, and as a
// file system takes for a flush: without an end, where that is a program (FUSE).
//
// So other processes ask, and the tool looks at them. Where one sleeps in kcmp(2), somebody holds that lock for himself
// alone. If the other process has one thread only, that is itself, on its way to another program, and past the point
// from which it cannot return: it runs no code any more in memory that was shared, and has descriptors of its own
// (de_thread, unshare_files, then exec_mmap, in begin_new_exec). In kernels before 5.11 readers take the lock alone as
// well. Where nobody is seen to sleep there, the tool waits on: while a target stands still for TASK_COMPARE_MS in all,
// else for five seconds, less when there was something without an answer before, or until it is interrupted.
#ifndef HEAPSNAP_ATTACH_GUARD_TASK_COMPARE_H
#define HEAPSNAP_ATTACH_GUARD_TASK_COMPARE_H

#include "base/error.h"

#include <linux/kcmp.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	TASK_COMPARE_MS = 300,
	TASK_COMPARE_LEAVES = 3, // beside what kcmp(2) says of these types
};

// Of two threads, as kcmp(2): 0 = they have the same, 1 or 2 = another, negative, with errno = it is not known.
// TASK_COMPARE_LEAVES: the other one executes a program, and will have another. `type`: KCMP_VM or KCMP_FILES.
// ETIMEDOUT: the kernel has not said so in time. Where no process can be started, and nothing stands still, the tool
// asks itself.
long task_compare(pid_t tid, pid_t other_tid, enum kcmp_type type);
// The same of several at a time: results_ret[i] is of other_tids[i], a negative one an errno.
void task_compare_all(pid_t tid, const pid_t *other_tids, size_t count, enum kcmp_type type, long *results_ret);

// HS_ERROR_REFUSED when the kernel has not said in time what was asked since the last forget: nothing may be concluded
// then. `target`: for the message.
void task_compare_forget(void);
struct hs_error *task_compare_check(pid_t target) HS_MUST_CHECK;

// Standstills (standstill.h). begin: before the first thread is interrupted; HS_ERROR_SYSTEM: a limit of processes.
struct hs_error *task_compare_begin(void) HS_MUST_CHECK;
void task_compare_end(void);
// After the last one: gives back the processes that ask.
void task_compare_done(void);

#endif
