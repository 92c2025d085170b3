// SPDX-License-Identifier: Apache-2.0
// What is tried again waits ever longer: each time twice as long as before, up to a longest time.
#ifndef HEAPSNAP_BASE_BACK_OFF_H
#define HEAPSNAP_BASE_BACK_OFF_H

#include <unistd.h>

struct back_off {
	unsigned next_us, longest_us;
};

// How long to wait now, us.
static inline unsigned back_off_next(struct back_off *back_off)
{
	const unsigned now_us = back_off->next_us;

	back_off->next_us = now_us > back_off->longest_us / 2 ? back_off->longest_us : now_us * 2;
	return now_us;
}

// Waits for so long; a signal to the tool ends it early.
static inline void back_off_wait(struct back_off *back_off) { usleep(back_off_next(back_off)); }

#endif
