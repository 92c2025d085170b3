// SPDX-License-Identifier: Apache-2.0
// Reallocations, and blocks that are not in the table. Context: in a hook.
#include "block_events.h"

void totals_add_sampled(uint32_t stack, uint64_t size, struct choice choice)
{
	struct stack_node *node = region_ref(stack);
	struct sampling_weight weight = sampling_stands_for(size, choice);

	__atomic_fetch_add(&node->alloc_objects, weight.objects, __ATOMIC_RELAXED);
	__atomic_fetch_add(&node->alloc_bytes, weight.bytes, __ATOMIC_RELAXED);
}

// The usable size of a block that the allocator itself tells; 0 = it has no function that is proved to do nothing else.
static uint64_t usable_size(struct thread_slot *slot, uint64_t block, const struct hook_island *island)
{
	uint64_t size;

	if (!island->companion || island->layout.flags & HS_LAYOUT_COMPANION)
		return 0;
	reentry_enter_original(slot);
	size = ((uint64_t(*)(uint64_t))island->companion)(block);
	(void)reentry_leave_original(slot); // a handler that forks here is one in the recorder: docs/target-safety.md
	return size;
}

void unknown_free(struct thread_slot *slot, uint64_t block, uint64_t size, const struct hook_island *island)
{
	uint64_t mark = block | (uint64_t)island->hook_index << 48;
	// A function that gives a block back may call another one that does so; neither leaves a frame here. The second one finds no record any
	// more, but the block of the first one.
	bool again = (slot->last_freed ^ block) << 16 == 0 && slot->last_freed != mark;

	if (again || !region()->always_exact) // where not every block is recorded, one without a record is nothing special
		return;
	slot->last_freed = mark;
	count_up(slot->counters, COUNTER_unknown_frees, 1);
	if (!size)
		size = usable_size(slot, block, island);
	if (!size)
		return;
	count_up(slot->counters, COUNTER_unknown_free_sizes, 1);
	count_up(slot->counters, COUNTER_unknown_free_bytes, size);
}

void reallocation_begin(struct thread_slot *slot, uint64_t old_block, const struct hook_island *island, struct reallocation *ret)
{
	ret->old_block = old_block;
	ret->place = recorded(old_block);
	ret->old = ret->place ? __atomic_load_n(ret->place, __ATOMIC_RELAXED) : 0;
	ret->old_size = 0;
	if (HS_LIKELY(ret->old != 0)) {
		__atomic_store_n(&slot->pending_count, slot->pending_count + 1, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		slot->pending_address = old_block;
		slot->pending_new = 0;
		__atomic_store_n(&slot->pending, ret->old, __ATOMIC_RELEASE);
		ret->old = live_table_take(ret->place);
		if (HS_UNLIKELY(ret->old != slot->pending)) // thinning has come in between
			__atomic_store_n(&slot->pending, ret->old, __ATOMIC_RELEASE);
	} else if (old_block && region()->always_exact) {
		ret->old_size = usable_size(slot, old_block, island);
	}
}

void reallocation_cancel(struct thread_slot *slot, const struct reallocation *reallocation)
{
	if (reallocation->old) {
		__atomic_store_n(reallocation->place, reallocation->old, __ATOMIC_RELEASE);
		removal_note(reallocation->old_block, reallocation->old);
	}
	__atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
}

static void count_old_block(struct thread_slot *slot, const struct reallocation *reallocation, bool gone)
{
	uint64_t *counters = slot->counters;

	if (reallocation->old) {
		// realloc(block, 0) that returned NULL has freed the block.
		count_up(counters, gone ? COUNTER_frees : COUNTER_reallocations, 1);
		record_gone(slot, reallocation->old, reallocation->old_block);
		return;
	}
	if (!region()->always_exact)
		return;
	count_up(counters, gone ? COUNTER_unknown_frees : COUNTER_unknown_reallocations, 1);
	if (!reallocation->old_size)
		return;
	count_up(counters, gone ? COUNTER_unknown_free_sizes : COUNTER_unknown_reallocation_sizes, 1);
	count_up(counters, gone ? COUNTER_unknown_free_bytes : COUNTER_unknown_reallocation_bytes, reallocation->old_size);
}

void reallocation_finish(struct thread_slot *slot, const struct reallocation *reallocation, uint64_t block, uint64_t size,
			 struct choice choice, const struct entry_frame *frame)
{
	uint32_t *place;
	uint32_t ref = 0;

	if (block && choice.interval) {
		bool timed = read_ticks(slot, choice);

		place = slot_for(slot, block, size);
		if (place)
			ref = new_record(slot, size, choice, frame);
		if (ref) {
			slot->pending_new_address = block;
			__atomic_store_n(&slot->pending_new, ref, __ATOMIC_RELEASE);
			publish(slot, place, ref, block);
		}
		if (HS_UNLIKELY(timed) && region()->sampling_mode == SAMPLING_budget)
			budget_note_record(slot, size, choice);
	} else if (block) {
		slot->framed_calls++;
	}
	if (reallocation->old)
		removal_note_moved(reallocation->old_block, reallocation->old, block, ref);
	__atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->pending_new, 0, __ATOMIC_RELEASE);
	count_old_block(slot, reallocation, !block);
}
