// SPDX-License-Identifier: Apache-2.0
// Which allocations are recorded, as the header of a region says it.
#ifndef HEAPSNAP_ATTACH_SAMPLING_SETTINGS_H
#define HEAPSNAP_ATTACH_SAMPLING_SETTINGS_H

#include "inject/abi/region.h"

struct sampling_settings {
	enum sampling_mode mode;
	uint32_t interval; // bytes, 2 to HS_INTERVAL_MAX; SAMPLING_interval and SAMPLING_words
	uint32_t budget;   // millionths of a thread's time; SAMPLING_budget
};

// Of a new region, whose hooks do not record yet. `seed`: of the threads' random numbers.
void sampling_settings_begin(struct region_header *header, const struct sampling_settings *settings, uint64_t seed, uint32_t ticks_per_us);

// The rate of the time-stamp counter, measured for about a millisecond.
uint32_t sampling_measure_ticks(void);

#endif
