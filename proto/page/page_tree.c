// SPDX-License-Identifier: Apache-2.0
#include "proto/page/page_tree.h"

#include "base/array.h"
#include "base/hash_table.h"
#include "views/stack_places.h"

#include <stdlib.h>

struct tree_maker {
	const struct named_profile *named;
	struct page_tree tree;
	struct hash_table table;   // nodes by parent and place
	struct stack_buffer stack; // of one sample
};

int page_value_count(const struct heap_profile *profile)
{
	return profile->has_temporaries ? PAGE_VALUES : PAGE_TEMPORARY_OBJECTS;
}

void page_values_of(const struct profile_values *values, int64_t ret[PAGE_VALUES])
{
	ret[PAGE_LIVE_BYTES] = values->live_bytes;
	ret[PAGE_LIVE_OBJECTS] = values->live_objects;
	ret[PAGE_ALLOC_BYTES] = values->alloc_bytes;
	ret[PAGE_ALLOC_OBJECTS] = values->alloc_objects;
	ret[PAGE_TEMPORARY_OBJECTS] = values->temporary_objects;
}

static bool is_node(const void *elements, uint32_t number, const void *wanted)
{
	const struct page_node *a = (const struct page_node *)elements + number, *b = wanted;

	return a->parent == b->parent && a->place == b->place;
}

// The node of `place` below *node, made where there is none yet, comes into *node.
static struct hs_error *step_down(struct tree_maker *maker, uint32_t place, uint32_t *node)
{
	const struct page_node wanted = { .parent = *node, .place = place };
	struct page_tree *tree = &maker->tree;
	struct hs_error *error = hash_table_reserve(&maker->table);
	struct hash_slot *slot;
	uint64_t hash;

	if (!error)
		error = ARRAY_RESERVE(tree->nodes, tree->count + 1, &tree->room);
	if (error)
		return error;
	hash = hash_table_word_hash(&maker->table, (uint64_t)wanted.parent << 32 | wanted.place);
	slot = hash_table_find(&maker->table, hash, is_node, tree->nodes, &wanted);
	if (!hash_slot_is_used(slot)) {
		hash_table_put(&maker->table, slot, hash, (uint32_t)tree->count);
		tree->nodes[tree->count++] = wanted;
	}
	*node = hash_slot_number(slot);
	return NULL;
}

static struct hs_error *add_sample(struct tree_maker *maker, size_t number)
{
	const struct profile_sample *sample = &maker->named->profile->samples[number];
	struct hs_error *error = stack_places(maker->named, sample, &maker->stack);
	int64_t values[PAGE_VALUES];
	uint32_t node = 0;
	size_t count;

	if (error)
		return error;
	count = maker->stack.count;
	if (count == 0)
		maker->stack.items[count++] = PAGE_PLACE_UNKNOWN;
	while (count > 0 && !error)
		error = step_down(maker, maker->stack.items[--count], &node);
	if (error)
		return error;
	page_values_of(&sample->values, values);
	for (int i = 0; i < PAGE_VALUES; i++) {
		int64_t *sum = &maker->tree.nodes[node].values[i];

		if (__builtin_add_overflow(*sum, values[i], sum))
			*sum = values[i] > 0 ? INT64_MAX : INT64_MIN;
	}
	maker->tree.sample_nodes[number] = node;
	return NULL;
}

struct hs_error *page_tree_make(const struct named_profile *named, struct page_tree *ret)
{
	const size_t sample_count = named->profile->sample_count;
	struct tree_maker maker = { .named = named };
	struct hs_error *error = ARRAY_RESERVE(maker.tree.nodes, 1, &maker.tree.room);

	if (!error) {
		maker.tree.nodes[0] = (struct page_node){ .place = PAGE_PLACE_ROOT };
		maker.tree.count = 1;
		maker.tree.sample_nodes = calloc(sample_count + 1, sizeof(*maker.tree.sample_nodes));
		if (!maker.tree.sample_nodes)
			error = &hs_error_no_memory;
	}
	for (size_t i = 0; i < sample_count && !error; i++)
		error = add_sample(&maker, i);
	hash_table_deinit(&maker.table);
	stack_buffer_deinit(&maker.stack);
	if (error)
		page_tree_deinit(&maker.tree);
	*ret = maker.tree;
	return error;
}

void page_tree_deinit(struct page_tree *tree)
{
	free(tree->nodes);
	free(tree->sample_nodes);
	*tree = (struct page_tree){ 0 };
}
