// SPDX-License-Identifier: Apache-2.0
// Which allocations are recorded.
#ifndef HEAPSNAP_LIB_SAMPLING_H
#define HEAPSNAP_LIB_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

enum hs_sampling_mode {
	HS_SAMPLING_EXACT,    // every allocation
	HS_SAMPLING_INTERVAL, // one sample every `interval` bytes on average
	HS_SAMPLING_WORDS,    // so too, and each record says how many samples fell into its block
	HS_SAMPLING_BUDGET,   // all while that costs a thread no more than `budget`, else as many as that allows
	HS_SAMPLING_STOPPED,  // nothing new
};

#define HS_SAMPLING_BUDGET_DEFAULT 30000u // millionths

// A field counts only where its mode is said beside it.
struct hs_sampling {
	enum hs_sampling_mode mode;
	uint32_t interval;            // bytes, 2 to 2^31; HS_SAMPLING_INTERVAL and HS_SAMPLING_WORDS
	uint32_t budget;              // millionths of a thread's time, 1 to 1000000; HS_SAMPLING_BUDGET
	enum hs_sampling_mode before; // HS_SAMPLING_STOPPED: in force before, with the interval and budget above
	uint32_t first_us; // that all threads together may spend besides, once; HS_SAMPLING_BUDGET, of an attach only
};

// The mean interval, bytes, of so many samples per word of 8 bytes. Pure. False: it is not from 2 to 2^31 bytes.
bool hs_sampling_interval_of_rate(double samples_per_word, uint32_t *ret);

#endif
