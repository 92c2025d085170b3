// SPDX-License-Identifier: Apache-2.0
// The sequence from a live process to a symbolized profile.
#ifndef HEAPSNAP_SNAPSHOT_SNAPSHOT_H
#define HEAPSNAP_SNAPSHOT_SNAPSHOT_H

#include "base/error.h"
#include "base/process.h"
#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stdint.h>

struct snapshot_timing {
	uint64_t stopped_ns; // threads of the target were stopped; 0 = none was
	uint64_t copy_ns;    // from the cut, or the stop, to the end of the copy
	uint64_t symbolize_ns;
};

// Copies the live table while the target runs; `stop`, or where that cannot be: while all its threads are stopped
// (heap_profile.stopped_because says why). Then checks, adds up and symbolizes. *ret is owned by the caller
// (heap_profile_deinit), valid on success only; *timing is always filled as far as it went, in ns of CLOCK_MONOTONIC.
// HS_ERROR_NOT_FOUND: not attached; HS_ERROR_REFUSED: not now, another heapsnap is at work there, say;
// HS_ERROR_BAD_DATA: the region holds nonsense; HS_ERROR_GONE, HS_ERROR_TIMEOUT, HS_ERROR_INTERRUPTED, HS_ERROR_SYSTEM,
// HS_ERROR_NO_MEMORY.
struct hs_error *snapshot_take(const struct process *process, bool stop, struct heap_profile *ret,
			       struct snapshot_timing *timing) HS_MUST_CHECK;

#endif
