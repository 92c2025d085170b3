// SPDX-License-Identifier: Apache-2.0
// Snapshots meanwhile of all processes that run --children follows. For run_family.c.
//
// They are taken of one process at a time: by a process beside the tool, which copies the heap while its threads run,
// and then writes the profile. Where that cannot be (an ordinary user may not open the region), the threads are held
// (follow_threads_hold), the tool copies, and lets them go on; until all of them stand, it goes on with the others. A
// thread that waits for its vfork child stands only when that has executed a program, so the tool gives up after a
// while. As many profiles are written at one time as RUN_WRITERS_MOST; nobody waits for symbols or for a disk.
#ifndef HEAPSNAP_LIB_RUN_SNAPSHOTS_H
#define HEAPSNAP_LIB_RUN_SNAPSHOTS_H

#include "lib/run.h"
#include "lib/run_members.h"
#include "lib/run_signals.h"
#include "lib/run_writers.h"

#include <stdbool.h>
#include <stdint.h>

struct run_snapshots {
	const struct hs_run_options *options; // borrowed
	struct run_writers writers;
	struct run_member *current;    // of whom one is being taken; NULL = of nobody
	uint64_t until;                // how long that may take; CLOCK_MONOTONIC, ns
	int copier;                    // the place of the writer that copies it; -1 = its threads are held
	int copier_fd;                 // at its end when that is done; before, it says why it is not
	uint64_t next_ns;              // when they are due; 0 = never by time
	size_t told;                   // failures, each in a message
	struct hs_run_snapshots tally; // `written` is the writers'
};

void run_snapshots_begin(const struct hs_run_options *options, struct run_snapshots *ret);
// Whether they are due now, by time, or as `is_asked` says.
bool run_snapshots_are_due(struct run_snapshots *snapshots, bool is_asked);
// Of all that are recorded now. Of one whose last one is still to be taken, none.
void run_snapshots_ask(struct run_snapshots *snapshots, const struct run_members *members);
// None will be taken of it any more: it is about to end, to become another program, or to be left. Nobody is at work on
// it afterwards.
void run_snapshots_drop(struct run_snapshots *snapshots, struct run_member *member);
// Whether the threads of a process are held for one.
bool run_snapshots_hold(const struct run_snapshots *snapshots);
// True: this is the process that writes one, and *ret its event.
bool run_snapshots_step(struct run_snapshots *snapshots, const struct run_members *members,
			const struct run_signals *signals, struct hs_run_event *ret);
// How long to wait for signals: until they are due, and `most` at most.
unsigned run_snapshots_wait_ms(const struct run_snapshots *snapshots, unsigned most);

#endif
