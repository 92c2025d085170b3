// SPDX-License-Identifier: Apache-2.0
// Processes that share the target's descriptors without being its threads (clone(2) with CLONE_FILES): they could
// exchange what a number stands for while it is used.
#ifndef HEAPSNAP_ATTACH_PROCESS_DESCRIPTOR_SHARERS_H
#define HEAPSNAP_ATTACH_PROCESS_DESCRIPTOR_SHARERS_H

#include "attach/process/sharing.h"
#include "base/error.h"
#include "base/process.h"

#include <sys/types.h>

// strangers_list, for as many of the tables that the threads have as there is room for: which of them will make the
// calls is not known yet.
void descriptor_strangers_list(const struct process *process, struct strangers *ret);

// HS_ERROR_REFUSED, with its number, when another process shares the descriptors of `tid`, a thread of `process`.
// `strangers`: of strangers_list, before the freeze. Where kcmp(2) does not tell, and where /proc does not show that
// process, nothing is found.
struct hs_error *descriptor_sharers_check(const struct process *process, pid_t tid,
					  const struct strangers *strangers) HS_MUST_CHECK;

// Before anything is stopped: waits as memory_sharers_wait does, for those that share any table that the threads have.
// Which of them will make the calls is not known yet, and whether attach refuses is not to depend on it.
struct hs_error *descriptor_sharers_wait(const struct process *process, unsigned wait_ms) HS_MUST_CHECK;

#endif
