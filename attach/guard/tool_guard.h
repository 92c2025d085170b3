// SPDX-License-Identifier: Apache-2.0
// A tool whose death does not end its work: for targets whose seccomp filters would kill them if the tracer died at the
// wrong moment.
//
// Filters are suspended only as long as the tracer lives, and the kernel has no way to hand a thread a system call and
// let it go in one step: a tracer that is killed between the two leaves the thread with a call that its filter kills
// for. So the work is done by a child in a session of its own, and the process that the user started waits for it,
// passes signals on, and ends as it ends. SIGKILL to the latter does not hurt. What is left is SIGKILL to the child
// itself between the two.
#ifndef HEAPSNAP_ATTACH_GUARD_TOOL_GUARD_H
#define HEAPSNAP_ATTACH_GUARD_TOOL_GUARD_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>

// Goes on in the child. Once; later calls do nothing. pre: the process has one thread and traces no process.
struct hs_error *tool_guard_begin(void) HS_MUST_CHECK;

// From now on it cannot begin: HS_ERROR_REFUSED_FOR_GOOD. For a tool that traces processes beyond one command's work.
void tool_guard_forbid(void);

// Whether it has begun: another call would do nothing.
bool tool_guard_has_begun(void);

// The same for a tool that is the first process of a PID namespace: the kernel keeps every SIGKILL of that namespace
// from it (sig_task_ignored in kernel/signal.c), and so the watchdog could not end it (freeze_watchdog.h). Its child
// can be killed. The child stays in session and process group, so that a command of the tool's has the terminal.
struct hs_error *tool_guard_begin_where_immortal(void) HS_MUST_CHECK;

#endif
