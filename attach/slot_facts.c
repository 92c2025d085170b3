// SPDX-License-Identifier: Apache-2.0
#include "attach/slot_facts.h"

#include "attach/thread_pointers.h"
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

static struct slot_facts *find(const struct slot_facts_list *slots, uint64_t thread_pointer)
{
	const struct slot_facts key = { .thread_pointer = thread_pointer };

	return slots->count ? bsearch(&key, slots->items, slots->count, sizeof(key), compare_facts) : NULL;
}

static struct hs_error *read_heads(const struct region_access *region, const uint64_t *offsets, size_t count, struct slot_facts_list *slots)
{
	for (size_t i = 0; i < count; i++) {
		union {
			struct slot_head head;
			struct thread_slot slot; // only its head is read
		} read;
		struct hs_error *error = region_read(region, offsets[i], &read.head, sizeof(read.head));

		if (error)
			return error;
		if (!thread_key_is_taken(read.slot.thread_pointer))
			continue;
		slots->items[slots->count++] = (struct slot_facts){
			.thread_pointer = thread_key_pointer(read.slot.thread_pointer), .guard = read.slot.guard,
			.in_original = read.slot.in_original, .stack_low = read.slot.stack_low, .stack_high = read.slot.stack_high,
			.is_of_several = read.slot.thread_pointer & HS_KEY_SHARED,
		};
	}
	return NULL;
}

static struct hs_error *note_several(const struct frozen_process *process, struct slot_facts_list *slots)
{
	struct thread_pointers pointers;
	struct hs_error *error = thread_pointers_list(process, &pointers);

	if (error)
		return error;
	for (size_t i = 0; i < slots->count; i++)
		if (thread_pointers_users(&pointers, slots->items[i].thread_pointer) > 1)
			slots->items[i].is_of_several = true;
	thread_pointers_deinit(&pointers);
	return NULL;
}

struct hs_error *slot_facts_read(const struct region_access *region, const struct frozen_process *process, struct slot_facts_list *ret)
{
	HS_CLEANUP_FREE uint64_t *offsets = NULL;
	struct slot_facts_list slots = { 0 };
	size_t count;
	struct hs_error *error = thread_slots_list(region, &offsets, &count);

	if (error)
		return error;
	slots.items = calloc(count + 1, sizeof(*slots.items));
	if (!slots.items)
		return &hs_error_no_memory;
	error = read_heads(region, offsets, count, &slots);
	if (!error) {
		qsort(slots.items, slots.count, sizeof(*slots.items), compare_facts);
		error = note_several(process, &slots);
	}
	if (error)
		slot_facts_deinit(&slots);
	else
		*ret = slots;
	return error;
}

void slot_facts_deinit(struct slot_facts_list *slots)
{
	free(slots->items);
	*slots = (struct slot_facts_list){ 0 };
}

const struct slot_facts *slot_facts_find(const struct slot_facts_list *slots, uint64_t thread_pointer)
{
	return find(slots, thread_pointer);
}
