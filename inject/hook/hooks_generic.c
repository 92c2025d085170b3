// SPDX-License-Identifier: Apache-2.0
// The bodies of the hooks of all other functions, by the layout that stands in the island.
//
// Context: as hooks.c. Every argument register is kept and given to the original; vector registers are never touched.
#include "inject/hook/hooks.h"

#include "inject/hook/block_events.h"

// As asked for; what does not fit into 64 bits cannot have succeeded.
static uint64_t size_asked(const struct call_frame *frame)
{
	const struct hook_layout *layout = &frame->island->layout;
	uint64_t size = argument(frame, layout->size);

	return layout->count ? size * argument(frame, layout->count) : size;
}

static bool asks_for_nothing(const struct call_frame *frame)
{
	const struct hook_layout *layout = &frame->island->layout;

	return argument(frame, layout->size) == 0 || (layout->count && argument(frame, layout->count) == 0);
}

// The bytes of the string that a function has just made.
static uint64_t string_size(uint64_t block)
{
	const char *text = (const char *)block;
	uint64_t size = 1;

	while (text[size - 1])
		size++;
	return size;
}

// Runs the original or its companion; the result is in the frame. As reentry_leave_original.
static bool call(struct thread_slot *slot, struct call_frame *frame)
{
	const struct hook_island *island = frame->island;
	uint64_t first = frame->arguments[0];

	reentry_enter_original(slot);
	if (!(island->layout.flags & HS_LAYOUT_COMPANION)) {
		arch_call(frame, (uint64_t)island->trampoline);
	} else if (!(island->layout.flags & HS_LAYOUT_SWAPPED)) {
		arch_call(frame, island->companion);
	} else {
		frame->arguments[0] = frame->arguments[1];
		frame->arguments[1] = first;
		arch_call(frame, island->companion);
		frame->arguments[1] = frame->arguments[0];
		frame->arguments[0] = first;
	}
	if (island->layout.flags & HS_LAYOUT_COMPANION)
		arch_give_back_registers(frame);
	return reentry_leave_original(slot);
}

// What an argument points to, which the function itself is about to read or write, or has; 0 where it points to
// nothing.
static uint64_t word_at(uint64_t address) { return address ? *(uint64_t *)address : 0; }

// The new block that a call has left; 0 = none.
static uint64_t new_block(const struct call_frame *frame)
{
	const struct hook_layout *layout = &frame->island->layout;

	if (!layout->where)
		return frame->result[0];
	return (int32_t)frame->result[0] == 0 ? word_at(argument(frame, layout->where)) : 0;
}

// The companion failed: the original has not run yet, and does so without a frame of ours.
static bool leave_to_operator(struct thread_slot *slot)
{
	count_up(slot->shared.counters, COUNTER_left_to_operator, 1);
	reentry_leave(slot);
	return false;
}

// As hook_new: that the companion calls no hooked function says nothing of the operator.
static bool allocate_by_companion(struct thread_slot *slot, struct call_frame *frame)
{
	uint64_t size = size_asked(frame);
	struct choice choice = sampling_choose(slot, size);
	bool present;

	if (!choice.interval && reentry_is_trusted(slot)) {
		reentry_leave(slot);
		return false;
	}
	if (!choice.interval && reentry_watch(slot, &frame->entry))
		return false;
	present = call(slot, frame);
	if (HS_UNLIKELY(!present))
		return frame->result[0] != 0;
	if (HS_UNLIKELY(!frame->result[0]))
		return leave_to_operator(slot);
	if (choice.interval)
		record_if_own(slot, frame->result[0], size, choice, &frame->entry, frame->island);
	else
		slot->framed_calls++;
	reentry_leave(slot);
	return true;
}

bool hook_allocate(struct call_frame *frame)
{
	struct thread_slot *slot = reentry_begin(&frame->entry, frame->island);
	uint8_t flags = frame->island->layout.flags;
	uint64_t block, size;
	bool present;

	if (HS_UNLIKELY(!slot))
		return false;
	if (flags & HS_LAYOUT_COMPANION)
		return allocate_by_companion(slot, frame);
	present = call(slot, frame);
	block = new_block(frame);
	if (HS_UNLIKELY(!present))
		return true;
	size = block && flags & HS_LAYOUT_STRING ? string_size(block) : size_asked(frame);
	record_if_own(slot, block, size, sampling_choose(slot, size), &frame->entry, frame->island);
	reentry_leave(slot);
	return true;
}

// The function itself is about to go along the list.
static void release_many(const struct call_frame *frame, uint64_t block)
{
	const struct hook_island *island = frame->island;
	uint64_t offset = argument(frame, island->layout.extra);

	if (island->layout.flags & HS_LAYOUT_ALL) {
		struct thread_slot *slot = thread_slot_current();

		if (slot)
			count_up(slot->shared.counters, COUNTER_whole_frees, 1);
		return;
	}
	while (block) {
		uint64_t next = word_at(block + offset);

		block_goes(block, argument(frame, island->layout.size), island, reentry_place(&frame->entry));
		block = next;
	}
}

void hook_release(struct call_frame *frame)
{
	const struct hook_island *island = frame->island;
	uint64_t block = argument(frame, island->layout.block);

	if (HS_UNLIKELY(island->layout.flags & (HS_LAYOUT_CHAIN | HS_LAYOUT_ALL))) {
		release_many(frame, block);
		return;
	}
	if (block)
		block_goes(block, size_asked(frame), island, reentry_place(&frame->entry));
}

bool hook_reallocate(struct call_frame *frame)
{
	const struct hook_layout *layout = &frame->island->layout;
	struct thread_slot *slot = reentry_begin(&frame->entry, frame->island);
	struct reallocation reallocation;
	uint64_t old_block = layout->where ? word_at(argument(frame, layout->where)) : argument(frame, layout->block);
	uint64_t block, size = size_asked(frame);
	bool present;

	if (HS_UNLIKELY(!slot)) {
		block_is_reallocated_unseen(old_block);
		return false;
	}
	reallocation_begin(slot, old_block, frame->island, &reallocation);
	present = call(slot, frame);
	block = new_block(frame);
	if (HS_UNLIKELY(!present))
		return block || !(layout->flags & HS_LAYOUT_COMPANION);
	if (!block && layout->flags & HS_LAYOUT_COMPANION) {
		reallocation_cancel(slot, &reallocation);
		return leave_to_operator(slot);
	}
	if (!reallocation.old_block) {
		record_if_own(slot, block, size, sampling_choose(slot, size), &frame->entry, frame->island);
	} else if (!block && !(layout->flags & HS_LAYOUT_FREES) &&
		   (layout->where ? (int32_t)frame->result[0] != 0 : !asks_for_nothing(frame))) {
		count_up(slot->shared.counters, COUNTER_failed_allocations, 1);
		reallocation_cancel(slot, &reallocation);
	} else {
		reallocation_finish_if_own(slot, &reallocation, block, size, sampling_choose(slot, size), &frame->entry,
					   frame->island);
	}
	reentry_leave(slot);
	return true;
}

// The result is the usable size: smaller than what was asked for when nothing could be done.
bool hook_resize(struct call_frame *frame)
{
	const struct hook_layout *layout = &frame->island->layout;
	struct thread_slot *slot = reentry_begin(&frame->entry, frame->island);
	struct reallocation reallocation;
	uint64_t size = size_asked(frame), most, usable;

	if (HS_UNLIKELY(!slot))
		return false;
	reallocation_begin(slot, argument(frame, layout->block), frame->island, &reallocation);
	if (HS_UNLIKELY(!call(slot, frame)))
		return true;
	usable = frame->result[0];
	if (__builtin_add_overflow(size, argument(frame, layout->extra), &most))
		most = UINT64_MAX;
	if (usable < size) {
		reallocation_cancel(slot, &reallocation);
	} else {
		size = usable < most ? usable : most;
		reallocation_finish_if_own(slot, &reallocation, reallocation.old_block, size,
					   sampling_choose(slot, size), &frame->entry, frame->island);
	}
	reentry_leave(slot);
	return true;
}
