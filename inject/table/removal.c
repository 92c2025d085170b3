// SPDX-License-Identifier: Apache-2.0
// Context: in a hook, while a dump copies the table.
#include "inject/table/removal.h"

void removal_log(uint64_t address, uint32_t ref, uint64_t new_address, uint32_t new_ref)
{
	struct region_header *header = region();
	const struct block_record *record = region_ref(ref);
	uint32_t epoch = __atomic_load_n(&header->epoch, __ATOMIC_ACQUIRE);
	struct log_entry *entry;
	uint64_t taken;
	uint32_t index;

	// 0: a step of the downsampling that had begun before the dump has taken the record first.
	if (!ref || !epoch_is_older(record->epoch, epoch))
		return;
	taken = __atomic_fetch_add(&header->log_taken, 1, __ATOMIC_RELAXED);
	index = (uint32_t)taken;
	// Full: the dump sees that by log_taken, and begins anew. There are no more of these calls than blocks from
	// before the cut.
	if (index >= header->log_limit)
		return;
	entry = (struct log_entry *)region_at(HS_OFFSET_LOG) + index;
	entry->address = address;
	entry->new_address = new_address;
	entry->record = *record;
	entry->ref = ref;
	// A block from after the cut is in no snapshot: its record may even be one that the log has, for the block
	// before.
	if (new_ref && !epoch_is_older(((const struct block_record *)region_ref(new_ref))->epoch, epoch))
		new_ref = 0;
	entry->new_ref = new_ref;
	entry->epoch = epoch;
	__atomic_store_n(&entry->generation, (uint32_t)(taken >> 32), __ATOMIC_RELEASE);
}
