// SPDX-License-Identifier: Apache-2.0
// Threads of a process that never run its code: the kernel's own workers for io_uring and vhost. They are listed among
// its threads and can be traced, but need not be stopped. Interrupting one makes the request that it works at fail.
#ifndef HEAPSNAP_ATTACH_PROCESS_KERNEL_WORKERS_H
#define HEAPSNAP_ATTACH_PROCESS_KERNEL_WORKERS_H

#include "attach/process/pid_set.h"
#include "base/process.h"

// The threads that are no workers, listed while the process still runs. What cannot be read now is looked at later.
void user_threads_list(const struct process *process, struct pid_set *ret);

// Whether the thread is a worker. Reads /proc unless it is in the list.
bool thread_is_kernel_worker(const struct process *process, pid_t tid, const struct pid_set *user_threads);

// Pure: the same, from the text of /proc/PID/task/TID/stat.
bool stat_is_of_kernel_worker(const char *text);

#endif
