// SPDX-License-Identifier: Apache-2.0
// Claiming thread slots. Context: in a hook, at a thread's first call.
#include "thread_slot.h"

// The stack of a thread that pthread_create made, from the libc's own control block: somewhere in it stand the block's start and
// its size, one after the other (glibc: stackblock, stackblock_size; musl keeps end and size and is not matched here).
// No version table: the first two words that describe a range with the thread pointer close below its end are taken. Whoever
// reads the stack still checks that the stack pointer lies in that range.
static void find_stack(struct thread_slot *slot, uint64_t thread_pointer)
{
	const uint64_t *words = (const uint64_t *)thread_pointer;
	uint64_t count = payload_header.config.tcb_size / sizeof(uint64_t);

	slot->stack_low = slot->stack_high = 0;
	if (thread_pointer == payload_header.config.main_thread_pointer) {
		slot->stack_low = payload_header.config.main_stack_low;
		slot->stack_high = payload_header.config.main_stack_high;
		return;
	}
	for (uint64_t i = 0; i + 1 < count; i++) {
		uint64_t start = words[i];
		uint64_t size = words[i + 1];

		if (start < 65536 || start >= thread_pointer || size < 2048 || size > UINT64_C(1) << 40)
			continue;
		if (start + size <= thread_pointer || start + size - thread_pointer > 65536)
			continue;
		slot->stack_low = start;
		slot->stack_high = thread_pointer; // the control block is at the top; frames are below it
		return;
	}
}

static void begin_thread(struct thread_slot *slot, uint64_t thread_pointer)
{
	struct region_header *header = region();
	uint32_t index = __atomic_fetch_add(&header->thread_count, 1, __ATOMIC_RELAXED);

	if (index < HS_THREAD_HISTORY_MAX) {
		struct thread_record *records = region_at(HS_OFFSET_THREADS);

		records[index].tid = thread_current_tid(thread_pointer);
		records[index].first_seen = arch_ticks();
	} else {
		index = HS_THREAD_HISTORY_MAX - 1; // shared by all that come later
		__atomic_store_n(&header->thread_count, HS_THREAD_HISTORY_MAX, __ATOMIC_RELAXED);
	}
	slot->thread = index;
	slot->guard = 0;
	slot->in_original = 0;
	slot->pending = 0;
	slot->pending_new = 0;
	slot->walk_count = 0;
	find_stack(slot, thread_pointer);
	slot->tid = thread_current_tid(thread_pointer);
}

// Makes the slot the calling thread's if it still holds `key`.
static bool take(struct thread_slot *slot, uint64_t key, uint64_t thread_pointer)
{
	if (!__atomic_compare_exchange_n(&slot->thread_pointer, &key, thread_pointer, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	begin_thread(slot, thread_pointer);
	return true;
}

struct thread_slot *thread_slot_claim(uint64_t thread_pointer)
{
	struct thread_slot *slots = region_at(HS_OFFSET_SLOTS);
	uint32_t index = thread_slot_index(thread_pointer);
	struct thread_slot *ended = NULL, *unused = NULL;

	if (thread_pointer <= HS_THREAD_ENDED)
		return NULL;
	for (unsigned probe = 0; probe < HS_THREAD_PROBES_MAX && !unused; probe++) {
		struct thread_slot *slot = &slots[(index + probe) & (HS_THREAD_SLOTS - 1)];
		uint64_t key = __atomic_load_n(&slot->thread_pointer, __ATOMIC_RELAXED);

		if (key == thread_pointer) {
			if (slot->tid != thread_current_tid(thread_pointer))
				begin_thread(slot, thread_pointer);
			return slot;
		}
		if (key == HS_THREAD_ENDED && !ended)
			ended = slot;
		if (key == 0)
			unused = slot;
	}
	// Another thread may be quicker; then this call goes unrecorded, is counted, and the next one asks again.
	if (ended && take(ended, HS_THREAD_ENDED, thread_pointer))
		return ended;
	return unused && take(unused, 0, thread_pointer) ? unused : NULL;
}
