// SPDX-License-Identifier: Apache-2.0
// A freeze in which no thread is in the middle of the payload's own work: what the payload writes in several steps is
// then complete, and it has used what it has read. Threads inside an original function, below a frame of the payload,
// are no hindrance (docs/design.md, Changing the settings).
#ifndef HEAPSNAP_ATTACH_REGION_FREEZE_OUTSIDE_H
#define HEAPSNAP_ATTACH_REGION_FREEZE_OUTSIDE_H

#include "attach/ptrace/threads.h"
#include "attach/region/region_access.h"
#include "base/error.h"

#include <stdbool.h>

// Freezes the process. Threads inside run on alone until they are outside, for the payload waits for no thread; in
// between everybody runs. After a bounded number of tries the process is frozen as it is. *outside_ret: no thread is
// inside. False also where another process shares the memory, and where the process has executed another program
// (ret->has_executed). *longest_ns_ret: the longest that threads were stopped in the tries before. On failure nothing
// is stopped.
struct hs_error *freeze_outside(struct region_access *region, struct frozen_process *ret, bool *outside_ret,
				uint64_t *longest_ns_ret) HS_MUST_CHECK;

#endif
