// SPDX-License-Identifier: Apache-2.0
// How each command that works on a process begins and ends: attach, set, detach, and dump.
#ifndef HEAPSNAP_ATTACH_SESSION_TRANSACTION_H
#define HEAPSNAP_ATTACH_SESSION_TRANSACTION_H

#include "attach/guard/work_lock.h"
#include "attach/process/target.h"
#include "base/error.h"
#include "base/process.h"

struct transaction {
	const struct process *process; // not owned
	struct work_lock lock;
	struct target_info target; // as it was at the beginning
};

// Takes the lock, looks at the process, and refuses as target_examine does. Nothing is touched. What the process stands
// still for counts from here (standstill.h). After success transaction_end is called.
struct hs_error *transaction_begin(const struct process *process, enum work work,
				   struct transaction *ret) HS_MUST_CHECK;

// Before the first stop. Refuses a frozen process, and goes on in a child of the tool where the end of the tool could
// kill the process (attach/guard/tool_guard.h).
struct hs_error *transaction_will_stop(const struct transaction *transaction) HS_MUST_CHECK;

// After the last stop, whatever came of it. Gives back what was taken, and returns `error` with the reason added where
// memory could not be read (fault_reason.h).
struct hs_error *transaction_end(struct transaction *transaction, struct hs_error *error) HS_MUST_CHECK;

#endif
