// SPDX-License-Identifier: Apache-2.0
#include "inject/sampling/temporary.h"

#include "inject/sampling/sampling.h"
#include "inject/sampling/sampling_credit.h"

// The entry is another stack's, or full. Nothing moves from it while a dump reads both.
static void add_elsewhere(struct thread_slot *slot, uint32_t stack)
{
	uint32_t index = totals_index(stack);
	uint64_t objects = 1;

	if (slot->shared.totals[index].stack == stack && !removal_is_logged()) {
		objects += slot->shared.temporaries[index];
		slot->shared.temporaries[index] = 0;
	}
	temporaries_add_directly(slot, stack, objects << HS_OBJECTS_SHIFT);
}

// Where not every allocation is recorded, the thread has allocated nothing since if nothing was counted down. What is
// not recorded and comes to the C code all the same forgets the last record (block_events.c).
void temporary_count(struct thread_slot *slot, uint32_t ref)
{
	const struct block_record *record = region_ref(ref);
	struct choice choice = { record->interval, record->samples };

	slot->last_record = 0;
	if (!temporary_is_own(slot, record))
		return;
	if (choice.interval == 1) {
		if (!temporary_add(slot, record->stack))
			add_elsewhere(slot, record->stack);
	} else if (slot->last_countdown == __atomic_load_n(credit_countdown(slot), __ATOMIC_RELAXED)) {
		temporaries_add_directly(slot, record->stack, sampling_stands_for(record->size, choice).objects);
	}
}
