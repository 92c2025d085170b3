// SPDX-License-Identifier: Apache-2.0
#include "attach/sampling_settings.h"

#include <string.h>

void sampling_settings_begin(struct region_header *header, const struct sampling_settings *settings, uint64_t seed)
{
	header->sampling_mode = settings->mode;
	header->sampling_interval = settings->interval;
	header->sampling_seed = seed;
	header->always_exact = settings->mode == SAMPLING_exact;
	header->sampling_generation = 1;
	// Where every block is recorded, counting them for a filter would be in vain.
	if (settings->mode == SAMPLING_exact)
		memset((uint8_t *)header + HS_OFFSET_FILTER, HS_FILTER_SATURATED, HS_FILTER_SIZE);
	else
		header->removal_flags = REMOVAL_FILTERS;
}
