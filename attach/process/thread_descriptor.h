// SPDX-License-Identifier: Apache-2.0
// Descriptors of single threads. Threads of a process mostly share one table of descriptors, but need not
// (unshare(CLONE_FILES)), and other processes may share it too (clone with CLONE_FILES) and change it at any time: a
// number means something only in one thread at one moment.
#ifndef HEAPSNAP_ATTACH_PROCESS_THREAD_DESCRIPTOR_H
#define HEAPSNAP_ATTACH_PROCESS_THREAD_DESCRIPTOR_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What thread `tid` has under `number`, as a descriptor of the tool: the open file itself, or a mere handle of it
// (O_PATH) where the kernel does not give that. Neither opens the file, whatever it is. *fd_ret is owned by the caller.
// HS_ERROR_NOT_FOUND: nothing is there.
struct hs_error *thread_descriptor_take(const struct process *process, pid_t tid, int64_t number,
					int *fd_ret) HS_MUST_CHECK;

// One thread for each table of descriptors that the process has, the main thread's first. Where the kernel cannot
// compare (kcmp(2)), one in all. On failure *ret is empty. HS_ERROR_REFUSED: the kernel did not compare them in time;
// HS_ERROR_NO_MEMORY.
struct descriptor_tables {
	pid_t *tids; // owned
	size_t count;
};
struct hs_error *descriptor_tables_list(const struct process *process, struct descriptor_tables *ret) HS_MUST_CHECK;
void descriptor_tables_deinit(struct descriptor_tables *tables);

// Whether the thread has one; it has none any more when it is about to be gone.
bool descriptor_table_exists(const struct process *process, pid_t tid);

// Compares the tables of two threads, as kcmp(2) does: 0 = it is one, 1 and 2 an order, TASK_COMPARE_LEAVES, negative =
// not permitted, a thread is gone, no such call, or no answer in time (attach/guard/task_compare.h).
long descriptor_tables_compare(pid_t tid, pid_t other_tid);

// Whether two threads have one table; false when the kernel does not tell, but for the same thread.
bool descriptor_table_is_shared(pid_t tid, pid_t other_tid);

#endif
