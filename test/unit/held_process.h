// SPDX-License-Identifier: Apache-2.0
// Handles of processes for tests that know their numbers.
#ifndef HEAPSNAP_TEST_HELD_PROCESS_H
#define HEAPSNAP_TEST_HELD_PROCESS_H

#include "base/process.h"

enum { HELD_PROCESSES = 64 };

// Opened at the first call for a process, and kept until the test ends or has opened some dozens more.
static inline const struct process *held_process(pid_t pid)
{
	static struct process held[HELD_PROCESSES];
	static size_t count;
	struct process *place = NULL;
	struct hs_error *error;

	for (size_t i = 0; i < HELD_PROCESSES && i < count; i++)
		if (held[i].pid == pid && held[i].folder >= 0 && process_is_there(&held[i]))
			return &held[i];
	place = &held[count % HELD_PROCESSES];
	if (count++ >= HELD_PROCESSES)
		process_close(place);
	error = process_open(pid, place);
	if (error) { // one that has ended: nothing can be read
		hs_error_destroy(error);
		*place = PROCESS_CLOSED;
		place->pid = pid;
	}
	return place;
}

#endif
