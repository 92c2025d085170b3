// SPDX-License-Identifier: Apache-2.0
// kcmp(2), which may take long: the kernel takes a lock of both processes for it (exec_update_lock, kernel/kcmp.c), and
// whoever executes a program holds that while it gives up its old memory and closes descriptors (begin_new_exec in
// fs/exec.c). That is for as long as the scheduler lets it wait, as its memory is large, and as a file system takes for
// a flush: without an end, where that is a program (FUSE).
//
// So another process asks, and the tool waits for it: while a target stands still for TASK_COMPARE_MS in all, else for
// five seconds, or until it is interrupted.
#ifndef HEAPSNAP_ATTACH_GUARD_TASK_COMPARE_H
#define HEAPSNAP_ATTACH_GUARD_TASK_COMPARE_H

#include "base/error.h"

#include <linux/kcmp.h>
#include <sys/types.h>

enum { TASK_COMPARE_MS = 300 };

// Of two threads, as kcmp(2): 0 = they have the same, 1 or 2 = another, negative, with errno = it is not known.
// `type`: KCMP_VM or KCMP_FILES. ETIMEDOUT: the kernel has not said so in time. Where no process can be started, and
// nothing stands still, the tool asks itself.
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
