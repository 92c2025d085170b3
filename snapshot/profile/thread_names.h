// SPDX-License-Identifier: Apache-2.0
// The names of a process's threads, as they are now.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_THREAD_NAMES_H
#define HEAPSNAP_SNAPSHOT_PROFILE_THREAD_NAMES_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread_name {
	uint32_t tid;   // in the process's own PID namespace, as the payload sees it
	uint32_t shown; // as it is seen from here
	char name[16];  // TASK_COMM_LEN (linux/sched.h); as the target has chosen it
};

// Zeroed = none.
struct thread_names {
	struct thread_name *items; // owned; by tid
	size_t count, room;
};

// Threads that end meanwhile are left out. *ret is the caller's after success. HS_ERROR_NO_MEMORY.
struct hs_error *thread_names_read(const struct process *process, struct thread_names *ret) HS_MUST_CHECK;
void thread_names_deinit(struct thread_names *names);

// NULL = there is none.
const struct thread_name *thread_names_find(const struct thread_names *names, uint32_t tid);

// Pure: of a text of /proc/PID/task/TID/status; false where something is missing. Of the escapes that the kernel puts
// into a name (a line feed and a backslash: proc_task_name in fs/proc/array.c) it undoes both.
bool thread_name_parse(const char *status, uint32_t shown, struct thread_name *ret);

#endif
