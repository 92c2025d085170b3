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

// Of all threads of a process, each looked at once.
struct threads_seen {
	uint32_t count;
	uint64_t masks;   // a digest of what must be the same before and after a stop: their ids and signal masks
	bool is_untraced; // no process traces any that will run on: one that ends is released when it is dead
			  // (ending_threads.h). False also when no thread can be looked at
};

struct threads_seen threads_see(const struct process *process);

#endif
