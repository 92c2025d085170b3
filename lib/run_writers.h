// SPDX-License-Identifier: Apache-2.0
// Processes beside a tool that follows others: each writes the profile of one that is over. For run_family.c.
#ifndef HEAPSNAP_LIB_RUN_WRITERS_H
#define HEAPSNAP_LIB_RUN_WRITERS_H

#include "base/process.h"
#include "lib/run_signals.h"

#include <stdbool.h>
#include <sys/types.h>

enum { RUN_WRITERS_MOST = 4 }; // at one time

// Zeroed = none.
struct run_writers {
	pid_t pids[RUN_WRITERS_MOST]; // 0 = none
};

bool run_writers_have_room(const struct run_writers *writers);
bool run_writers_are_busy(const struct run_writers *writers);
// Goes on in a child, for this process: true there. It says where none can be started. pre: there is room
bool run_writers_start(struct run_writers *writers, const struct run_signals *signals, const struct process *of);
// Those that have ended.
void run_writers_reap(struct run_writers *writers);

#endif
