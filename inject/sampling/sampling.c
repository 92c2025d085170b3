// SPDX-License-Identifier: Apache-2.0
#include "inject/sampling/sampling.h"

#include "inject/arch/processor.h"
#include "inject/sampling/budget.h"
#include "inject/sampling/downsampling.h"
#include "inject/sampling/sampling_gap.h"
#include "inject/sampling/sampling_math.h"

// So many blocks in turn are drawn by themselves before the gap is taken for one that was left by a handler which has
// jumped away.
enum { ALONE_MOST = 64 };

// As gap_begin. It is a part of a sample's cost.
static void begin_timed_gap(struct thread_slot *slot)
{
	bool is_timed = region()->sampling_mode == SAMPLING_budget;
	uint64_t began = is_timed ? arch_ticks() : 0;

	gap_begin(slot);
	if (is_timed)
		slot->draw_ticks = (uint32_t)(arch_ticks() - began);
}

// `before`: the interval that was in force, by settings that the payload itself has changed; 0 = the thread begins
// anew.
static void begin_with_settings(struct thread_slot *slot, const struct region_header *header, uint64_t before)
{
	switch ((enum sampling_mode)header->sampling_mode) {
	case SAMPLING_interval:
	case SAMPLING_words:
		slot->shared.interval = header->sampling_interval;
		if (header->sampling_mode == SAMPLING_interval && slot->shared.interval < downsampling_floor())
			slot->shared.interval = downsampling_floor();
		break;
	case SAMPLING_stopped:
		slot->shared.interval = UINT64_MAX;
		break;
	case SAMPLING_budget:
		budget_begin_anew(slot);
		slot->shared.interval =
			before > downsampling_floor() && before <= HS_INTERVAL_MAX ? before : downsampling_floor();
		break;
	case SAMPLING_exact:
	default:
		slot->shared.interval = 1;
	}
	gap_begin(slot);
}

static void begin_random(struct thread_slot *slot)
{
	uint64_t seed = region()->sampling_seed;

	if (HS_LIKELY(slot->random))
		return;
	if (slot->thread == HS_THREAD_HISTORY_MAX - 1) // a number that all threads share that have none of their own
		seed ^= (uint64_t)slot;
	slot->random = sampling_first_state(seed, slot->thread);
}

// Takes over the settings that are in force. The tool raises the generation last, so settings that it changes meanwhile
// are taken over anew.
static void adopt(struct thread_slot *slot)
{
	const struct region_header *header = region();
	uint64_t before = slot->shared.interval;
	uint32_t generation;

	begin_random(slot);
	slot->kept_generation = 0; // the depth may be another one
	slot->last_record = 0;     // what comes next is counted in another way
	do {
		generation = __atomic_load_n(&header->sampling_generation, __ATOMIC_ACQUIRE);
		begin_with_settings(slot, header, before);
		slot->sampling_generation = generation;
	} while (HS_UNLIKELY(generation != __atomic_load_n(&header->sampling_generation, __ATOMIC_ACQUIRE)));
}

// How many samples fall into the `left` bytes behind one.
static uint32_t count_more(struct thread_slot *slot, uint64_t interval, uint64_t left)
{
	uint32_t more = 0;

	while (more < HS_SAMPLES_MAX - 1) {
		uint64_t gap = (uint64_t)sampling_gap(sampling_random(&slot->random), interval);

		if (gap > left)
			break;
		left -= gap;
		more++;
	}
	return more;
}

// A block at the beginning of a gap of its own: whatever becomes of the thread's, this is right for it.
static struct choice draw_alone(struct thread_slot *slot, uint64_t bytes, uint64_t interval, bool counts_samples)
{
	uint64_t gap = (uint64_t)sampling_gap(sampling_random(&slot->random), interval);
	struct choice choice = { 0, 0 };

	slot->drawn_alone++;
	if (gap > bytes)
		return choice;
	choice.interval = (uint32_t)interval;
	if (counts_samples)
		choice.samples = 1 + count_more(slot, interval, bytes - gap);
	return choice;
}

static struct choice count_down(struct thread_slot *slot, uint64_t bytes, uint64_t interval)
{
	bool counts_samples = region()->sampling_mode == SAMPLING_words, has_passed = false;
	struct choice choice = { 0, 0 };
	int64_t left;

	if (interval == UINT64_MAX || bytes > INT64_MAX)
		return choice;
	// always: it would stand for little more than itself, and adds no error this way
	if (bytes >= interval && !counts_samples)
		return (struct choice){ (uint32_t)interval, 0 };
	left = __atomic_load_n(credit_countdown(slot), __ATOMIC_RELAXED);
	// Below 0 only while an inline fast path is about to undo what it has subtracted: this is a signal handler, and
	// the sample is the interrupted call's.
	if (HS_UNLIKELY(left < 0 && slot->drawn_alone < ALONE_MOST))
		return draw_alone(slot, bytes, interval, counts_samples);
	slot->drawn_alone = 0;
	if (HS_UNLIKELY(left <= 0)) { // a hook was abandoned, or an inline fast path
		gap_begin(slot);
		left = __atomic_load_n(credit_countdown(slot), __ATOMIC_RELAXED);
	}
	left -= (int64_t)bytes;
	while (left <= 0 && slot->gap_rest > 0) {
		credit_end(slot); // a hook that is abandoned in here leaves no gap
		slot->seen_bytes += (uint64_t)slot->gap_piece;
		left += gap_begin_piece(slot, interval);
		has_passed = true;
	}
	if (left > 0) {
		gap_give_credit(slot, left);
		if (HS_UNLIKELY(has_passed && region()->sampling_mode == SAMPLING_budget))
			budget_look(slot);
		return choice;
	}
	choice.interval = (uint32_t)interval;
	slot->seen_bytes += (uint64_t)(slot->gap_piece - left);
	if (counts_samples)
		// bytes behind the one that is a sample
		choice.samples = 1 + count_more(slot, interval, (uint64_t)-left);
	begin_timed_gap(slot); // not what is left of the last one: the process has no memory
	return choice;
}

// The payload has raised the least interval (downsampling.c) since the gap was drawn. The gap that is over was one of
// the old interval, and so is what was chosen: a sample is downsampled as those are that were there before.
static struct choice take_over(struct thread_slot *slot, uint64_t size, struct choice choice)
{
	uint64_t interval;

	adopt(slot);
	interval = __atomic_load_n(&slot->shared.interval, __ATOMIC_RELAXED);
	if (!choice.interval || choice.samples || interval <= choice.interval || interval > HS_INTERVAL_MAX)
		return choice;
	if (!sampling_keeps(sampling_random(&slot->random), size, choice.interval, interval))
		return (struct choice){ 0, 0 };
	return (struct choice){ (uint32_t)interval, 0 };
}

struct choice sampling_draw(struct thread_slot *slot, uint64_t size)
{
	struct choice choice;
	uint64_t interval;

	// Read once: a change of the settings makes it 0.
	while (!(interval = __atomic_load_n(&slot->shared.interval, __ATOMIC_RELAXED)))
		adopt(slot);
	if (interval == 1)
		return (struct choice){ 1, 0 };
	begin_random(slot); // the gap may have been begun in another slot
	choice = count_down(slot, size ? size : 1, interval);
	if (HS_UNLIKELY(slot->sampling_generation != __atomic_load_n(&region()->sampling_generation, __ATOMIC_RELAXED)))
		choice = take_over(slot, size, choice);
	return choice;
}
