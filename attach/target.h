// SPDX-License-Identifier: Apache-2.0
// What can be learned of a process without touching it, and whether heapsnap may go on.
#ifndef HEAPSNAP_ATTACH_TARGET_H
#define HEAPSNAP_ATTACH_TARGET_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target_info {
	pid_t pid;
	char *name;             // comm; owned
	char *executable;       // readlink of /proc/PID/exe; NULL when it cannot be read; owned
	char state;             // R S D T t Z X, as in /proc/PID/stat
	uint64_t start_time;    // clock ticks since boot (field 22 of stat): tells a reused PID
	uint32_t thread_count;
	uint32_t tracer;        // TracerPid; 0 = none
	uint32_t seccomp_mode;  // 0 none, 1 strict, 2 filter
	uint64_t locked_bytes;  // VmLck
	uint64_t address_space_limit; // RLIMIT_AS in bytes; UINT64_MAX = none
	uint64_t address_space_used;  // VmSize in bytes
	uint64_t stack_limit;   // RLIMIT_STACK in bytes; UINT64_MAX = none
};

// Reads the facts and refuses (HS_ERROR_REFUSED, each message says what and what to do): no such process, a thread id that is
// no process, a kernel thread, a zombie or exiting process, the tool itself, a 32-bit process, one traced by another (names the
// tracer's pid and program), one that this tool may not trace (says which of uid, capability, Yama or dumpable it is, and the
// remedy), a seccomp mode that would kill or block the injected calls. *ret is valid only on success.
struct hs_error *target_examine(pid_t pid, struct target_info *ret) HS_MUST_CHECK;
void target_info_deinit(struct target_info *info);

// Parses a PID as users type it: decimal, positive, nothing after it. HS_ERROR_REFUSED otherwise.
struct hs_error *target_parse_pid(const char *text, pid_t *ret) HS_MUST_CHECK;

#endif
