// SPDX-License-Identifier: Apache-2.0
// Numbers of processes or threads that were looked at before a freeze, so that under it only new ones need to be.
#ifndef HEAPSNAP_ATTACH_PROCESS_PID_SET_H
#define HEAPSNAP_ATTACH_PROCESS_PID_SET_H

#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pid_set {
	pid_t *pids; // sorted; owned
	size_t count, room;
};

// The processes, or the threads of one, for which `include` says so. What cannot be read, or finds no memory, is left
// out. So are those that `is_known`, which nothing is opened for: there may be thousands, and a target that stands
// still.
void process_set_list(bool (*is_known)(pid_t pid, void *), bool (*include)(const struct process *, void *),
		      void *context, struct pid_set *ret);
void thread_set_list(const struct process *process, bool (*include)(pid_t tid, const void *), const void *context,
		     struct pid_set *ret);
void pid_set_deinit(struct pid_set *set);
// One more. False: no memory; the set is as before.
bool pid_set_add(struct pid_set *set, pid_t id) HS_MUST_CHECK;
bool pid_set_has(const struct pid_set *set, pid_t id);
const pid_t *pid_set_find(const struct pid_set *set, pid_t id); // its place in it; NULL = it is not

// The first thread of the process that passes; 0 = none does, or the process is gone.
pid_t thread_first(const struct process *process, bool (*passes)(const struct process *, pid_t tid, const void *),
		   const void *context);

#endif
