// SPDX-License-Identifier: Apache-2.0
// Why a process cannot be frozen, in words. For threads.c.
#ifndef HEAPSNAP_ATTACH_PTRACE_FREEZE_ERROR_H
#define HEAPSNAP_ATTACH_PTRACE_FREEZE_ERROR_H

#include "base/error.h"
#include "base/process.h"

#include <sys/types.h>

// HS_ERROR_TIMEOUT: this thread does not come to its stop; in which state it is, and where it waits.
struct hs_error *freeze_error_stuck(const struct process *process, pid_t tid) HS_MUST_CHECK;
// HS_ERROR_GONE
struct hs_error *freeze_error_exec(const struct process *process) HS_MUST_CHECK;
// HS_ERROR_REFUSED: a thread waits for a child (vfork) that stands, too, until its follower lets it go on.
struct hs_error *freeze_error_vfork(const struct process *process) HS_MUST_CHECK;
// HS_ERROR_REFUSED: its main thread does not run any more.
struct hs_error *freeze_error_ends(const struct process *process) HS_MUST_CHECK;
// HS_ERROR_TIMEOUT
struct hs_error *freeze_error_too_fast(const struct process *process) HS_MUST_CHECK;

#endif
