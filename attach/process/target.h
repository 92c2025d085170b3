// SPDX-License-Identifier: Apache-2.0
// What can be learned of a process without touching it.
#ifndef HEAPSNAP_ATTACH_PROCESS_TARGET_H
#define HEAPSNAP_ATTACH_PROCESS_TARGET_H

#include "attach/process/cgroup.h"
#include "attach/process/memory_group.h"
#include "attach/process/target_access.h"
#include "attach/process/thread_facts.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target_info {
	pid_t pid;
	char *name;           // comm; owned
	char *executable;     // readlink of /proc/PID/exe; NULL when it cannot be read; owned
	char state;           // R S D T t Z X, as in /proc/PID/stat
	uint64_t stack_start; // where the main thread's stack pointer was at the program's start; 0 = may not be known
	uint32_t thread_count;
	pid_t tgid;            // the process: differs from `pid` when that is a thread's id
	char process_name[64]; // comm of `tgid`
	pid_t parent;
	bool kernel_thread;
	bool is_self; // the tool
	// What follows is not read (0) of what is no process with a memory of its own, by these fields.
	uint32_t tracer;      // TracerPid; 0 = none
	char tracer_name[64]; // comm of `tracer`
	// errno of opening its memory for reading and writing, which asks for the same right as ptrace; 0 = it may be
	int access_error;
	struct access_facts access;
	bool is_32_bit;
	struct thread_facts threads;
	uint32_t tool_seccomp_mode;
	struct memory_group group;
	char frozen[FROZEN_TEXT_SIZE]; // what says that its cgroup is frozen; "" = it is not
	uint64_t locked_bytes;         // VmLck
	uint64_t address_space_limit;  // RLIMIT_AS in bytes; UINT64_MAX = none
	uint64_t address_space_used;   // VmSize in bytes
	uint64_t stack_limit;          // RLIMIT_STACK in bytes; UINT64_MAX = none
};

// A process that traces some of a target's threads without being in the way, from now on: it only follows it
// (attach/ptrace/follow.h).
void target_is_followed_by(uint32_t tracer);

// Reads the facts. HS_ERROR_NOT_FOUND: there is no such process (any more). *ret is valid only on success.
struct hs_error *target_read(const struct process *process, struct target_info *ret) HS_MUST_CHECK;
void target_info_deinit(struct target_info *info);

// Reads them and refuses as attach/process/target_judge.h decides: with the first refusal. *ret is valid only on
// success.
struct hs_error *target_examine(const struct process *process, struct target_info *ret) HS_MUST_CHECK;

// Refuses a thread's number, in the same words: below it /proc shows the whole process. What cannot be read is none.
struct hs_error *target_refuse_thread(const struct process *process) HS_MUST_CHECK;

// Why the kernel does not let the tool look at the process, in the same words. pre: it has said EACCES or EPERM to the
// opening of a file in /proc that only those may read who might trace the process.
struct hs_error *target_refuse_look(const struct process *process) HS_MUST_CHECK;

// Refuses a 32-bit program.
struct hs_error *target_refuse_32_bit(const struct process *process) HS_MUST_CHECK;

// Refuses where threads have to run for what is to be done: a frozen cgroup keeps them from it. Pure.
struct hs_error *target_refuse_frozen(const struct target_info *info) HS_MUST_CHECK;

#endif
