// SPDX-License-Identifier: Apache-2.0
// The cut of a dump that stops no thread: what the tool writes into the region of a running target, and how it takes
// that back.
#ifndef HEAPSNAP_SNAPSHOT_COPY_RUNNING_CUT_H
#define HEAPSNAP_SNAPSHOT_COPY_RUNNING_CUT_H

#include "attach/region/region_access.h"
#include "base/error.h"

#include <stdint.h>

// Why there is no copy of the running target; then its threads are stopped for one. docs/consistency.md has the same
// table.
#define HS_RUNNING_OBSTACLES(X)                                                                                        \
	X(none, "")                                                                                                    \
	X(not_mapped, "the region can be read only through the process's memory")                                      \
	X(other_dump, "another dump is copying")                                                                       \
	X(no_membarrier, "membarrier(2) is not available")                                                             \
	X(log_full, "the removal log overflowed")                                                                      \
	X(log_in_use, "threads are still writing into the log of an earlier dump")                                     \
	X(disturbed, "something else has changed the region's flags")                                                  \
	X(earlier_version,                                                                                             \
	  "attached by an earlier version of heapsnap, and only that version can read the removal log")                \
	X(ended_threads, "many threads have ended; their slots are freed only while all threads are stopped")

enum running_obstacle {
#define X(name, text) OBSTACLE_##name,
	HS_RUNNING_OBSTACLES(X)
#undef X
		OBSTACLE_COUNT
};

// Static; "" for none.
const char *running_obstacle_text(enum running_obstacle obstacle);

struct running_cut {
	const struct region_access *access;
	const uint8_t *bytes;           // the region, mapped to be read
	struct region_header *header;   // its head, mapped to be written
	uint32_t epoch;                 // records of older ones are from before the cut
	uint32_t generation;            // of the log
	uint64_t wall_ns, monotonic_ns; // when the cut was made
};

// Takes the region's lock, maps it, and clears away what a killed dump may have left. With an obstacle or an error
// nothing is open.
struct hs_error *running_cut_open(const struct region_access *access, struct running_cut *ret,
				  enum running_obstacle *obstacle) HS_MUST_CHECK;
void running_cut_close(struct running_cut *cut);

// From now on removals of older blocks are logged, and what was stored by events that were not is in memory. With an
// obstacle or an error nothing has begun.
struct hs_error *running_cut_begin(struct running_cut *cut, enum running_obstacle *obstacle) HS_MUST_CHECK;
// Ends the logging. The obstacle says that the log is not all of it.
void running_cut_end(struct running_cut *cut, enum running_obstacle *obstacle);

// How many entries of the log were taken so far: those that can be complete.
uint32_t running_cut_logged(const struct running_cut *cut);

#endif
