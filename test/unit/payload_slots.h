// SPDX-License-Identifier: Apache-2.0
// All thread slots of a region that the payload's own files have worked in.
#ifndef HEAPSNAP_TEST_UNIT_PAYLOAD_SLOTS_H
#define HEAPSNAP_TEST_UNIT_PAYLOAD_SLOTS_H

#include "made_region.h"

#include "inject/thread_state.h"

// The slots are numbered from 0 to this; behind the first HS_THREAD_SLOTS come those of threads that have found the
// place of their thread pointer's hash taken, as may happen to any two.
static inline uint32_t payload_slot_count(const struct made_region *region)
{
	return HS_THREAD_SLOTS + __atomic_load_n(&region->header->extra_slot_count, __ATOMIC_RELAXED);
}

// NULL = none is there yet.
static inline struct thread_slot *payload_slot(const struct made_region *region, uint32_t index)
{
	const uint32_t *extra = (const uint32_t *)(region->bytes + HS_OFFSET_EXTRA_SLOTS);
	uint32_t page;

	if (index < HS_THREAD_SLOTS)
		return (struct thread_slot *)(region->bytes + HS_OFFSET_SLOTS + (uint64_t)index * HS_SLOT_STRIDE);
	page = __atomic_load_n(&extra[index - HS_THREAD_SLOTS], __ATOMIC_ACQUIRE);
	return page ? (struct thread_slot *)(region->bytes + (uint64_t)page * HS_PAGE_SIZE) : NULL;
}

static inline uint64_t sum_counter(const struct made_region *region, enum counter which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < payload_slot_count(region); i++) {
		const struct thread_slot *slot = payload_slot(region, i);

		sum += slot ? __atomic_load_n(&slot->shared.counters[which], __ATOMIC_RELAXED) : 0;
	}
	return sum;
}

// The place of this thread's hash is somebody else's: it gets a further slot. pre: it has none
static inline void payload_slot_take_place(const struct made_region *region)
{
	const uint64_t own = (uint64_t)__builtin_thread_pointer();

	payload_slot(region, thread_slot_index(own))->shared.thread_pointer = own ^ UINT64_C(0x100000000000);
}

#endif
