// SPDX-License-Identifier: Apache-2.0
#include "attach/thread_costs.h"

#include <x86intrin.h>

#define RECENT_US (10 * UINT64_C(1000000))

static void add(const struct region_header *header, const struct thread_slot *slot, uint64_t now, struct thread_costs *costs)
{
	costs->frees += slot->counters[COUNTER_frees];
	costs->unknown_frees += slot->counters[COUNTER_unknown_frees];
	if (slot->interval == 0 || slot->interval > HS_INTERVAL_MAX)
		return; // not yet taken over, or nothing is recorded
	if (costs->interval_least == 0 || slot->interval < costs->interval_least)
		costs->interval_least = slot->interval;
	if (slot->interval > costs->interval_most)
		costs->interval_most = slot->interval;
	if (header->sampling_mode != SAMPLING_budget || slot->window_began == 0 || now - slot->window_began > RECENT_US * header->ticks_per_us)
		return;
	costs->threads++;
	if (slot->cost > costs->cost_most)
		costs->cost_most = slot->cost;
}

void thread_costs_read(const struct region_access *access, struct thread_costs *ret)
{
	const struct region_header *header = &access->header;

	*ret = (struct thread_costs){
		.thinned_to = (uint32_t)header->budget_floor,
		.is_thinning = header->thinning_position & HS_THINNING_BY_BUDGET,
	};
	for (uint64_t i = 0; i < HS_THREAD_SLOTS; i++) {
		struct thread_slot slot;
		struct hs_error *error;

		if (!(header->used_slots[i / 64] >> (i % 64) & 1))
			continue;
		error = region_read(access, HS_OFFSET_SLOTS + i * sizeof(slot), &slot, offsetof(struct thread_slot, cut_counters));
		if (error)
			hs_error_destroy(error);
		else if (slot.thread_pointer > HS_THREAD_ENDED)
			add(header, &slot, __rdtsc(), ret);
	}
}
