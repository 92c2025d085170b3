// SPDX-License-Identifier: Apache-2.0
// Temporary allocations: their block is given back before the thread that made it allocates another. Context: in a
// hook, when the block goes whose record is the thread's `last_record`.
#ifndef HEAPSNAP_INJECT_SAMPLING_TEMPORARY_H
#define HEAPSNAP_INJECT_SAMPLING_TEMPORARY_H

#include "inject/table/record.h"

// False: another thread has given the block back, and the record was used for one of another thread's since.
static inline bool temporary_is_own(const struct thread_slot *slot, const struct block_record *record)
{
	return record->thread == (slot->thread & (HS_THREAD_HISTORY_MAX - 1));
}

// False: not here.
static inline bool temporary_add(struct thread_slot *slot, uint32_t stack)
{
	uint32_t index = totals_index(stack);

	if (HS_UNLIKELY(slot->shared.totals[index].stack != stack || slot->shared.temporaries[index] == UINT16_MAX))
		return false;
	slot->shared.temporaries[index]++;
	return true;
}

// As temporary_count, for a block that was recorded as every one is and whose stack's totals are at hand; else it does
// nothing and returns false.
static inline bool temporary_count_fast(struct thread_slot *slot, uint32_t ref)
{
	const struct block_record *record = region_ref(ref);

	if (HS_UNLIKELY(record->interval != 1 || !temporary_is_own(slot, record) ||
			!temporary_add(slot, record->stack)))
		return false;
	slot->last_record = 0;
	return true;
}

// Counts the block that the record is of, if it was temporary.
void temporary_count(struct thread_slot *slot, uint32_t ref) HS_HIDDEN;

#endif
