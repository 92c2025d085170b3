// SPDX-License-Identifier: Apache-2.0
// Processes that share the target's memory without being its threads: made by clone(2) with CLONE_VM but without
// CLONE_THREAD, or by vfork. A freeze does not stop them, so they might run code at the very moment when it is patched
// or unmapped. A vfork child is no danger as long as its parent's thread waits for it: that thread cannot be stopped,
// and so nothing can be frozen. And processes that share its descriptors (clone(2) with CLONE_FILES), which could
// exchange what a number stands for while it is used.
#ifndef HEAPSNAP_ATTACH_PROCESS_MEMORY_SHARERS_H
#define HEAPSNAP_ATTACH_PROCESS_MEMORY_SHARERS_H

#include "attach/process/pid_set.h"
#include "base/error.h"
#include "base/process.h"

#include <sys/types.h>

// Processes with memory and descriptors of their own, listed before the freeze: no process begins to share another's
// after its birth.
void memory_strangers_list(const struct process *process, struct pid_set *ret);

// HS_ERROR_REFUSED, with its number, when another process shares the memory of `process`, of which `tid` is a thread
// that has not ended. pre: every thread of it is stopped. Without kcmp(2) nothing is found.
struct hs_error *memory_sharers_check(const struct process *process, pid_t tid,
				      const struct pid_set *strangers) HS_MUST_CHECK;

enum { HS_SHARERS_WAIT_MS = 2000 }; // how long attach and detach wait

// Before anything is stopped: waits, at most `wait_ms`, until the processes that share the memory now have stopped
// sharing it; most vfork children exec at once. A thread that waits for one cannot be stopped, and all others would
// stand still while it is waited for. HS_ERROR_REFUSED names one that stays. Processes that begin to share it meanwhile
// are not waited for, since a program whose threads vfork all the time always has one: memory_sharers_check proves
// under the freeze, in which none is made, that none is left.
struct hs_error *memory_sharers_wait(const struct process *process, unsigned wait_ms) HS_MUST_CHECK;

// HS_ERROR_REFUSED, with its number, when another process shares the descriptors of `tid`, a thread of `process`.
// Without kcmp(2), and where /proc does not show that process, nothing is found.
struct hs_error *descriptor_sharers_check(const struct process *process, pid_t tid,
					  const struct pid_set *strangers) HS_MUST_CHECK;

// Before anything is stopped: waits as memory_sharers_wait does, for those that share any table that the threads have.
// Which of them will make the calls is not known yet, and whether attach refuses is not to depend on it.
struct hs_error *descriptor_sharers_wait(const struct process *process, unsigned wait_ms) HS_MUST_CHECK;

#endif
