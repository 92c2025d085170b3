// SPDX-License-Identifier: Apache-2.0
// Whether a process can be attached to, as far as the facts of /proc say. Pure.
#ifndef HEAPSNAP_ATTACH_PROCESS_TARGET_JUDGE_H
#define HEAPSNAP_ATTACH_PROCESS_TARGET_JUDGE_H

#include "attach/process/diagnostics.h"
#include "attach/process/target.h"

// Refuses: a thread id that is no process, a kernel thread, the tool itself, a zombie; one traced
// by another (names the tracer's pid and program); one that this tool may not trace (says which of uid, capability,
// Yama or dumpable it is, and the remedy); a 32-bit process; a seccomp mode that would kill or block the injected
// calls; shadow stacks everywhere. All that apply, in this order. Warns of threads that are stopped, or in a sleep that
// does not end on a signal.
void target_judge(const struct target_info *info, struct diagnostics *diagnostics);

// A frozen cgroup: a reason against all for which threads have to run, which a dump is not.
void target_judge_frozen(const struct target_info *info, struct diagnostics *diagnostics);

// The first part of it alone: whether it is a process with a memory of its own.
void target_judge_kind(const struct target_info *info, struct diagnostics *diagnostics);

#endif
