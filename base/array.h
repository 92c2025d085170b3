// SPDX-License-Identifier: Apache-2.0
// Growing arrays: elements, how many there are, and for how many there is room, kept by the owner in variables or
// fields of any names. Room doubles, so adding one element at a time costs constant time on average.
//
//   struct point *points = NULL; size_t count = 0, room = 0;
//   if (ARRAY_RESERVE(points, count + 1, &room)) return &hs_error_no_memory;
//   points[count++] = point;
//   free(points);
#ifndef HEAPSNAP_BASE_ARRAY_H
#define HEAPSNAP_BASE_ARRAY_H

#include "base/error.h"

#include <stddef.h>

// Returns `items` with room for at least `needed` elements of `size` bytes, moved or not, and *room_ret raised; NULL
// when there is no memory, or no size_t, for so many: then items and *room_ret are as before. pre: needed > *room_ret
void *hs_array_grow(void *items, size_t needed, size_t size, size_t *room_ret) HS_MUST_CHECK;

static inline HS_MUST_CHECK struct hs_error *hs_array_result(const void *items)
{
	return items ? NULL : &hs_error_no_memory;
}

// Makes room for `needed` elements in all. An error (no memory) changes nothing. `items` is assigned to: an lvalue.
#define ARRAY_RESERVE(items, needed, room_pointer)                                                                     \
	__extension__({                                                                                                \
		const size_t hs_needed_ = (needed);                                                                    \
		struct hs_error *hs_error_ = NULL;                                                                     \
		if (hs_needed_ > *(room_pointer)) {                                                                    \
			__typeof__(items) hs_items_ =                                                                  \
				hs_array_grow((items), hs_needed_, sizeof(*(items)), (room_pointer));                  \
			hs_error_ = hs_array_result(hs_items_);                                                        \
			if (hs_items_)                                                                                 \
				(items) = hs_items_;                                                                   \
		}                                                                                                      \
		hs_error_;                                                                                             \
	})

// How many of the first elements have a `member` of at most `value`. pre: they are sorted by it, the lowest first
#define ARRAY_COUNT_UP_TO(items, count, member, value)                                                                 \
	__extension__({                                                                                                \
		size_t hs_low_ = 0, hs_high_ = (count);                                                                \
		while (hs_low_ <                                                                                       \
		       hs_high_) { /* elements before low are at most `value`, those from high on above it */          \
			const size_t hs_middle_ = hs_low_ + (hs_high_ - hs_low_) / 2;                                  \
			if ((items)[hs_middle_].member <= (value))                                                     \
				hs_low_ = hs_middle_ + 1;                                                              \
			else                                                                                           \
				hs_high_ = hs_middle_;                                                                 \
		}                                                                                                      \
		hs_low_;                                                                                               \
	})

#endif
