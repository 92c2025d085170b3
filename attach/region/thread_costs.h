// SPDX-License-Identifier: Apache-2.0
// What the threads of an attached process say of sampling: their intervals, and what recording has cost them.
#ifndef HEAPSNAP_ATTACH_REGION_THREAD_COSTS_H
#define HEAPSNAP_ATTACH_REGION_THREAD_COSTS_H

#include "attach/region/region_access.h"

struct thread_costs {
	uint64_t interval_least,
		interval_most;   // bytes, of threads that have allocated since the settings changed; 0 = none has
	uint32_t threads;        // whose cost is known from the last ten seconds; SAMPLING_budget only
	uint32_t cost_most;      // the highest of these, millionths of the thread's time
	uint32_t downsampled_to; // records were downsampled to this interval for the budget's sake, bytes; 0 = they
				 // were not
	bool is_downsampling;    // this is being done now
	uint64_t frees, unknown_frees; // of recorded blocks, and of others, by these threads since attach
};

// Reads thread slots while the target runs: each number is right, but not all are of one instant. Slots that cannot be
// read are left out.
void thread_costs_read(const struct region_access *access, struct thread_costs *ret);

#endif
