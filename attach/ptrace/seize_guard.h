// SPDX-License-Identifier: Apache-2.0
// PTRACE_SEIZE with a bound. The kernel takes the target's cred_guard_mutex for it, which an exec holds while it waits
// for the other threads to die; if one of these is already traced, it waits for the tracer to reap it, and the tracer
// waits for the mutex: a deadlock (ptrace_attach in kernel/ptrace.c, de_thread in fs/exec.c). The kernel restarts the
// wait after each signal, so that only a jump out of the signal's handler ends it.
#ifndef HEAPSNAP_ATTACH_PTRACE_SEIZE_GUARD_H
#define HEAPSNAP_ATTACH_PTRACE_SEIZE_GUARD_H

#include "base/error.h"
#include "base/process.h"

#include <stdint.h>
#include <sys/types.h>

// Before one or more seizes, and after them. Takes SIGALRM, for good, and the process's real-time interval timer. pre:
// the process has one thread.
struct hs_error *seize_guard_begin(void) HS_MUST_CHECK;
void seize_guard_end(void);
// pre: between seize_guard_begin and seize_guard_end. HS_ERROR_GONE, HS_ERROR_SYSTEM; HS_ERROR_TIMEOUT when it took too
// long: an exec is under way, which may still fail, so the thread may live on. It may even be traced, where the signal
// came between the request and its return.
struct hs_error *seize_guarded(pid_t tid, unsigned long options) HS_MUST_CHECK;
// As seize_guarded, of a thread of the process that must not be missed, until CLOCK_MONOTONIC is `deadline` (ns): one
// that is traced by this program already counts as seized, and where one is about to take another's id by an exec, that
// is waited for. An error with EPERM: it has ended, or must not be traced.
struct hs_error *seize_member(const struct process *process, pid_t tid, unsigned long options,
			      uint64_t deadline) HS_MUST_CHECK;

#endif
