// SPDX-License-Identifier: Apache-2.0
// Processes beside a tool that follows others: each writes one profile. For run_family.c and run_snapshots.c.
#ifndef HEAPSNAP_LIB_RUN_WRITERS_H
#define HEAPSNAP_LIB_RUN_WRITERS_H

#include "base/process.h"
#include "lib/run.h"
#include "lib/run_signals.h"

#include <stdbool.h>
#include <sys/types.h>

enum { RUN_WRITERS_MOST = 4 }; // at one time

// Zeroed = none.
struct run_writers {
	pid_t pids[RUN_WRITERS_MOST]; // 0 = none
	int newest;                   // the place of the one that was started last; -1 = it could not be
	struct hs_run_written done;   // of those that have ended, or could not be started
};

bool run_writers_have_room(const struct run_writers *writers);
bool run_writers_are_busy(const struct run_writers *writers);
// Goes on in a child, for this process: true there. It says where none can be started. pre: there is room
bool run_writers_start(struct run_writers *writers, const struct run_signals *signals, const struct process *of);
// Ends the one of this place, which counts as none.
void run_writers_kill(struct run_writers *writers, int place);
// Those that have ended.
void run_writers_reap(struct run_writers *writers);

// Pure: adds the one that has ended with this status of waitpid(2); of HS_RUN_TOOK_NONE nothing.
void run_written_add(struct hs_run_written *written, int status);

#endif
