// SPDX-License-Identifier: Apache-2.0
// What stands against attaching to a process that the tool follows with others. While it attaches it does nothing for
// the others: those that have stopped stand.
#ifndef HEAPSNAP_ATTACH_PTRACE_FOLLOW_ATTACH_H
#define HEAPSNAP_ATTACH_PTRACE_FOLLOW_ATTACH_H

#include "base/error.h"
#include "base/process.h"

// HS_ERROR_REFUSED_FOR_GOOD: it has a seccomp filter. To guard it the tool would go on in a child (attach/guard/
// tool_guard.h), which is not the tracer of those that it follows.
struct hs_error *follow_attach_check_filters(const struct process *process) HS_MUST_CHECK;

// So too of one that runs. HS_ERROR_REFUSED: not now. A thread of it would not come to its stop, or another process
// shares its memory or descriptors: one that it waits for, say, or that waits for it, until this tool lets it go on.
// HS_ERROR_SYSTEM. Nothing is touched.
struct hs_error *follow_attach_check(const struct process *process) HS_MUST_CHECK;

#endif
