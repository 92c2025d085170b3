// SPDX-License-Identifier: Apache-2.0
// The mappings of a frozen process: they change only by what the tool does itself, and to read those of thousands of
// threads' stacks takes long.
#ifndef HEAPSNAP_ATTACH_PTRACE_FROZEN_MAPS_H
#define HEAPSNAP_ATTACH_PTRACE_FROZEN_MAPS_H

#include "attach/ptrace/frozen_process.h"
#include "base/error.h"
#include "base/proc_maps.h"

// Read once for a freeze, if need be. *ret is good until threads run, or frozen_maps_forget. pre: every thread is
// stopped.
struct hs_error *frozen_maps(struct frozen_process *frozen, const struct proc_maps **ret) HS_MUST_CHECK;
// They have changed, or may have.
void frozen_maps_forget(struct frozen_process *frozen);

#endif
