// SPDX-License-Identifier: Apache-2.0
// Points at which the work can be rolled back: a signal ends it there, or the time for which a target stands.
#ifndef HEAPSNAP_ATTACH_GUARD_INTERRUPT_H
#define HEAPSNAP_ATTACH_GUARD_INTERRUPT_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

// HS_ERROR_INTERRUPTED when a signal has come (interrupt_signal.h), HS_ERROR_TIMEOUT when a target has stood still for
// too long (standstill.h); asked between the steps of each transaction.
struct hs_error *interrupt_check(void) HS_MUST_CHECK;

// Fault points, for tests; in every build, so that what is tested is what is shipped. They give nobody a power over the
// tool that a signal does not give: a tool with more rights than its user does not look at the environment
// (base/test_variable.h).
//
// HEAPSNAP_FAIL_AT=N in the environment makes the Nth call of this function in the process fail with
// HS_ERROR_INTERRUPTED; HEAPSNAP_KILL_AT=N makes the Nth call raise SIGKILL; HEAPSNAP_HANG_AT=N makes it wait for ever.
// Every step of attach, dump and detach passes through here: it also calls interrupt_check. `step` names the step for
// -v. HEAPSNAP_STOP_AT=STEP makes each call with that name raise SIGSTOP first, so that a test can do something
// meanwhile; or, with HEAPSNAP_STOP_SIGNAL=NUMBER, another signal.
struct hs_error *fault_point(const char *step) HS_MUST_CHECK;

// Called before each single change of the target: ptrace requests, writes to its memory, files and region, each record
// of the journal. HEAPSNAP_KILL_AT_REQUEST=N raises SIGKILL at the Nth, HEAPSNAP_STOP_AT_REQUEST=N SIGSTOP,
// HEAPSNAP_HANG_AT_REQUEST=N waits for ever. Never fails, so that undoing passes through it too.
void fault_request(void);

// Whom these SIGKILL: `pid` instead of the process itself.
void fault_kills(pid_t pid);

#endif
