// SPDX-License-Identifier: Apache-2.0
#include "attach/region/slot_facts.h"

#include "attach/ptrace/thread_pointers.h"
#include "attach/region/thread_slots.h"
#include "base/cleanup.h"

#include <stdlib.h>

// All that is asked of a slot lies in its first bytes.
struct slot_head {
	uint8_t bytes[offsetof(struct shared_slot, left_guards)];
};

static int compare_facts(const void *left, const void *right)
{
	const struct slot_facts *a = left, *b = right;

	return (a->thread_pointer > b->thread_pointer) - (a->thread_pointer < b->thread_pointer);
}

static struct hs_error *read_left(const struct region_access *region, uint64_t slot, struct slot_facts *facts)
{
	return region_read(region, slot + offsetof(struct shared_slot, left_guards), facts->left, sizeof(facts->left));
}

static void add_nobodys(struct slot_facts_list *slots, const struct slot_facts *slot, uint64_t guard)
{
	if (guard && (guard < slot->stack_low || guard >= slot->stack_high))
		slots->nobodys[slots->nobodys_count++] = guard;
}

// Its thread is no more, but a coroutine may go on in another one. Not where its own stack was not known, which is
// over; nor where several threads had the slot, and have written there at the same time: what stands there may be over,
// and nobody would ever find out.
static void add_all_nobodys(struct slot_facts_list *slots, const struct slot_facts *slot)
{
	if (slot->is_of_several || !slot->stack_high)
		return;
	add_nobodys(slots, slot, slot->guard);
	for (size_t i = 0; i < HS_LEFT_GUARDS; i++)
		add_nobodys(slots, slot, slot->left[i]);
}

static struct hs_error *read_heads(const struct region_access *region, const uint64_t *offsets, size_t count,
				   struct slot_facts_list *slots)
{
	for (size_t i = 0; i < count; i++) {
		union {
			struct slot_head head;
			struct shared_slot slot; // only its head is read
		} read;
		struct hs_error *error = region_read(region, offsets[i], &read.head, sizeof(read.head));
		struct slot_facts facts;

		if (error)
			return error;
		facts = (struct slot_facts){
			.thread_pointer = thread_key_pointer(read.slot.thread_pointer),
			.guard = read.slot.guard,
			.in_original = read.slot.in_original,
			.stack_low = read.slot.stack_low,
			.stack_high = read.slot.stack_high,
			.is_of_several = read.slot.thread_pointer & HS_KEY_SHARED,
		};
		error = read.slot.left_count ? read_left(region, offsets[i], &facts) : NULL;
		if (error)
			return error;
		if (thread_key_is_taken(read.slot.thread_pointer))
			slots->items[slots->count++] = facts;
		else
			add_all_nobodys(slots, &facts);
	}
	return NULL;
}

// What slots have forgotten.
static struct hs_error *read_forgotten(const struct region_access *region, struct slot_facts_list *slots)
{
	uint64_t guards[HS_FORGOTTEN_GUARDS];
	uint32_t lost = 0;
	struct hs_error *error =
		region_read(region, offsetof(struct region_header, forgotten_guards), guards, sizeof(guards));

	if (!error)
		error = region_read(region, offsetof(struct region_header, guards_lost), &lost, sizeof(lost));
	for (size_t i = 0; i < HS_FORGOTTEN_GUARDS && !error; i++)
		if (guards[i])
			slots->nobodys[slots->nobodys_count++] = guards[i];
	slots->guards_lost = lost != 0;
	return error;
}

// How many living threads have each slot's pointer.
static struct hs_error *note_users(const struct frozen_process *process, struct slot_facts_list *slots)
{
	struct thread_pointers pointers;
	struct hs_error *error = thread_pointers_list(process, &pointers);

	if (error)
		return error;
	for (size_t i = 0; i < slots->count; i++) {
		struct slot_facts *slot = &slots->items[i];
		size_t users = thread_pointers_users(&pointers, slot->thread_pointer);

		slot->has_several = users > 1;
		slot->is_of_several |= slot->has_several;
		if (users == 0)
			add_all_nobodys(slots, slot);
	}
	thread_pointers_deinit(&pointers);
	return NULL;
}

struct hs_error *slot_facts_read(const struct region_access *region, const struct frozen_process *process,
				 struct slot_facts_list *ret)
{
	HS_CLEANUP_FREE uint64_t *offsets = NULL;
	struct slot_facts_list slots = { 0 };
	size_t count;
	struct hs_error *error = thread_slots_list(region, &offsets, &count);

	if (error)
		return error;
	slots.items = calloc(count + 1, sizeof(*slots.items));
	slots.nobodys = calloc(count * (HS_LEFT_GUARDS + 1) + HS_FORGOTTEN_GUARDS, sizeof(*slots.nobodys));
	error = slots.items && slots.nobodys ? read_heads(region, offsets, count, &slots) : &hs_error_no_memory;
	if (!error)
		error = read_forgotten(region, &slots);
	if (!error) {
		qsort(slots.items, slots.count, sizeof(*slots.items), compare_facts);
		error = note_users(process, &slots);
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
	free(slots->nobodys);
	*slots = (struct slot_facts_list){ 0 };
}

const struct slot_facts *slot_facts_find(const struct slot_facts_list *slots, uint64_t thread_pointer)
{
	const struct slot_facts key = { .thread_pointer = thread_pointer };

	return slots->count ? bsearch(&key, slots->items, slots->count, sizeof(key), compare_facts) : NULL;
}
