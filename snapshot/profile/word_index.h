// SPDX-License-Identifier: Apache-2.0
// A set of 64-bit words, each with its number in the order of insertion.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_WORD_INDEX_H
#define HEAPSNAP_SNAPSHOT_PROFILE_WORD_INDEX_H

#include "base/hash_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word_index {
	uint64_t *words; // in the order in which they came
	size_t count, room;
	struct hash_table numbers; // by word
};

// The number of `word`, added if it is new (*new_ret says which). UINT32_MAX = out of memory. A zeroed struct is an
// empty set.
uint32_t word_index_add(struct word_index *index, uint64_t word, bool *new_ret);
void word_index_deinit(struct word_index *index);

#endif
