// SPDX-License-Identifier: Apache-2.0
// Which allocations are recorded. Context: in a hook, outermost.
//
// Each thread counts down the bytes until its next sample; the inline fast paths in entry.S do so too, for calls that
// are then left to the original without the C code.
#ifndef HEAPSNAP_INJECT_SAMPLING_SAMPLING_H
#define HEAPSNAP_INJECT_SAMPLING_SAMPLING_H

#include "inject/payload.h"
#include "inject/sampling/sampling_math.h"
#include "inject/table/record.h"

// What a block stands for that was recorded so. pre: choice.interval > 1
static inline struct sampling_weight sampling_stands_for(uint64_t size, struct choice choice)
{
	if (!choice.samples && size >= choice.interval)
		return (struct sampling_weight){ HS_OBJECTS_ONE, size << HS_BYTES_SHIFT };
	return sampling_weight(size, choice.interval);
}

struct choice sampling_draw(struct thread_slot *slot, uint64_t size) HS_HIDDEN;

static inline struct choice sampling_choose(struct thread_slot *slot, uint64_t size)
{
	if (HS_LIKELY(slot->shared.interval == 1))
		return (struct choice){ 1, 0 };
	return sampling_draw(slot, size);
}

#endif
