// SPDX-License-Identifier: Apache-2.0
// SAMPLING_budget: what recording costs a thread, and the interval that follows from it. Context: in a hook, outermost.
//
// Time is cut into windows. In each one a thread knows how many allocations it has made, what one recording and one
// release cost, which it measures now and then, and how long the window was. The interval of the next one follows from
// these; and where the existing records cost too much, because releases of other blocks are searched among them, they
// are downsampled (downsampling.h).
#ifndef HEAPSNAP_INJECT_SAMPLING_BUDGET_H
#define HEAPSNAP_INJECT_SAMPLING_BUDGET_H

#include "inject/payload.h"
#include "inject/sampling/sampling_math.h"
#include "inject/table/record.h"

// A window's numbers.
struct budget_window {
	uint64_t ticks;           // how long it was
	uint64_t calls;           // allocations
	uint64_t bytes;           // of these
	uint64_t records;         // of these
	uint64_t framed;          // calls that were not recorded, in the C code all the same
	uint64_t found;           // releases of recorded blocks
	uint64_t false_positives; // releases that the Bloom filter did not exclude, of blocks that are not recorded
	uint64_t others;          // ticks spent on other work of ours: downsampling
};

// Costs, ticks.
struct budget_costs {
	uint64_t unrecorded; // a call that is not recorded, with the release of its block
	uint64_t frame;      // what it costs more in the C code
	uint64_t record;     // a recording
	uint64_t release;    // a release that the Bloom filter does not exclude
};

struct budget_verdict {
	uint64_t interval;        // of the next window
	uint64_t sampled;         // the same, if not all are to be recorded
	uint32_t cost;            // of this one, millionths of its time
	uint32_t false_positives; // the part of it that false positives take, millionths of its time
};

// Parts of the budget: what recordings may take, whatever the rest takes; what false positives may take before records
// are downsampled, and what they are to take then: one part in so many.
enum { BUDGET_RECORDING_PART = 8, BUDGET_FALSE_POSITIVES_PART = 2, BUDGET_FALSE_POSITIVES_AIM = 8 };

// Pure: `part` of `whole` ticks, in millionths.
uint32_t budget_share(uint64_t part, uint64_t whole);

// Pure. `interval` is what was in force.
struct budget_verdict budget_judge(const struct budget_window *window, const struct budget_costs *costs,
				   uint32_t budget, uint64_t interval);

// A thread's credit, in ticks of its time: it grows with time as the budget says, up to `most`; what was spent is taken
// off, down to `least` below 0. So in any time no more is spent than the budget's part of it, what was saved, and what
// is spent before anybody looks.
struct budget_purse {
	uint32_t budget; // millionths
	uint64_t most, least;
};

// Pure: the credit after so many ticks in which so many were spent.
int64_t budget_credit(const struct budget_purse *purse, int64_t credit, uint64_t ticks, uint64_t spent);

// So many records leave one free in 65 that the Bloom filter does not exclude: they are never downsampled for its sake.
#define BUDGET_BLOOM_LEAST (HS_BLOOM_SIZE / 64)
// With more, counters of the filter would be saturated soon, which they stay (at 128 on average, 255 is eleven standard
// deviations away): records could be downsampled then, but the filter would not get better by it.
#define BUDGET_BLOOM_MOST (HS_BLOOM_SIZE * 128)

struct budget_bloom {
	uint64_t records;      // in the Bloom filter
	uint64_t mean_size;    // of what is allocated, bytes
	uint32_t floor;        // what records were downsampled to for the budget's sake; 0 = they were not
	uint32_t records_left; // that this has left: what came since is not among them
	bool is_saturated;     // counters of the filter are, so it does not get better by downsampling
};

// Pure: to what interval the records are to be downsampled when `false_positives` millionths of a thread's time go to
// false positives, or because there are too many for the Bloom filter. 0 = they are not.
uint32_t budget_downsampling_interval(const struct budget_bloom *filter, uint32_t false_positives, uint32_t budget);

// Pure: whether the records' interval may be halved again, which records more, and so costs twice as much at most:
// there are few of them; or this thread, which would sample finer, has spent no more than a part of its budget within
// the last second, `cost` millionths of its time, and on false positives much less than what has records downsampled.
bool budget_may_ease(const struct budget_bloom *filter, uint32_t cost, uint32_t false_positives, uint32_t budget);

// After a recording that began at slot->ticks.
void budget_note_record(struct thread_slot *slot, uint64_t size, struct choice choice) HS_HIDDEN;
// After a release that began at `began`, ticks.
void budget_note_release(struct thread_slot *slot, uint64_t began) HS_HIDDEN;
// A new window begins.
void budget_begin(struct thread_slot *slot) HS_HIDDEN;
// The thread's first window, or the first with settings that have changed.
void budget_begin_anew(struct thread_slot *slot) HS_HIDDEN;
// A part of a gap has passed.
void budget_look(struct thread_slot *slot) HS_HIDDEN;

// Releases in the C code of which one is timed.
#define BUDGET_RELEASES_TIMED 64u

static inline bool budget_times_release(const struct thread_slot *slot)
{
	return slot->releases % BUDGET_RELEASES_TIMED == 0 && region()->sampling_mode == SAMPLING_budget;
}

#endif
