// SPDX-License-Identifier: Apache-2.0
// The time in which a target stands still, from before the first thread is interrupted until the last is released. It
// has a bound, whatever the tool does or waits for; so has the sum of these times in one command, which is the same
// bound:
//
// - the tool waits for nothing that somebody else must do: it opens and reads no file but those of /proc (what it needs
//   of others is read before), asks for no page that a file is behind (refused_reads.h), takes no lock of another
//   process (task_compare.h), and messages wait in memory;
// - the tool cannot be stopped from its terminal, and its memory is resident;
// - after STANDSTILL_WAKE of the bound it rolls back by itself, as on a signal (interrupt.h), and waits end;
// - at the bound it is killed (freeze_watchdog.h).
//
// The bound holds as long as the watchdog runs. It does not hold where the watchdog is kept from running together with
// the tool: the tool's cgroup is frozen (docker pause of the container that the tool is in), the machine is suspended,
// or somebody stops both. Then the target stands until they run again.
#ifndef HEAPSNAP_ATTACH_GUARD_STANDSTILL_H
#define HEAPSNAP_ATTACH_GUARD_STANDSTILL_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// HEAPSNAP_MAX_FREEZE_MS in the environment makes the bound shorter, for tests; as the fault points it is not heeded by
// a tool with more rights than its user (interrupt.h).
#define STANDSTILL_BOUND_MS 5000
// Percent of the bound.
#define STANDSTILL_WAKE 70

// How long it may take to stop all threads, ms (threads_freeze).
#define HS_FREEZE_TIMEOUT_MS 2000u

// pre: nothing of `process` is stopped yet. On failure nothing has begun: HS_ERROR_TIMEOUT, the time of the
// command is spent.
struct hs_error *standstill_begin(const struct process *process) HS_MUST_CHECK;
// `all_released`: false, a thread is left that only the end of the tool releases (threads.h). Then the bound stays in
// force, and the tool must end.
void standstill_end(bool all_released);
// After the last standstill of a transaction: gives back what the first has taken, the watchdog and the lock on memory.
void standstill_done(void);

// From now on the standstills of this process count together: a command begins.
void standstill_add_up(void);
// Whether the command may not stop the target any more.
bool standstill_is_spent(void);

// HS_ERROR_TIMEOUT when it has lasted for too long.
struct hs_error *standstill_check(void) HS_MUST_CHECK;
// How long to wait for what ends at `deadline` otherwise (CLOCK_MONOTONIC, ns): not into the time for rolling back, and
// in that only for moments.
uint64_t standstill_deadline(uint64_t deadline);

// How long threads were stopped, in the stops of one command.
struct stop_times {
	uint64_t longest_ns, all_ns;
};

void stop_times_add(struct stop_times *times, uint64_t stopped_ns);

bool standstill_is_on(void);

#endif
