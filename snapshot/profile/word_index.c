// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/word_index.h"

#include <stdlib.h>
#include <sys/random.h>

// The highest bits of a product with an odd factor that nobody knows: the words come from the target, and with a known
// factor it could choose them so that all begin their search at one place.
static size_t start_of(const struct word_index *index, uint64_t word)
{
	return (size_t)(word * index->factor >> (__builtin_clzll(index->table_size) + 1));
}

static void choose_factor(struct word_index *index)
{
	if (getrandom(&index->factor, sizeof(index->factor), GRND_NONBLOCK) != (ssize_t)sizeof(index->factor))
		index->factor = UINT64_C(0x9e3779b97f4a7c15); // early at boot: slower at worst
	index->factor |= 1;
}

static bool grow(struct word_index *index)
{
	size_t room = index->room ? index->room * 2 : 256;
	uint64_t *words = reallocarray(index->words, room, sizeof(*words));
	uint32_t *table;

	if (!words)
		return false;
	index->words = words;
	if (index->table_size == 0)
		choose_factor(index);
	table = calloc(room * 4, sizeof(*table));
	if (!table)
		return false;
	free(index->table);
	index->table = table;
	index->table_size = room * 4;
	index->room = room;
	for (size_t i = 0; i < index->count; i++) {
		size_t at = start_of(index, words[i]);

		while (table[at])
			at = (at + 1) & (index->table_size - 1);
		table[at] = (uint32_t)i + 1;
	}
	return true;
}

uint32_t word_index_add(struct word_index *index, uint64_t word, bool *new_ret)
{
	size_t at;

	*new_ret = false;
	if (index->count == index->room && !grow(index))
		return UINT32_MAX;
	for (at = start_of(index, word); index->table[at]; at = (at + 1) & (index->table_size - 1))
		if (index->words[index->table[at] - 1] == word)
			return index->table[at] - 1;
	index->words[index->count] = word;
	index->table[at] = (uint32_t)++index->count;
	*new_ret = true;
	return (uint32_t)index->count - 1;
}

void word_index_deinit(struct word_index *index)
{
	free(index->words);
	free(index->table);
	*index = (struct word_index){ 0 };
}
