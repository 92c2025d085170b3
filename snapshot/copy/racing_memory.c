// SPDX-License-Identifier: Apache-2.0
// The thread sanitizer knows nothing of the other process, and in a test, where both sides are one, would call each of
// these reads a race. It is one: docs/consistency.md says why it is right.
#include "snapshot/copy/racing_memory.h"

#include "inject/abi/sanitizer_marks.h"

HS_RACES uint32_t racing_u32(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

HS_RACES uint64_t racing_u64(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

HS_RACES void racing_copy(void *to, const void *from, size_t size)
{
	uint64_t *words = to;
	const uint64_t *source = from;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

// The memory of a record whose block has gone is used again. If that is for a block at the same address, the entry is
// the same again, but then the new epoch was written before the entry; hence the epoch last.
HS_RACES bool racing_record(const uint32_t *entry, uint32_t seen, const struct block_record *record, uint32_t epoch,
			    struct block_record *ret)
{
	racing_copy(ret, record, sizeof(*ret));
	if (__atomic_load_n(entry, __ATOMIC_ACQUIRE) != seen)
		return false;
	return epoch_is_older(__atomic_load_n(&record->epoch, __ATOMIC_ACQUIRE), epoch);
}

HS_RACES bool racing_sample(const uint64_t *entry, uint64_t seen, const struct block_record *record, uint32_t epoch,
			    struct block_record *ret)
{
	racing_copy(ret, record, sizeof(*ret));
	if (__atomic_load_n(entry, __ATOMIC_ACQUIRE) != seen)
		return false;
	return epoch_is_older(__atomic_load_n(&record->epoch, __ATOMIC_ACQUIRE), epoch);
}

// The thread writes the new block's address before its record, and raises the count before anything of another
// reallocation.
HS_RACES void racing_pending_read(const struct shared_slot *slot, struct racing_pending *ret)
{
	ret->count = __atomic_load_n(&slot->pending_count, __ATOMIC_ACQUIRE);
	ret->ref = __atomic_load_n(&slot->pending, __ATOMIC_ACQUIRE);
	ret->address = __atomic_load_n(&slot->pending_address, __ATOMIC_ACQUIRE);
	ret->new_ref = __atomic_load_n(&slot->pending_new, __ATOMIC_ACQUIRE);
	ret->new_address = __atomic_load_n(&slot->pending_new_address, __ATOMIC_ACQUIRE);
}
