// SPDX-License-Identifier: Apache-2.0
// Functions that may throw and have no companion: they run as they are, without a frame of ours. One hook stands where
// they begin, and one wherever they return. An exception passes neither.
//
// Context: as hooks.c. Every register is kept, but those that a linkage table may change.
#include "inject/hook/hooks.h"

#include "inject/hook/fast_path.h"

void hook_watched(struct call_frame *frame)
{
	const struct hook_layout *layout = &frame->island->layout;
	struct thread_slot *slot = reentry_begin(&frame->entry, frame->island);
	uint64_t size = argument(frame, layout->size);
	struct choice choice;

	if (HS_UNLIKELY(!slot))
		return;
	if (layout->count)
		size *= argument(frame, layout->count); // where that does not fit, the call fails
	choice = sampling_choose(slot, size);
	reentry_make_room(slot, reentry_place(&frame->entry));
	if (!choice.interval && reentry_is_trusted(slot)) {
		slot->framed_calls++;
		reentry_leave(slot);
		return;
	}
	slot->awaited_size = size;
	slot->awaited_interval = choice.interval;
	slot->awaited_samples = (uint16_t)choice.samples;
	reentry_await(slot, &frame->entry);
}

// On another stack than the thread's own a call from within may have recorded the block already.
static bool is_shown(const struct thread_slot *slot, uint64_t block, uint64_t place)
{
	struct block_place at;

	if (HS_LIKELY(reentry_on_own_stack(slot, place)) || !block)
		return false;
	at = recorded(block);
	return is_recorded(at);
}

void hook_exit_point(struct call_frame *frame)
{
	struct thread_slot *slot = thread_slot_current();
	uint64_t block = frame->before, size;
	struct awaited_call late;
	struct choice choice;

	if (HS_UNLIKELY(!slot))
		return;
	if (reentry_has_returned(slot, &frame->entry)) {
		size = slot->awaited_size;
		choice = (struct choice){ slot->awaited_interval, slot->awaited_samples };
	} else if (reentry_returns_late(slot, &frame->entry, &late)) {
		size = late.size;
		choice = (struct choice){ late.interval, late.samples };
	} else {
		return;
	}
	if (choice.interval) // elsewhere than on its own stack other hooks may have begun since
		slot->hook = frame->island->hook_index;
	if (choice.interval == 1 && slot->shared.interval == 1 && fast_path_record(slot, block, size, &frame->entry)) {
		reentry_leave(slot);
		return;
	}
	if (!is_shown(slot, block, reentry_place(&frame->entry)))
		record_allocation(slot, block, size, choice, &frame->entry);
	reentry_leave(slot);
}
