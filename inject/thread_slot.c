// SPDX-License-Identifier: Apache-2.0
// Claiming thread slots. Context: in a hook, at a thread's first call.
#include "thread_slot.h"

#include "pass.h"

#define STACK_MIN	 2048u		       // bytes
#define STACK_MAX	 (UINT64_C(1) << 40)
#define ABOVE_STACK_MAX	 65536u // bytes between a stack's end and the end of the thread's control block and static TLS

static bool is_range(uint64_t start, uint64_t size)
{
	return start >= 65536 && start < UINT64_C(1) << 47 && size >= STACK_MIN && size <= STACK_MAX;
}

// glibc's block has, one after the other, the start and the size of the memory at whose upper end it lies (stackblock, stackblock_size).
static bool read_glibc_stack(const uint64_t *words, uint64_t thread_pointer, struct thread_slot *slot)
{
	uint64_t start = words[0], end = words[0] + words[1];

	if (!is_range(start, words[1]) || start >= thread_pointer || end <= thread_pointer || end - thread_pointer > ABOVE_STACK_MAX)
		return false;
	slot->stack_low = start;
	slot->stack_high = thread_pointer; // the control block is at the top; frames are below it
	return true;
}

// musl's has start and size of the memory that was mapped for the thread, then end and size of the stack itself (map_base, map_size, stack,
// stack_size). A stack that the program gave to pthread_create has the block at its upper end, and no start, where there was room for
// it; else only the block is in the mapped memory.
static bool read_musl_stack(const uint64_t *words, uint64_t thread_pointer, struct thread_slot *slot)
{
	uint64_t start = words[0], mapped = words[1], end = words[2], size = words[3];
	bool is_mapped = start && !((start | mapped) & (HS_PAGE_SIZE - 1)) && start < thread_pointer && thread_pointer - start < mapped;
	bool is_given = !start && mapped >= size && mapped - size <= ABOVE_STACK_MAX && end <= thread_pointer &&
			thread_pointer - end <= ABOVE_STACK_MAX;

	if ((!is_mapped && !is_given) || size > end || !is_range(end - size, size))
		return false;
	slot->stack_low = end - size;
	slot->stack_high = end;
	return true;
}

// The stack of a thread that pthread_create made, from the libc's own control block. No table of versions and offsets: the first words that
// fit each other and the thread pointer are taken. Whoever reads the stack still checks that the stack pointer lies in it.
static void find_stack(struct thread_slot *slot, uint64_t thread_pointer)
{
	const uint64_t *words = (const uint64_t *)thread_pointer;
	uint64_t count = payload_header.config.tcb_size / sizeof(uint64_t);
	bool is_musl = payload_header.config.libc == LIBC_musl;

	slot->stack_low = slot->stack_high = 0;
	if (thread_pointer == payload_header.config.main_thread_pointer) {
		slot->stack_low = payload_header.config.main_stack_low;
		slot->stack_high = payload_header.config.main_stack_high;
		return;
	}
	for (uint64_t i = 0; i + (is_musl ? 3 : 1) < count; i++)
		if (is_musl ? read_musl_stack(words + i, thread_pointer, slot) : read_glibc_stack(words + i, thread_pointer, slot))
			return;
}

// A libc that keeps no thread ids (static, and made for one thread) has only the main thread.
static uint32_t first_tid(uint64_t thread_pointer)
{
	if (!payload_header.config.tid_offset && thread_pointer == payload_header.config.main_thread_pointer)
		return (uint32_t)payload_header.config.main_tid;
	return thread_current_tid(thread_pointer);
}

// Nothing of sampling begins anew: the present call may be here because the predecessor's gap is over, and then it is the sample (docs/design.md).
static void begin_thread(struct thread_slot *slot, uint64_t thread_pointer)
{
	struct region_header *header = region();
	uint32_t index = __atomic_fetch_add(&header->thread_count, 1, __ATOMIC_RELAXED);

	if (index < HS_THREAD_HISTORY_MAX) {
		struct thread_record *records = region_at(HS_OFFSET_THREADS);

		records[index].tid = first_tid(thread_pointer);
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
	slot->kept_generation = 0;
	slot->ticks_left = 0;
	pass_inherit(slot);
	find_stack(slot, thread_pointer);
	slot->mark = thread_mark(thread_pointer);
}

static void mark_used(const struct thread_slot *slot)
{
	uint64_t index = (uint64_t)(slot - (const struct thread_slot *)region_at(HS_OFFSET_SLOTS));

	__atomic_fetch_or(&region()->used_slots[index / 64], UINT64_C(1) << (index % 64), __ATOMIC_RELAXED);
}

// Makes the slot the calling thread's if it still holds `key`.
static bool take(struct thread_slot *slot, uint64_t key, uint64_t thread_pointer)
{
	if (!__atomic_compare_exchange_n(&slot->thread_pointer, &key, thread_pointer, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	mark_used(slot);
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
			if (slot->mark != thread_mark(thread_pointer))
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
