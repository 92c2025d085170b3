// SPDX-License-Identifier: Apache-2.0
// What is done with the values of stacks: differences, and what rows are ordered by. Pure.
#ifndef HEAPSNAP_VIEWS_VALUES_H
#define HEAPSNAP_VIEWS_VALUES_H

#include "snapshot/heap_profile.h"

enum values_order {
	ORDER_LIVE,        // live bytes
	ORDER_BLOCKS,      // live blocks
	ORDER_ALLOCATED,   // bytes allocated since attach
	ORDER_ALLOCATIONS, // how many since attach
	ORDER_TEMPORARY,   // how many of these were temporary
	ORDER_ERROR,       // standard error of the live bytes
	ORDER_NAME,        // A first; its shares are those of live bytes
	ORDER_CUMULATIVE,  // live bytes of all stacks with it, also where rows are the innermost places
	ORDER_COUNT
};

// "live-bytes", "live-blocks", "alloc-bytes", "alloc-blocks", "temporary-blocks", "error", "name", "cumulative".
const char *values_order_name(enum values_order order);
// Whether there is one of that name.
bool values_order_find(const char *name, enum values_order *ret);

// Whether it is one of what was allocated since attach, and not of what is live.
static inline bool values_order_is_allocated(enum values_order order)
{
	return order == ORDER_ALLOCATED || order == ORDER_ALLOCATIONS || order == ORDER_TEMPORARY;
}

// from - what; stays at INT64_MIN or INT64_MAX. Of the variances and the records it is the sum: both stand behind it.
struct profile_values values_subtract(const struct profile_values *from, const struct profile_values *what);

// from - what; stays at INT64_MIN or INT64_MAX.
int64_t number_subtract(int64_t from, int64_t what);

// How much there is of what is ordered by, without its sign: in a difference, what has shrunk counts as well.
double values_size(const struct profile_values *values, enum values_order order);

// What shares are shares of: the same, but live bytes in the order of errors or names, whose sums mean nothing.
double values_weight(const struct profile_values *values, enum values_order order);

// Whether nothing is said but for variances: no bytes and no blocks, live or not.
bool values_are_zero(const struct profile_values *values);

#endif
