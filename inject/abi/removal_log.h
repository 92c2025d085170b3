// SPDX-License-Identifier: Apache-2.0
// The log of records that leave the live table while a dump copies it and no thread is stopped (docs/consistency.md).
#ifndef HEAPSNAP_INJECT_ABI_REMOVAL_LOG_H
#define HEAPSNAP_INJECT_ABI_REMOVAL_LOG_H

#include "records.h"

// A block that was live at the cut and is so no more. Entries are taken in order (region_header.log_taken) by threads
// that then fill them, so one may be empty while later ones are complete. The log begins anew, with another generation,
// only when every entry that was taken is complete: so no thread writes into an entry that another thread has taken
// since.
struct log_entry {
	uint64_t address;
	uint64_t new_address; // of a reallocation; its old address where it has left no block; 0 = a release, or a
			      // reallocation that failed
	struct block_record record; // as it was
	uint32_t ref;               // of the record
	// record of the block that took its place, by a reallocation; 0 = none from before the cut did
	uint32_t new_ref;
	uint32_t epoch;      // of the dump that it was written for
	uint32_t generation; // of the log when it was taken, written last
};
_Static_assert(sizeof(struct log_entry) == 64, "log_entry is a cache line");

#define HS_LOG_ENTRIES     (1u << 19)
#define HS_LOG_ENTRIES_MIN 1024u

// Whether a record is from before the cut of the dump that raised the epoch to `epoch`. Epochs may wrap.
static inline int epoch_is_older(uint32_t record_epoch, uint32_t epoch) { return (int32_t)(record_epoch - epoch) < 0; }

#endif
