// SPDX-License-Identifier: Apache-2.0
// Where in the target's address space the islands go.
#ifndef HEAPSNAP_ATTACH_HOOK_ISLAND_PLACE_H
#define HEAPSNAP_ATTACH_HOOK_ISLAND_PLACE_H

#include "base/proc_maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_span {
	uint64_t low, high; // [low, high)
};

// Pure: whether one island area may serve all of `span`, with plenty of places to choose from.
bool island_span_is_small(struct address_span span);

// Pure: a free, page aligned place for `size` bytes within 2 GiB of every byte of `span`, away from where the heap and
// the stack may grow, and from the `taken_count` spans in `taken`. `program_end` is the end of the executable's memory.
// 0 = none.
uint64_t island_place(const struct proc_maps *maps, struct address_span span, uint64_t size, uint64_t program_end,
		      const struct address_span *taken, size_t taken_count);

#endif
