// SPDX-License-Identifier: Apache-2.0
// A process that kills the tool when a target has stood still for too long, whatever the tool waits for. The end of the
// tracer ends the tracing, and every state that it leaves can be left for ever (docs/target-safety.md).
//
// It shares the tool's memory (side_process.h), and the memory of a tool that is killed is given back by the watchdog,
// after the target has been let go. If the tool's cgroup is frozen, both stand (standstill.h).
#ifndef HEAPSNAP_ATTACH_GUARD_FREEZE_WATCHDOG_H
#define HEAPSNAP_ATTACH_GUARD_FREEZE_WATCHDOG_H

#include "base/error.h"
#include "base/process.h"

#include <stdint.h>
#include <sys/types.h>

// Starts it, if it is not there. Where that cannot be (a limit of processes), nothing may be stopped: HS_ERROR_SYSTEM.
// `least`: from arming to `wake_at` at least, ns.
struct hs_error *freeze_watchdog_start(uint64_t least) HS_MUST_CHECK;
// From now on the tool must come to `freeze_watchdog_disarm` before `kill_at` (CLOCK_MONOTONIC, ns). At `wake_at` the
// watchdog sends it SIGCONT, in case that it was stopped. `process` and `bound`, ns: for the message.
void freeze_watchdog_arm(const struct process *process, uint64_t wake_at, uint64_t kill_at, uint64_t bound);
void freeze_watchdog_disarm(void);
// Ends and reaps it.
void freeze_watchdog_stop(void);

// From now on a process knows the watchdog of a child that it forks. Where there is no memory for that it does not.
void freeze_watchdog_share(void);
// 0 = none. Once that child has ended it may be a child of this process.
pid_t freeze_watchdog_of_child(void);

#endif
