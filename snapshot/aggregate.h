// SPDX-License-Identifier: Apache-2.0
// From single blocks to totals of stacks. Pure.
#ifndef HEAPSNAP_SNAPSHOT_AGGREGATE_H
#define HEAPSNAP_SNAPSHOT_AGGREGATE_H

#include "base/error.h"
#include "snapshot/table_check.h"

// One stack that anything was allocated from since attach.
struct stack_totals {
	uint32_t node; // ref of its innermost frame
	uint64_t alloc_objects, alloc_bytes; // since attach
	uint64_t live_objects, live_bytes;   // now; never more than allocated: an allocation seen in the middle counts as both
};

struct aggregate {
	struct stack_totals *stacks; // in no particular order, none twice
	size_t count;
	uint64_t counters[HS_COUNTER_SLOTS];       // of all threads
	uint64_t cut_counters[CUT_REASON_COUNT];
	uint64_t live_objects, live_bytes;
	uint64_t pending; // blocks that were being reallocated, counted as live
	uint32_t threads; // slots in use
};

struct hs_error *aggregate_make(struct table_view *view, struct aggregate *ret) HS_MUST_CHECK;
void aggregate_deinit(struct aggregate *aggregate);

#endif
