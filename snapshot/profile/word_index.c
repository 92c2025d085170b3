// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/word_index.h"

#include "base/array.h"

#include <stdlib.h>

static bool is_word(const void *elements, uint32_t number, const void *wanted)
{
	return ((const uint64_t *)elements)[number] == *(const uint64_t *)wanted;
}

uint32_t word_index_add(struct word_index *index, uint64_t word, bool *new_ret)
{
	struct hash_slot *slot;
	uint64_t hash;

	*new_ret = false;
	if (ARRAY_RESERVE(index->words, index->count + 1, &index->room) || hash_table_reserve(&index->numbers))
		return UINT32_MAX;
	hash = hash_table_word_hash(&index->numbers, word);
	slot = hash_table_find(&index->numbers, hash, is_word, index->words, &word);
	if (hash_slot_is_used(slot))
		return hash_slot_number(slot);
	hash_table_put(&index->numbers, slot, hash, (uint32_t)index->count);
	index->words[index->count++] = word;
	*new_ret = true;
	return (uint32_t)index->count - 1;
}

void word_index_deinit(struct word_index *index)
{
	free(index->words);
	hash_table_deinit(&index->numbers);
	*index = (struct word_index){ 0 };
}
