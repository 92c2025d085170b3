// SPDX-License-Identifier: Apache-2.0
#include "sampling.h"

#include "arch.h"
#include "budget.h"
#include "sampling_math.h"
#include "thinning.h"

// No more than the interval passes at once, so that blocks of the interval and more never do (abi/payload_header.h, thread_pass). What is left of
// the gap passes then.
static int64_t begin_piece(struct thread_slot *slot, uint64_t interval)
{
	slot->gap_piece = slot->gap_rest < (int64_t)interval ? slot->gap_rest : (int64_t)interval;
	slot->gap_rest -= slot->gap_piece;
	return slot->gap_piece;
}

static int64_t draw_gap(struct thread_slot *slot, uint64_t interval)
{
	slot->gap_rest = sampling_gap(sampling_random(&slot->random), interval);
	return begin_piece(slot, interval);
}

// The tool may change the settings at any instruction: it makes `interval` 0 first and takes the pass then. One that is given after that must not
// last.
static void give_pass(struct thread_slot *slot, int64_t bytes)
{
	pass_give(slot, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (HS_UNLIKELY(__atomic_load_n(&slot->interval, __ATOMIC_RELAXED) == 0))
		pass_end(slot);
}

void sampling_begin_gap(struct thread_slot *slot)
{
	uint64_t interval = slot->interval;

	if (interval == 1)
		pass_return(slot);
	else if (interval == UINT64_MAX)
		give_pass(slot, INT64_MAX);
	else
		give_pass(slot, draw_gap(slot, interval));
}

// As sampling_begin_gap. It is a part of a sample's cost.
static void begin_timed_gap(struct thread_slot *slot)
{
	bool is_timed = region()->sampling_mode == SAMPLING_budget;
	uint64_t began = is_timed ? arch_ticks() : 0;

	sampling_begin_gap(slot);
	if (is_timed)
		slot->draw_ticks = (uint32_t)(arch_ticks() - began);
}

static void begin_with_settings(struct thread_slot *slot, const struct region_header *header)
{
	switch ((enum sampling_mode)header->sampling_mode) {
	case SAMPLING_interval:
	case SAMPLING_words:
		slot->interval = header->sampling_interval;
		if (header->sampling_mode == SAMPLING_interval && slot->interval < thinning_floor())
			slot->interval = thinning_floor();
		break;
	case SAMPLING_stopped:
		slot->interval = UINT64_MAX;
		break;
	case SAMPLING_budget:
		budget_begin(slot);
		slot->interval = thinning_floor();
		break;
	case SAMPLING_exact:
	default:
		slot->interval = 1;
	}
	sampling_begin_gap(slot);
}

// Takes over the settings that are in force. The tool raises the generation last, so settings that it changes meanwhile are taken over anew.
static void adopt(struct thread_slot *slot)
{
	const struct region_header *header = region();
	uint32_t generation;

	if (!slot->random)
		slot->random = sampling_first_state(header->sampling_seed, slot->thread);
	slot->kept_generation = 0; // the depth may be another one
	do {
		generation = __atomic_load_n(&header->sampling_generation, __ATOMIC_ACQUIRE);
		begin_with_settings(slot, header);
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

struct choice sampling_draw(struct thread_slot *slot, uint64_t size)
{
	struct choice choice = { 0, 0 };
	uint64_t bytes = size ? size : 1, interval;
	bool counts_samples;
	int64_t left;

	do {
		if (slot->interval == 0 || slot->sampling_generation != __atomic_load_n(&region()->sampling_generation, __ATOMIC_RELAXED))
			adopt(slot);
		interval = __atomic_load_n(&slot->interval, __ATOMIC_RELAXED); // read once: a change of the settings makes it 0
	} while (HS_UNLIKELY(interval == 0));
	if (interval == 1)
		return (struct choice){ 1, 0 };
	if (interval == UINT64_MAX || bytes > INT64_MAX)
		return choice;
	counts_samples = region()->sampling_mode == SAMPLING_words;
	if (bytes >= interval && !counts_samples) // always: it would stand for little more than itself, and adds no error this way
		return (struct choice){ (uint32_t)interval, 0 };
	left = __atomic_load_n(pass_countdown(slot), __ATOMIC_RELAXED);
	if (HS_UNLIKELY(left <= 0)) { // a hook was abandoned, or a short way
		sampling_begin_gap(slot);
		left = __atomic_load_n(pass_countdown(slot), __ATOMIC_RELAXED);
	}
	left -= (int64_t)bytes;
	while (left <= 0 && slot->gap_rest > 0) {
		slot->seen_bytes += (uint64_t)slot->gap_piece;
		left += begin_piece(slot, interval);
	}
	if (left > 0) {
		give_pass(slot, left);
		return choice;
	}
	choice.interval = (uint32_t)interval;
	slot->seen_bytes += (uint64_t)(slot->gap_piece - left);
	if (counts_samples)
		choice.samples = 1 + count_more(slot, interval, (uint64_t)-left); // bytes behind the one that is a sample
	begin_timed_gap(slot); // not what is left of the last one: the process has no memory
	return choice;
}
