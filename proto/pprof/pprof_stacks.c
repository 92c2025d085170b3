// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/pprof_stacks.h"

#include "base/cleanup.h"

#include <string.h>

static struct pprof_stack visible_stack(const struct heap_profile *profile, const struct profile_sample *sample)
{
	const uint32_t *frames = sample->frame_count ? profile->frames + sample->first_frame : NULL;
	uint32_t count = sample->frame_count;

	while (count > 1 && profile->locations[*frames].is_allocator) {
		frames++;
		count--;
	}
	return (struct pprof_stack){
		frames,
		count,
		{ sample->alloc_objects, sample->alloc_bytes, sample->live_objects, sample->live_bytes },
		sample->samples_per_block,
		sample->live_records,
		sample->live_objects_variance,
		sample->live_bytes_variance,
	};
}

static bool is_empty(const struct pprof_stack *stack)
{
	for (int i = 0; i < PPROF_VALUES; i++) {
		if (stack->values[i])
			return false;
	}
	return true;
}

static void add_values(struct pprof_stack *to, const struct pprof_stack *from)
{
	for (int i = 0; i < PPROF_VALUES; i++) {
		if (__builtin_add_overflow(to->values[i], from->values[i], &to->values[i]))
			to->values[i] = INT64_MAX;
	}
	to->live_records += from->live_records;
	to->live_objects_variance += from->live_objects_variance;
	to->live_bytes_variance += from->live_bytes_variance;
}

static bool same_key(const struct pprof_stack *a, const struct pprof_stack *b)
{
	return a->samples_per_block == b->samples_per_block && a->frame_count == b->frame_count &&
	       (a->frame_count == 0 || memcmp(a->frames, b->frames, a->frame_count * sizeof(*a->frames)) == 0);
}

// FNV-1a over the number and the indices.
static uint64_t hash_key(const struct pprof_stack *stack)
{
	uint64_t value = (0xcbf29ce484222325u ^ stack->samples_per_block) * 0x100000001b3u;

	for (uint32_t i = 0; i < stack->frame_count; i++)
		value = (value ^ stack->frames[i]) * 0x100000001b3u;
	return value ^ value >> 29;
}

struct hs_error *pprof_stacks_build(const struct heap_profile *profile, struct pprof_stack **stacks_ret,
				    size_t *count_ret)
{
	size_t slot_count = 16, count = 0;

	while (slot_count < profile->sample_count * 2)
		slot_count *= 2;

	// Open addressing: index + 1 into stacks, 0 = free; at least a half stays free.
	HS_CLEANUP_FREE size_t *slots = calloc(slot_count, sizeof(*slots));
	HS_CLEANUP_FREE struct pprof_stack *stacks = calloc(profile->sample_count + 1, sizeof(*stacks));

	if (!slots || !stacks)
		return &hs_error_no_memory;
	for (size_t i = 0; i < profile->sample_count; i++) {
		struct pprof_stack stack = visible_stack(profile, &profile->samples[i]);

		if (is_empty(&stack))
			continue;

		size_t slot = hash_key(&stack) & (slot_count - 1);

		while (slots[slot] && !same_key(&stacks[slots[slot] - 1], &stack))
			slot = (slot + 1) & (slot_count - 1);
		if (slots[slot]) {
			add_values(&stacks[slots[slot] - 1], &stack);
		} else {
			stacks[count++] = stack;
			slots[slot] = count;
		}
	}
	*stacks_ret = HS_STEAL_POINTER(stacks);
	*count_ret = count;
	return NULL;
}
