// SPDX-License-Identifier: Apache-2.0
#include "attach/region/slot_facts.h"

#include "attach/ptrace/thread_pointers.h"
#include "attach/region/thread_slots.h"
#include "base/array.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static int compare_facts(const void *left, const void *right)
{
	const struct slot_facts *a = left, *b = right;

	return (a->thread_pointer > b->thread_pointer) - (a->thread_pointer < b->thread_pointer);
}

static uint32_t word_at(const uint8_t *slot, uint32_t offset)
{
	uint32_t word;

	memcpy(&word, slot + offset, sizeof(word));
	return word;
}

static uint64_t long_word_at(const uint8_t *slot, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, slot + offset, sizeof(word));
	return word;
}

static struct hs_error *add_nobodys(struct slot_facts_list *slots, uint64_t guard)
{
	if (ARRAY_RESERVE(slots->nobodys, slots->nobodys_count + 1, &slots->nobodys_room))
		return &hs_error_no_memory;
	slots->nobodys[slots->nobodys_count++] = guard;
	return NULL;
}

static bool is_elsewhere(const struct slot_facts *slot, uint64_t guard)
{
	return guard && (guard < slot->stack_low || guard >= slot->stack_high);
}

// Its thread is no more, but a coroutine may go on in another one. Not where its own stack was not known, which is
// over; nor where several threads had the slot, and have written there at the same time: what stands there may be over,
// and nobody would ever find out.
static struct hs_error *add_all_nobodys(struct slot_facts_list *slots, const struct slot_facts *slot)
{
	struct hs_error *error = NULL;

	if (slot->is_of_several || !slot->stack_high)
		return NULL;
	if (is_elsewhere(slot, slot->guard))
		error = add_nobodys(slots, slot->guard);
	for (size_t i = 0; i < HS_STABLE_LEFT_GUARDS_MAX && !error; i++)
		if (is_elsewhere(slot, slot->left[i]))
			error = add_nobodys(slots, slot->left[i]);
	return error;
}

// `users`: how many living threads have its pointer; 2 = more than one.
static struct hs_error *add_living(struct slot_facts_list *slots, const struct slot_facts *slot, size_t users)
{
	struct slot_facts *item;

	if (ARRAY_RESERVE(slots->items, slots->count + 1, &slots->room))
		return &hs_error_no_memory;
	item = &slots->items[slots->count++];
	*item = *slot;
	item->has_several = users > 1;
	item->is_of_several |= item->has_several;
	return NULL;
}

// `slot`: its first bytes, as far as the layout names any. Returns its key.
static uint64_t read_facts(const struct stable_layout *layout, const uint8_t *slot, struct slot_facts *ret)
{
	uint64_t key = long_word_at(slot, layout->key);

	*ret = (struct slot_facts){
		.thread_pointer = thread_key_pointer(key),
		.guard = long_word_at(slot, layout->guard),
		.in_original = word_at(slot, layout->in_original),
		.stack_low = long_word_at(slot, layout->stack_low),
		.stack_high = long_word_at(slot, layout->stack_high),
		.is_of_several = key & HS_KEY_SHARED,
	};
	if (word_at(slot, layout->left_count))
		memcpy(ret->left, slot + layout->left_guards, layout->left_guards_count * sizeof(ret->left[0]));
	return key;
}

// What the layout names of a slot ends here, bytes from its start.
static size_t end_of_facts(const struct stable_layout *layout)
{
	const uint32_t ends[] = {
		layout->key + 8,
		layout->guard + 8,
		layout->in_original + 4,
		layout->stack_low + 8,
		layout->stack_high + 8,
		layout->left_count + 4,
		layout->left_guards + layout->left_guards_count * 8,
	};
	size_t end = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		end = ends[i] > end ? ends[i] : end;
	return end;
}

static struct hs_error *read_heads(const struct region_access *region, const uint64_t *offsets, size_t count,
				   const struct thread_pointers *living, struct slot_facts_list *slots)
{
	const struct stable_layout *layout = &region->header.stable.layout;
	size_t size = end_of_facts(layout);

	for (size_t i = 0; i < count; i++) {
		uint8_t head[HS_STABLE_SLOT_SIZE];
		struct slot_facts facts;
		struct hs_error *error = region_read(region, offsets[i], head, size);
		size_t users = 0;

		if (!error && thread_key_is_taken(read_facts(layout, head, &facts)))
			users = thread_pointers_users(living, facts.thread_pointer);
		if (!error)
			error = users ? add_living(slots, &facts, users) : add_all_nobodys(slots, &facts);
		if (error)
			return error;
	}
	return NULL;
}

// What slots have forgotten.
static struct hs_error *read_forgotten(const struct region_access *region, struct slot_facts_list *slots)
{
	const struct stable_layout *layout = &region->header.stable.layout;
	HS_CLEANUP_FREE uint64_t *guards = calloc(layout->forgotten_count + 1u, sizeof(*guards));
	uint32_t lost = 0;
	struct hs_error *error = guards ? NULL : &hs_error_no_memory;

	if (!error)
		error = region_read(region, layout->forgotten_guards, guards,
				    layout->forgotten_count * sizeof(*guards));
	if (!error)
		error = region_read(region, layout->guards_lost, &lost, sizeof(lost));
	for (size_t i = 0; i < layout->forgotten_count && !error; i++)
		if (guards[i])
			error = add_nobodys(slots, guards[i]);
	slots->guards_lost = lost != 0;
	return error;
}

struct hs_error *slot_facts_read(const struct region_access *region, const struct frozen_process *frozen,
				 struct slot_facts_list *ret)
{
	HS_CLEANUP_FREE uint64_t *offsets = NULL;
	struct slot_facts_list slots = { 0 };
	struct thread_pointers living;
	size_t count;
	struct hs_error *error = thread_slots_list(region, &offsets, &count);

	if (!error)
		error = thread_pointers_list(frozen, &living);
	if (error)
		return error;
	error = read_heads(region, offsets, count, &living, &slots);
	thread_pointers_deinit(&living);
	if (!error)
		error = read_forgotten(region, &slots);
	if (error) {
		slot_facts_deinit(&slots);
		return error;
	}
	if (slots.count)
		qsort(slots.items, slots.count, sizeof(*slots.items), compare_facts);
	*ret = slots;
	return NULL;
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
