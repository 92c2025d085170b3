// SPDX-License-Identifier: Apache-2.0
#include "attach/thread_slots.h"

#include "base/cleanup.h"

#include <stdlib.h>

// All that is asked of a slot lies in its first bytes.
struct slot_head {
	uint8_t bytes[offsetof(struct thread_slot, random)];
};

static int compare_facts(const void *left, const void *right)
{
	const struct slot_facts *a = left, *b = right;

	return (a->thread_pointer > b->thread_pointer) - (a->thread_pointer < b->thread_pointer);
}

static int compare_words(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static struct slot_facts *find(const struct thread_slots *slots, uint64_t thread_pointer)
{
	const struct slot_facts key = { .thread_pointer = thread_pointer };

	return slots->count ? bsearch(&key, slots->items, slots->count, sizeof(key), compare_facts) : NULL;
}

static struct hs_error *read_used(const struct region_access *region, const uint64_t *used, struct thread_slots *slots)
{
	for (uint32_t i = 0; i < HS_THREAD_SLOTS; i++) {
		union {
			struct slot_head head;
			struct thread_slot slot; // only its head is read
		} read;
		struct hs_error *error;

		if (!(used[i / 64] >> (i % 64) & 1))
			continue;
		error = region_read(region, HS_OFFSET_SLOTS + i * sizeof(struct thread_slot), &read.head, sizeof(read.head));
		if (error)
			return error;
		if (read.slot.thread_pointer <= HS_THREAD_ENDED)
			continue;
		slots->items[slots->count++] = (struct slot_facts){
			.thread_pointer = read.slot.thread_pointer, .guard = read.slot.guard, .in_original = read.slot.in_original,
			.stack_low = read.slot.stack_low, .stack_high = read.slot.stack_high,
		};
	}
	return NULL;
}

static struct hs_error *note_several(const struct frozen_process *process, struct thread_slots *slots)
{
	HS_CLEANUP_FREE uint64_t *pointers = calloc(process->count + 1, sizeof(*pointers));

	if (!pointers)
		return &hs_error_no_memory;
	for (size_t i = 0; i < process->count; i++)
		pointers[i] = process->threads[i].registers.fs_base;
	qsort(pointers, process->count, sizeof(*pointers), compare_words);
	for (size_t i = 1; i < process->count; i++) {
		struct slot_facts *facts = pointers[i] == pointers[i - 1] ? find(slots, pointers[i]) : NULL;

		if (facts)
			facts->is_of_several = true;
	}
	return NULL;
}

struct hs_error *thread_slots_read(const struct region_access *region, const struct frozen_process *process, struct thread_slots *ret)
{
	uint64_t used[HS_THREAD_SLOTS / 64];
	struct thread_slots slots = { 0 };
	size_t count = 0;
	struct hs_error *error = region_read(region, offsetof(struct region_header, used_slots), used, sizeof(used));

	if (error)
		return error;
	for (size_t i = 0; i < HS_THREAD_SLOTS / 64; i++)
		count += (size_t)__builtin_popcountll(used[i]);
	slots.items = calloc(count + 1, sizeof(*slots.items));
	if (!slots.items)
		return &hs_error_no_memory;
	error = read_used(region, used, &slots);
	if (!error) {
		qsort(slots.items, slots.count, sizeof(*slots.items), compare_facts);
		error = note_several(process, &slots);
	}
	if (error)
		thread_slots_deinit(&slots);
	else
		*ret = slots;
	return error;
}

void thread_slots_deinit(struct thread_slots *slots)
{
	free(slots->items);
	*slots = (struct thread_slots){ 0 };
}

const struct slot_facts *thread_slots_find(const struct thread_slots *slots, uint64_t thread_pointer)
{
	return find(slots, thread_pointer);
}
