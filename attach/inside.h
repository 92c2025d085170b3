// SPDX-License-Identifier: Apache-2.0
// Whether a stopped thread is inside the payload: its pc there, or a return address that it will come back to.
#ifndef HEAPSNAP_ATTACH_INSIDE_H
#define HEAPSNAP_ATTACH_INSIDE_H

#include "attach/memory.h"
#include "attach/threads.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "inject/abi/region.h"

#include <stdbool.h>

// `ranges` are the payload's executable mappings (offset = address).
// A thread none of whose stack words points there is surely outside. Where a word does, libunwind decides whether it is a live return
// address or a left-over; a walk that fails counts as inside. `guard` is where the thread's outermost hook left its return address
// (struct thread_slot; 0 = none): while the thread runs a signal handler on another stack, the words just below it decide.
// pre: no remote call is open in the thread.
struct hs_error *inside_check(const struct frozen_thread *thread, uint64_t guard, const struct proc_maps *maps,
			      const struct target_memory *memory, const struct region_part *ranges, size_t range_count,
			      bool *inside_ret) HS_MUST_CHECK;

#endif
