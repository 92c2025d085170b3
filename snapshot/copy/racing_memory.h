// SPDX-License-Identifier: Apache-2.0
// Reading memory that a running target writes. Every word is read once, whole, in the order of the calls; the reader
// relies on no relation between two words but those that docs/consistency.md shows.
#ifndef HEAPSNAP_SNAPSHOT_COPY_RACING_MEMORY_H
#define HEAPSNAP_SNAPSHOT_COPY_RACING_MEMORY_H

#include "inject/abi/region.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t racing_u32(const uint32_t *word);
uint64_t racing_u64(const uint64_t *word);
// pre: both are aligned to 8 bytes, as is `size`
void racing_copy(void *to, const void *from, size_t size);

// Reads a record to which `entry` referred when it read `seen`. True if it still reads so afterwards and the record is
// older than `epoch`: then *ret is that record as it was all the while.
bool racing_record(const uint32_t *entry, uint32_t seen, const struct block_record *record, uint32_t epoch,
		   struct block_record *ret);
// The same for an entry of the sample table.
bool racing_sample(const uint64_t *entry, uint64_t seen, const struct block_record *record, uint32_t epoch,
		   struct block_record *ret);

// A reallocation under way, as a thread's slot shows it.
struct racing_pending {
	uint32_t ref; // 0 = none
	uint32_t new_ref;
	uint64_t address, new_address;
	uint32_t count;
};
void racing_pending_read(const struct shared_slot *slot, struct racing_pending *ret);

#endif
