// SPDX-License-Identifier: Apache-2.0
// Which allocations are recorded, as the header of a region says it.
#ifndef HEAPSNAP_ATTACH_REGION_SAMPLING_SETTINGS_H
#define HEAPSNAP_ATTACH_REGION_SAMPLING_SETTINGS_H

#include "inject/abi/region.h"

#include <stdbool.h>

struct sampling_settings {
	enum sampling_mode mode;
	uint32_t interval;         // bytes, 2 to HS_INTERVAL_MAX; SAMPLING_interval and SAMPLING_words
	uint32_t budget;           // millionths of a thread's time; SAMPLING_budget
	enum sampling_mode before; // SAMPLING_stopped: what was in force before, with the interval and budget above
	uint32_t first_us;         // that all threads together may spend besides, once; SAMPLING_budget, at attach
};

// What is to become of the settings in force.
struct sampling_change {
	enum { SAMPLING_KEEP, SAMPLING_SET, SAMPLING_STOP, SAMPLING_START } kind;
	struct sampling_settings settings; // SAMPLING_SET: these
};

// Writes them into a new region, whose hooks do not record yet. `seed` is for the threads' random numbers.
void sampling_settings_begin(struct region_header *header, const struct sampling_settings *settings, uint64_t seed,
			     uint32_t ticks_per_us);

// The rate of the time-stamp counter, measured for about a millisecond.
uint32_t sampling_measure_ticks(void);

// What a header says, which the target may have written. False when it makes no sense; then *ret is every allocation.
bool sampling_settings_read(const struct region_header *header, struct sampling_settings *ret);

// The settings after a change. Stopping what is stopped, and starting what is not, changes nothing.
struct sampling_settings sampling_settings_after(const struct sampling_settings *now,
						 const struct sampling_change *change);

// The mean interval, bytes, of so many samples per word of 8 bytes. Returns false when it is not within [2,
// HS_INTERVAL_MAX].
bool sampling_interval_of_rate(double samples_per_word, uint32_t *ret);

#endif
