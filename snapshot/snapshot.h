// SPDX-License-Identifier: Apache-2.0
// The sequence from a live process to a symbolized profile, in two steps: what needs the process, and what does not.
#ifndef HEAPSNAP_SNAPSHOT_SNAPSHOT_H
#define HEAPSNAP_SNAPSHOT_SNAPSHOT_H

#include "base/error.h"
#include "base/process.h"
#include "snapshot/block_selection.h"
#include "snapshot/heap_profile.h"
#include "snapshot/symbols/symbolize.h"

#include <stdint.h>

struct snapshot_timing {
	uint64_t stopped_ns; // threads of the target were stopped; 0 = none was
	uint64_t copy_ns;    // from the cut, or the stop, to the end of the copy
	uint64_t symbolize_ns;
};

enum heap_copy_way {
	HEAP_COPY_RUNNING,   // while its threads run; or, where that cannot be, as the next one
	HEAP_COPY_UNSTOPPED, // while its threads run; HS_ERROR_REFUSED where that cannot be
	HEAP_COPY_STOPPED,   // while all its threads are stopped (heap_profile.stopped_because says why)
	// No thread of it runs any instruction of the program: the last one that is left stands in a stop of this tool,
	// and goes on only when the caller lets it.
	HEAP_COPY_STANDING,
	// All its threads stand in stops of this tool (follow_threads_hold).
	HEAP_COPY_HELD,
};

// What is taken from a process. All that comes later reads this and files.
struct heap_copy;

// *ret is owned by the caller (heap_copy_destroy), valid on success only. Times are of CLOCK_MONOTONIC.
// HS_ERROR_NOT_FOUND: not attached; HS_ERROR_REFUSED: not now, another heapsnap is at work there, say;
// HS_ERROR_BAD_DATA: the region holds nonsense; HS_ERROR_GONE, HS_ERROR_TIMEOUT, HS_ERROR_INTERRUPTED, HS_ERROR_SYSTEM,
// HS_ERROR_NO_MEMORY.
struct hs_error *heap_copy_take(const struct process *process, enum heap_copy_way way,
				struct heap_copy **ret) HS_MUST_CHECK;
// To be called before it is digested, as soon after it was taken as can be: names of threads are those that they have
// now. Without it all blocks are taken. `selection` and its text must live as long as the copy. HS_ERROR_NO_MEMORY.
struct hs_error *heap_copy_select(struct heap_copy *copy, const struct process *process,
				  const struct block_selection *selection) HS_MUST_CHECK;
// Bytes that are live in it, estimated where blocks were sampled. pre: it is not digested
uint64_t heap_copy_live_bytes(const struct heap_copy *copy);
// Checks, adds up and symbolizes. Once: the copy is then empty. The process may have ended; its files of the same names
// are then those of its modules if their build ids say so. *ret is owned by the caller (heap_profile_deinit), valid on
// success only; *timing is always filled as far as it went. HS_ERROR_NOT_FOUND: the selection names a thread, or an
// attach, that is not this one, or asks for a label that the region's version does not have; other errors as above.
struct hs_error *heap_copy_digest(struct heap_copy *copy, const struct symbol_options *symbols,
				  struct heap_profile *ret, struct snapshot_timing *timing) HS_MUST_CHECK;
void heap_copy_destroy(struct heap_copy *copy);

#endif
