// SPDX-License-Identifier: Apache-2.0
// SAMPLING_budget: what recording costs a thread, and the interval that follows from it. Context: in a hook, outermost.
//
// Time is cut into windows. In each one a thread knows how many allocations it has made, as its records and their weights say, what one
// recording costs, which it measures now and then, and how long the window was. The interval of the next one follows from these.
#ifndef HEAPSNAP_INJECT_BUDGET_H
#define HEAPSNAP_INJECT_BUDGET_H

#include "payload.h"

#include "sampling.h"

// A window's numbers.
struct budget_window {
	uint64_t ticks;   // how long it was
	uint64_t calls;   // allocations
	uint64_t bytes;   // of these
	uint64_t records; // of these
};

// Costs, ticks. A call stands for the release of its block as well.
struct budget_costs {
	uint64_t pass;   // a call that is not recorded
	uint64_t record; // one that is
};

// Pure: the interval for the next window. *cost_ret: what this one has cost, millionths of its time. `interval` is what was in force.
uint64_t budget_interval(const struct budget_window *window, const struct budget_costs *costs, uint32_t budget, uint64_t interval,
			 uint32_t *cost_ret);

// After a recording that began at slot->ticks.
void budget_note_record(struct thread_slot *slot, uint64_t size, struct choice choice) HS_HIDDEN;
// The same without a recording: the countdown has ended where it was cut.
void budget_note_visit(struct thread_slot *slot) HS_HIDDEN;
// A new window begins, with settings that have changed.
void budget_begin(struct thread_slot *slot) HS_HIDDEN;

// Bytes after which a thread looks at its budget at the latest.
static inline int64_t budget_longest_gap(uint64_t interval) { return interval / 8 > 65536 ? (int64_t)(interval / 8) : 65536; }

#endif
