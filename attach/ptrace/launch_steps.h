// SPDX-License-Identifier: Apache-2.0
// The stops of a process on its way to the moment at which it is held. For launch.c and launch_hold.c.
#ifndef HEAPSNAP_ATTACH_PTRACE_LAUNCH_STEPS_H
#define HEAPSNAP_ATTACH_PTRACE_LAUNCH_STEPS_H

#include "attach/ptrace/stop_wait.h"
#include "base/error.h"

#include <signal.h>
#include <sys/types.h>

// A stop that has no signal to be passed on, as of a breakpoint.
static const struct stop LAUNCH_PLAIN_STOP = { .kind = STOP_EVENT, .signal = SIGTRAP };

// Waits for a stop, and lets nothing but a signal that asks the tool to end stop it (HS_ERROR_INTERRUPTED).
struct hs_error *launch_next_stop(pid_t tid, struct stop *ret) HS_MUST_CHECK;
// What is no business of ours takes its way: signals, and stops of the whole process, which stands anyway.
// HS_ERROR_GONE where it has ended.
struct hs_error *launch_pass(pid_t tid, const struct stop *stop) HS_MUST_CHECK;
// Out of the stop that it stands in, which takes its way, into one of this tool's making, or of the whole process.
struct hs_error *launch_stop_in_place(pid_t tid, const struct stop *stop, struct stop *ret) HS_MUST_CHECK;
struct hs_error *launch_ended(pid_t tid) HS_MUST_CHECK;

#endif
