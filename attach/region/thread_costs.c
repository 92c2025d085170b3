// SPDX-License-Identifier: Apache-2.0
#include "attach/region/thread_costs.h"

#include "attach/arch/clock.h"
#include "attach/region/thread_slots.h"
#include "base/cleanup.h"

#define RECENT_US (10 * UINT64_C(1000000))

static void add(const struct region_header *header, const struct shared_slot *slot, uint64_t now,
		struct thread_costs *costs)
{
	costs->frees += slot->counters[COUNTER_frees];
	costs->unknown_frees += slot->counters[COUNTER_unknown_frees];
	if (slot->interval == 0 || slot->interval > HS_INTERVAL_MAX)
		return; // not yet taken over, or nothing is recorded
	if (costs->interval_least == 0 || slot->interval < costs->interval_least)
		costs->interval_least = slot->interval;
	if (slot->interval > costs->interval_most)
		costs->interval_most = slot->interval;
	if (header->sampling_mode != SAMPLING_budget || slot->window_began == 0 ||
	    now - slot->window_began > RECENT_US * header->ticks_per_us)
		return;
	costs->threads++;
	if (slot->cost > costs->cost_most)
		costs->cost_most = slot->cost;
}

void thread_costs_read(const struct region_access *access, struct thread_costs *ret)
{
	const struct region_header *header = &access->header;
	HS_CLEANUP_FREE uint64_t *offsets = NULL;
	size_t count = 0;

	*ret = (struct thread_costs){
		.downsampled_to = (uint32_t)header->budget_floor,
		.is_downsampling = header->downsampling_position & HS_DOWNSAMPLING_BY_BUDGET,
	};
	hs_error_destroy(thread_slots_list(access, &offsets, &count));
	for (size_t i = 0; i < count; i++) {
		struct shared_slot slot;
		struct hs_error *error = region_read_slot(access, offsets[i], &slot);

		if (error)
			hs_error_destroy(error);
		else if (thread_key_is_taken(slot.thread_pointer))
			add(header, &slot, arch_clock_ticks(), ret);
	}
}
