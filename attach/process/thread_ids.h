// SPDX-License-Identifier: Apache-2.0
// What /proc says of single threads.
#ifndef HEAPSNAP_ATTACH_PROCESS_THREAD_IDS_H
#define HEAPSNAP_ATTACH_PROCESS_THREAD_IDS_H

#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The thread's id in its own PID namespace; 0 = unknown.
uint32_t thread_id_inside(const struct process *process, pid_t tid);

// A digest of what must be the same before and after a stop: the ids and signal masks of all threads. *count_ret:
// threads.
uint64_t thread_masks_digest(const struct process *process, uint32_t *count_ret);

// Whether no process traces any thread of the process that will run on: one that ends is released when it is dead
// (ending_threads.h). False also when no thread can be looked at.
bool threads_are_untraced(const struct process *process);

#endif
