// SPDX-License-Identifier: Apache-2.0
// Which blocks a snapshot is to be of, and what is to be said of them beside their stacks.
#ifndef HEAPSNAP_SNAPSHOT_BLOCK_SELECTION_H
#define HEAPSNAP_SNAPSHOT_BLOCK_SELECTION_H

#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stdint.h>

enum block_label {
	LABEL_THREAD = 1 << 0,    // that allocated them
	LABEL_SIZE = 1 << 1,      // class of size (snapshot/size_age.h)
	LABEL_AGE = 1 << 2,       // class of age
	LABEL_DUMP = 1 << 3,      // between which two snapshots they were allocated
	LABEL_KIND = 1 << 4,      // the function that made them last: malloc, realloc, operator new, ...
	LABEL_ALLOCATOR = 1 << 5, // whose function that is: the file's name
};

// Zeroed = all blocks, and nothing is said of them.
struct block_selection {
	uint64_t older_ns, younger_ns; // age, at least and below; 0 = any
	uint64_t size_least;           // bytes; 0 = any
	const char *thread;            // id or name of the thread that allocated them, borrowed; NULL = any
	struct profile_cut since;      // recorded after that snapshot of the same attach; of session 0 = any
	unsigned labels;               // enum block_label
	// Earlier snapshots of the same attach, their epochs in the order of time: live blocks are also told by which
	// of these they are older than (heap_profile.cohorts). Borrowed; 0 of them = not asked for. One of a snapshot
	// that has stopped the threads is 0, and divides nothing.
	const uint32_t *cohort_epochs;
	size_t cohort_epoch_count;
};

static inline bool block_selection_is_part(const struct block_selection *selection)
{
	return selection->older_ns || selection->younger_ns || selection->size_least || selection->thread ||
	       selection->since.session;
}

#endif
