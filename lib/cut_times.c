// SPDX-License-Identifier: Apache-2.0
#include "lib/cut_times.h"

// Less apart they would say hardly more, and take more of the processor.
enum { APART_LEAST = 500000000, COSTS_APART = 3 };

struct cut_times cut_times_make(uint64_t began, uint64_t time)
{
	const uint64_t coarse = time / (CUT_TIMES_LEAST - 1);
	struct cut_times times = { began, began + time, coarse, coarse };

	while (times.apart / 2 >= APART_LEAST)
		times.apart /= 2;
	return times;
}

static uint64_t first_after(const struct cut_times *times, uint64_t now, uint64_t apart)
{
	return times->began + ((now - times->began) / apart + 1) * apart;
}

uint64_t cut_times_next(const struct cut_times *times, uint64_t now, uint64_t cost)
{
	uint64_t next, coarse;

	if (!times->coarse || now >= times->ends)
		return times->ends;
	next = cost < times->coarse ? first_after(times, now + COSTS_APART * cost, times->apart) : times->ends;
	coarse = first_after(times, now, times->coarse);
	next = next < coarse ? next : coarse;
	return next + times->apart / 2 > times->ends ? times->ends : next; // what divisions leave over is no cut
}

void cut_times_spread(struct cut_times *times) { times->apart *= 2; }
