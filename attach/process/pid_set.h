// SPDX-License-Identifier: Apache-2.0
// Numbers of processes or threads that were looked at before a freeze, so that under it only new ones need to be.
#ifndef HEAPSNAP_ATTACH_PROCESS_PID_SET_H
#define HEAPSNAP_ATTACH_PROCESS_PID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pid_set {
	pid_t *pids; // sorted; owned
	size_t count;
};

// The numbers in a directory of /proc for which `include` says so. What cannot be read, or finds no memory, is left
// out.
void pid_set_list(const char *directory, bool (*include)(pid_t, void *), void *context, struct pid_set *ret);
void pid_set_deinit(struct pid_set *set);
bool pid_set_has(const struct pid_set *set, pid_t pid);

// The first thread of the process that passes; 0 = none does, or the process is gone.
pid_t pid_first_thread(pid_t pid, bool (*passes)(pid_t tid, void *context), void *context);

#endif
