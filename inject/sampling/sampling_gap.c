// SPDX-License-Identifier: Apache-2.0
#include "inject/sampling/sampling_gap.h"

#include "inject/sampling/downsampling.h"
#include "inject/sampling/sampling_math.h"

static int64_t draw_gap(struct thread_slot *slot, uint64_t interval)
{
	slot->gap_rest = sampling_gap(sampling_random(&slot->random), interval);
	return gap_begin_piece(slot, interval);
}

void gap_begin(struct thread_slot *slot)
{
	struct region_header *header = region();
	uint64_t interval = slot->shared.interval;

	if (interval == 1) {
		credit_give_back(slot);
	} else if (interval == UINT64_MAX) {
		slot->gap_rest = 0;
		if (!header->was_stopped)
			header->was_stopped = 1;
		gap_give_credit(slot, INT64_MAX);
	} else {
		downsampling_note_interval((uint32_t)interval);
		gap_give_credit(slot, draw_gap(slot, interval));
	}
}
