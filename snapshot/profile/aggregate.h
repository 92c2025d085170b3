// SPDX-License-Identifier: Apache-2.0
// From single blocks to totals of stacks. Pure.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_AGGREGATE_H
#define HEAPSNAP_SNAPSHOT_PROFILE_AGGREGATE_H

#include "base/error.h"
#include "snapshot/copy/table_check.h"
#include "snapshot/profile/estimate.h"
#include "snapshot/profile/record_filter.h"

// One stack that anything was allocated from since attach.
struct stack_totals {
	uint32_t node;              // ref of its innermost frame
	uint32_t samples_per_block; // that fell into each of its live blocks; 0 = not counted
	// of its live blocks; the thread is its index in the history, + 1, kind and allocator are as hook_label has
	// them
	struct profile_labels labels;
	double alloc_objects, alloc_bytes; // since attach, estimated; exact up to 2^53. Never below `live`
	double temporary_objects;          // of these: given back before their thread allocated another
	struct estimate live;              // now
};

struct stack_list {
	struct stack_totals *items; // in no particular order, none twice
	size_t count, room;
};

// What is live of a stack, and was recorded between two snapshots (block_selection.cohort_epochs).
struct cohort_totals {
	uint32_t node;   // ref of the stack's innermost frame
	uint32_t stack;  // index into aggregate.stacks, which has an entry for it
	uint32_t number; // as in profile_cohort
	struct estimate live;
};

struct cohort_list {
	struct cohort_totals *items; // in no particular order, none twice
	size_t count, room;
};

struct aggregate {
	struct stack_list stacks;   // whose samples_per_block is 0, without labels
	struct stack_list counted;  // the others. Of what was allocated they hold what is live, the stack's entry in
				    // `stacks` the rest
	bool has_cohorts;           // that was asked for
	struct cohort_list cohorts; // of all live blocks that are in a stack
	uint64_t counters[HS_COUNTER_SLOTS]; // of all threads
	uint64_t cut_counters[CUT_REASON_COUNT];
	struct estimate live;      // of all blocks, those of damaged stacks and outside of the selection too
	struct estimate undecided; // of those that were left out since nothing proves that they are in the selection
	uint64_t sampled;          // records that were drawn by sampling, not because every block was recorded
	uint32_t interval_low, interval_high; // smallest and largest mean interval of these, bytes; 0 = there are none
	uint64_t slots_interval;              // largest mean interval that a thread draws with, bytes; 0 = none samples
	uint64_t pending;                     // blocks that were being reallocated, counted as live
	uint32_t threads;                     // slots in use
};

// What is to be added up, and how. Borrowed.
struct aggregate_options {
	const struct block_selection *selection;
	const struct thread_names *names;
	uint64_t now; // ticks of the time-stamp counter at the snapshot
};

// Adds up what the copied tables hold. What is damaged is left out, and counted in the view. *ret is to be
// deinitialized after success. HS_ERROR_NO_MEMORY; HS_ERROR_SYSTEM: no address space.
struct hs_error *aggregate_make(struct table_view *view, struct aggregate *ret) HS_MUST_CHECK;
// Of a selection: what is known of its blocks alone, so of what was allocated no more than what is live. Errors as of
// record_filter_init and hook_labels_find, too.
struct hs_error *aggregate_make_of(struct table_view *view, const struct aggregate_options *options,
				   struct aggregate *ret) HS_MUST_CHECK;
void aggregate_deinit(struct aggregate *aggregate);

#endif
