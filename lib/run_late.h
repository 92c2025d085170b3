// SPDX-License-Identifier: Apache-2.0
// Processes that run --children follows and does not record, because they were forked and execute no program, or came
// too fast: those that go on living are recorded from then on. For run_family.c.
//
// Most processes that are forked execute a program at once, or end. So none is attached to in its first half second.
#ifndef HEAPSNAP_LIB_RUN_LATE_H
#define HEAPSNAP_LIB_RUN_LATE_H

#include "lib/attach.h"
#include "lib/run_holds.h"
#include "lib/run_members.h"

#include <stddef.h>
#include <stdint.h>

// From now on it has half a second; ns of CLOCK_MONOTONIC.
void run_late_begin(struct run_member *member, uint64_t now_ns);
// Attaches to the first one whose time has come, if there is one, where that may be now; else, and where something is
// in the way that may pass, it is tried again, ever more seldom. *told: run_member_tell. pre: no other
// process is held (run_snapshots_hold)
void run_late_look(struct run_members *members, const struct hs_attach_options *options, struct run_holds *holds,
		   size_t *told);

#endif
