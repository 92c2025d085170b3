// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a thread, and of a process's threads, added up.
#ifndef HEAPSNAP_ATTACH_PROCESS_THREAD_FACTS_H
#define HEAPSNAP_ATTACH_PROCESS_THREAD_FACTS_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Reads /proc/PID/task/TID/stat: the state letter, 'X' when the thread is gone.
char thread_state(const struct process *process, pid_t tid);

// Whether it runs no instruction of the program any more: it is gone, dead, or the kernel is about to take it down.
// false where that cannot be read.
bool thread_is_ending(const struct process *process, pid_t tid);

// Whether this tool traces the thread; false also when it is gone.
bool thread_is_own_tracee(const struct process *process, pid_t tid);

struct thread_facts {
	uint32_t count;   // alive: zombies are left out, and the kernel's own workers (attach/process/kernel_workers.h)
	uint32_t stopped; // by a signal (SIGSTOP, Ctrl-Z)
	uint32_t uninterruptible; // in a sleep that no signal ends
	pid_t waiting;            // one of these
	char waits_in[64];        // the kernel's name for where; "" = it does not say
	uint32_t shadow_stacks;   // threads with a user shadow stack
	uint32_t filtered;        // threads with a seccomp mode
	uint32_t seccomp_mode;    // the highest: 0 none, 1 strict, 2 filter. A filter may be set for one thread alone.
};

// Pure: adds the thread whose status file says `status`.
void thread_facts_add(struct thread_facts *facts, pid_t tid, const char *status);

// Threads that come and go meanwhile may be missed. An error only when the process is gone.
struct hs_error *thread_facts_read(const struct process *process, struct thread_facts *ret) HS_MUST_CHECK;

#endif
