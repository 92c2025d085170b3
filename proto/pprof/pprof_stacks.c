// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/pprof_stacks.h"

#include "base/cleanup.h"
#include "base/hash_table.h"

#include <string.h>

static struct pprof_stack visible_stack(const struct heap_profile *profile, const struct profile_sample *sample)
{
	const uint32_t *frames = sample->frame_count ? profile->frames + sample->first_frame : NULL;
	uint32_t count = sample->frame_count;

	while (count > 1 && profile->locations[*frames].is_allocator) {
		frames++;
		count--;
	}
	return (struct pprof_stack){ frames, count, sample->samples_per_block, sample->labels, sample->values };
}

static bool is_empty(const struct profile_values *values)
{
	return !values->alloc_objects && !values->alloc_bytes && !values->live_objects && !values->live_bytes;
}

static bool same_labels(const struct profile_labels *a, const struct profile_labels *b)
{
	return a->thread == b->thread && a->epoch == b->epoch && a->size == b->size && a->age == b->age &&
	       a->kind == b->kind && a->allocator == b->allocator;
}

static bool same_key(const void *elements, uint32_t number, const void *wanted)
{
	const struct pprof_stack *a = (const struct pprof_stack *)elements + number, *b = wanted;

	return a->samples_per_block == b->samples_per_block && same_labels(&a->labels, &b->labels) &&
	       a->frame_count == b->frame_count &&
	       // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): frames are NULL only where there are none
	       (a->frame_count == 0 || memcmp(a->frames, b->frames, a->frame_count * sizeof(*a->frames)) == 0);
}

// Over the numbers and the indices. Keyed: which stacks there are, the target has chosen.
static uint64_t hash_of(const struct hash_table *table, const struct pprof_stack *stack)
{
	const struct profile_labels *labels = &stack->labels;
	const uint32_t numbers[] = {
		stack->samples_per_block, labels->thread, labels->epoch, labels->size, labels->age, labels->kind,
		labels->allocator
	};

	return keyed_hash(&table->key, stack->frames, stack->frame_count * sizeof(*stack->frames)) ^
	       hash_table_word_hash(table, keyed_hash(&table->key, numbers, sizeof(numbers)));
}

// pre: room for one more in `stacks`
static struct hs_error *add_stack(struct hash_table *table, const struct pprof_stack *stack, struct pprof_stack *stacks,
				  size_t *count)
{
	struct hs_error *error = hash_table_reserve(table);
	struct hash_slot *slot;
	uint64_t hash;

	if (error)
		return error;
	hash = hash_of(table, stack);
	slot = hash_table_find(table, hash, same_key, stacks, stack);
	if (hash_slot_is_used(slot)) {
		profile_values_add(&stacks[hash_slot_number(slot)].values, &stack->values);
	} else {
		hash_table_put(table, slot, hash, (uint32_t)*count);
		stacks[(*count)++] = *stack;
	}
	return NULL;
}

struct hs_error *pprof_stacks_build(const struct heap_profile *profile, struct pprof_stack **stacks_ret,
				    size_t *count_ret)
{
	HS_CLEANUP_FREE struct pprof_stack *stacks = calloc(profile->sample_count + 1, sizeof(*stacks));
	struct hs_error *error = stacks ? NULL : &hs_error_no_memory;
	struct hash_table table = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < profile->sample_count && !error; i++) {
		struct pprof_stack stack = visible_stack(profile, &profile->samples[i]);

		if (!is_empty(&stack.values))
			error = add_stack(&table, &stack, stacks, &count);
	}
	hash_table_deinit(&table);
	if (error)
		return error;
	*stacks_ret = HS_STEAL_POINTER(stacks);
	*count_ret = count;
	return NULL;
}
