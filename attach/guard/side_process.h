// SPDX-License-Identifier: Apache-2.0
// A process beside the tool that shares its memory (CLONE_VM): it costs no copy of it, is locked with it, and goes on
// when the tool waits. It makes bare system calls only, because the C library's state is the tool's, and is not
// instrumented. It is in the tool's cgroup, as every child is, and ends with the tool.
#ifndef HEAPSNAP_ATTACH_GUARD_SIDE_PROCESS_H
#define HEAPSNAP_ATTACH_GUARD_SIDE_PROCESS_H

#include "attach/arch/syscall.h"
#include "base/error.h"
#include "inject/abi/sanitizer_marks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct side_process {
	const char *what;       // for messages: "watchdog"
	int (*run)(void *);     // of this; begins with side_process_enter, and ends the process when it returns
	pid_t pid;              // 0 = it is not there
	pid_t owner;            // who has started it; a process that was forked since has none
	void *stack;            // stays mapped until the process is reaped
	pid_t tool;             // of whom it is beside
	int tool_fd;            // pidfd, in the tool only while it starts; -1: the kernel has none (before Linux 5.3)
	_Atomic uint32_t ready; // a futex: it ends with the tool from now on, and has none of its descriptors
};

// Starts it, if it is not there, and waits until it is ready. pre: no thread is stopped. HS_ERROR_SYSTEM: it cannot be
// started (a limit of processes); HS_ERROR_TIMEOUT, HS_ERROR_INTERRUPTED.
struct hs_error *side_process_start(struct side_process *process) HS_MUST_CHECK;
// Kills and reaps it.
void side_process_stop(struct side_process *process);
// Whether this process has started one that is not stopped.
bool side_process_is_there(const struct side_process *process);

// In the process itself, first of all: named, in a session of its own, out of reach of what is sent to the terminal's
// process group, at the highest priority. Of descriptors it keeps the tool's pidfd, as number 0, and standard error if
// that is wanted. False: the tool has ended, or the process would outlive it.
bool side_process_enter(struct side_process *process, const char *name, bool keeps_errors);

// Bare system calls; negative = an errno.
HS_NOT_INSTRUMENTED static inline long bare_call1(long number, long one)
{
	return arch_own_syscall(number, one, 0, 0, 0, 0);
}
HS_NOT_INSTRUMENTED static inline long bare_call2(long number, long one, long two)
{
	return arch_own_syscall(number, one, two, 0, 0, 0);
}
HS_NOT_INSTRUMENTED static inline long bare_call3(long number, long one, long two, long three)
{
	return arch_own_syscall(number, one, two, three, 0, 0);
}

#endif
