// SPDX-License-Identifier: Apache-2.0
#include "attach/sampling_settings.h"

#include "base/clock.h"

#include <string.h>
#include <x86intrin.h>

void sampling_settings_begin(struct region_header *header, const struct sampling_settings *settings, uint64_t seed, uint32_t ticks_per_us)
{
	header->sampling_mode = settings->mode;
	header->sampling_interval = settings->interval;
	header->sampling_seed = seed;
	header->budget = settings->budget;
	header->ticks_per_us = ticks_per_us;
	header->always_exact = settings->mode == SAMPLING_exact || settings->mode == SAMPLING_budget; // until the budget is over
	header->sampling_generation = 1;
	// Where every block is recorded, counting them for a filter would be in vain.
	if (settings->mode == SAMPLING_exact)
		memset((uint8_t *)header + HS_OFFSET_FILTER, HS_FILTER_SATURATED, HS_FILTER_SIZE);
	else
		header->removal_flags = REMOVAL_FILTERS;
}

uint32_t sampling_measure_ticks(void)
{
	const uint64_t least = 1000000; // ns
	uint64_t began = hs_monotonic_ns(), first = __rdtsc(), took, ticks;

	do {
		ticks = __rdtsc() - first;
		took = hs_monotonic_ns() - began;
	} while (took < least);
	return (uint32_t)(ticks * 1000 / took);
}
