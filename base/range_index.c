// SPDX-License-Identifier: Apache-2.0
#include "base/range_index.h"

#include "base/array.h"

#include <stdlib.h>

struct hs_error *range_index_add(struct range_index *index, uint64_t low, uint64_t high, size_t value)
{
	if (low >= high)
		return NULL;
	if (ARRAY_RESERVE(index->items, index->count + 1, &index->room))
		return &hs_error_no_memory;
	index->items[index->count++] = (struct range_index_item){ low, high, high, value };
	return NULL;
}

// By begin; of two that begin together the longer one first, so that the shorter is found first from behind.
static int compare_items(const void *left, const void *right)
{
	const struct range_index_item *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return (a->value > b->value) - (a->value < b->value);
}

void range_index_sort(struct range_index *index)
{
	uint64_t highest = 0;
	bool is_sorted = true;

	for (size_t i = 1; i < index->count && is_sorted; i++)
		is_sorted = compare_items(&index->items[i - 1], &index->items[i]) <= 0;
	if (!is_sorted)
		qsort(index->items, index->count, sizeof(*index->items), compare_items);
	for (size_t i = 0; i < index->count; i++) {
		if (index->items[i].high > highest)
			highest = index->items[i].high;
		index->items[i].highest_here = highest;
	}
}

bool range_index_find(const struct range_index *index, uint64_t address, size_t *value_ret)
{
	size_t begun = ARRAY_COUNT_UP_TO(index->items, index->count, low, address);

	while (begun-- > 0 && index->items[begun].highest_here > address) {
		if (index->items[begun].high > address) {
			*value_ret = index->items[begun].value;
			return true;
		}
	}
	return false;
}

void range_index_deinit(struct range_index *index)
{
	free(index->items);
	*index = (struct range_index){ 0 };
}
