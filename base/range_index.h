// SPDX-License-Identifier: Apache-2.0
// Address ranges, each with a number, and the search for the one that holds an address. Pure.
#ifndef HEAPSNAP_BASE_RANGE_INDEX_H
#define HEAPSNAP_BASE_RANGE_INDEX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range_index_item {
	uint64_t low, high;    // [low, high)
	uint64_t highest_here; // greatest `high` of this and all items before it; set by sorting
	size_t value;
};

// Zeroed = empty.
struct range_index {
	struct range_index_item *items;
	size_t count, room;
};

// [low, high). Empty and reversed ranges are left out. HS_ERROR_NO_MEMORY.
struct hs_error *range_index_add(struct range_index *index, uint64_t low, uint64_t high, size_t value) HS_MUST_CHECK;
// To be called after the last add and before the first find.
void range_index_sort(struct range_index *index);
// The value of the range that holds `address`; the one that begins last when several do, of those the
// shortest, and of equal ones that with the greatest value. False when none does.
bool range_index_find(const struct range_index *index, uint64_t address, size_t *value_ret);
void range_index_deinit(struct range_index *index);

#endif
