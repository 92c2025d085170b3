// SPDX-License-Identifier: Apache-2.0
// The texts of /proc/PID/status and of /proc/PID/task/TID/status (proc_pid_status(5)), and of /proc/PID/limits.
// A line of a status is "Key:\tvalue"; keys are given with their colon. All pure.
#ifndef HEAPSNAP_BASE_PROC_STATUS_H
#define HEAPSNAP_BASE_PROC_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Bytes of such a text, and of any other file of /proc/PID that is read whole. The longest has 65,536 groups
// (NGROUPS_MAX in linux/limits.h), ten digits each.
enum { PROC_STATUS_LIMIT = 1 << 20 };

// The value of the key, up to the end of its line. NULL where there is no such line.
const char *proc_status_field(const char *status, const char *key);

// The number of the key, in `base`. `fallback` where there is no such line.
uint64_t proc_status_number(const char *status, const char *key, int base, uint64_t fallback);

// Whether the signal is in the set of the key ("SigCgt:", say).
bool proc_status_has_signal(const char *status, const char *key, int signal);

// The state of the thread, a letter; '?' where it is not said.
char proc_status_state(const char *status);

// Of "Uid:" or "Gid:" the real, effective and saved id. False: there are none.
bool proc_status_ids(const char *status, const char *key, unsigned ret[3]);

// The id in the innermost PID namespace. 0 = it is not said: before Linux 4.1.
pid_t proc_status_innermost_id(const char *status);
// So too of the process, where the status is a thread's.
pid_t proc_status_innermost_process(const char *status);

// The soft limit of that name ("Max stack size") in a text of /proc/PID/limits. UINT64_MAX = none.
uint64_t proc_limits_soft(const char *limits, const char *name);

#endif
