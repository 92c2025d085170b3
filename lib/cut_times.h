// SPDX-License-Identifier: Apache-2.0
// When the cuts of a watch are taken. A watch may end early, so cuts are close together at first; whenever there are
// CUT_TIMES_MOST, every second one goes and the next are twice as far apart. So they lie evenly at all times. Pure.
//
//     |.|.|.|.|.|.|           the first half minute, say
//     | . | . | . | . | . |   later
#ifndef HEAPSNAP_LIB_CUT_TIMES_H
#define HEAPSNAP_LIB_CUT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CUT_TIMES_LEAST = 7,                      // of a watch that is not cut short, the first and the last with it
	CUT_TIMES_MOST = 2 * CUT_TIMES_LEAST - 1, // then every second one goes
};

// Nanoseconds of one clock. Coarse: as far apart as they may be.
struct cut_times {
	uint64_t began, ends, apart, coarse;
};

struct cut_times cut_times_make(uint64_t began, uint64_t time);

// Of the next cut, after one that was done at `now` and took `cost`; those that cannot be had any more are left out,
// and as many as it takes so that cuts take a small share of the time, but for the coarse ones. `ends` for the last
// one. pre: now >= began
uint64_t cut_times_next(const struct cut_times *times, uint64_t now, uint64_t cost);

// Every second one is gone.
void cut_times_spread(struct cut_times *times);

#endif
