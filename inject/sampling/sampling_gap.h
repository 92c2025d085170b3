// SPDX-License-Identifier: Apache-2.0
// The bytes until a thread's next sample, and the sampling credit that they become. Context: in a hook, outermost.
#ifndef HEAPSNAP_INJECT_SAMPLING_SAMPLING_GAP_H
#define HEAPSNAP_INJECT_SAMPLING_SAMPLING_GAP_H

#include "inject/payload.h"
#include "inject/sampling/sampling_credit.h"

// How many bytes of a gap may pass at once under a budget: then the thread looks at it. So one whose load has gone need
// not come to a sample first.
#define GAP_PIECE (UINT64_C(1) << 18)

// Begins to count down to the next sample, as slot->shared.interval says; where all or none are recorded there is
// nothing to count.
void gap_begin(struct thread_slot *slot) HS_HIDDEN;

// No more than the interval passes at once, so that blocks of the interval and more never do (abi/payload_header.h,
// sampling_credit). What is left of the gap passes then.
static inline int64_t gap_begin_piece(struct thread_slot *slot, uint64_t interval)
{
	int64_t most = (int64_t)interval;

	if (region()->sampling_mode == SAMPLING_budget && interval > GAP_PIECE)
		most = (int64_t)GAP_PIECE;
	slot->gap_piece = slot->gap_rest < most ? slot->gap_rest : most;
	slot->gap_rest -= slot->gap_piece;
	return slot->gap_piece;
}

// The tool may change the settings at any instruction: it makes `interval` 0 first and takes the sampling credit then.
// One that is given after that must not last.
static inline void gap_give_credit(struct thread_slot *slot, int64_t bytes)
{
	credit_give(slot, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (HS_UNLIKELY(__atomic_load_n(&slot->shared.interval, __ATOMIC_RELAXED) == 0))
		credit_end(slot);
}

#endif
