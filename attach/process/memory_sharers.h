// SPDX-License-Identifier: Apache-2.0
// Processes that share the target's memory without being its threads: made by clone(2) with CLONE_VM but without
// CLONE_THREAD, or by vfork. A freeze does not stop them, so they might run code at the very moment when it is patched
// or unmapped. A vfork child is no danger as long as its parent's thread waits for it: that thread cannot be stopped,
// and so nothing can be frozen.
#ifndef HEAPSNAP_ATTACH_PROCESS_MEMORY_SHARERS_H
#define HEAPSNAP_ATTACH_PROCESS_MEMORY_SHARERS_H

#include "attach/process/sharing.h"
#include "base/error.h"
#include "base/process.h"

#include <sys/types.h>

// HS_ERROR_REFUSED, with its number, when another process shares the memory of `process`, of which `tid` is a thread
// that has not ended. `strangers`: of strangers_list, before the freeze. pre: every thread of `process` is
// stopped. Where kcmp(2) does not tell nothing is found.
struct hs_error *memory_sharers_check(const struct process *process, pid_t tid,
				      const struct strangers *strangers) HS_MUST_CHECK;

// Before anything is stopped: waits, at most `wait_ms`, until the processes that share the memory now have stopped
// sharing it; most vfork children exec at once. A thread that waits for one cannot be stopped, and all others would
// stand still while it is waited for. HS_ERROR_REFUSED names one that stays. Processes that begin to share it meanwhile
// are not waited for, since a program whose threads vfork all the time always has one: memory_sharers_check proves
// under the freeze, in which none is made, that none is left.
struct hs_error *memory_sharers_wait(const struct process *process, unsigned wait_ms) HS_MUST_CHECK;

#endif
