// SPDX-License-Identifier: Apache-2.0
#include "cli/similar_word.h"

#include <string.h>

enum { WORD_SIZE = 32 };

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

// How many letters are to be changed, put in or left out to make one word of the other (Levenshtein). Words are cut.
static size_t word_distance(const char *a, const char *b)
{
	size_t row[WORD_SIZE + 1], width = strnlen(b, WORD_SIZE);

	for (size_t k = 0; k <= width; k++)
		row[k] = k;
	for (size_t i = 0; a[i] && i < WORD_SIZE; i++) {
		size_t above_left = row[0];

		row[0] = i + 1;
		for (size_t k = 0; k < width; k++) {
			size_t above = row[k + 1];

			row[k + 1] = smallest(above + 1, row[k] + 1, above_left + (a[i] != b[k]));
			above_left = above;
		}
	}
	return row[width];
}

static const char *only_one_beginning_with(const char *word, const char *const *words, size_t count)
{
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (strncmp(words[i], word, strlen(word)) != 0)
			continue;
		if (found)
			return NULL;
		found = words[i];
	}
	return found;
}

const char *similar_word(const char *word, const char *const *words, size_t count)
{
	const char *found = only_one_beginning_with(word, words, count);
	size_t least = found ? 0 : 3;

	for (size_t i = 0; i < count; i++) {
		size_t distance = word_distance(word, words[i]);

		if (distance < least && distance + 1 < strlen(words[i])) {
			least = distance;
			found = words[i];
		}
	}
	return found;
}
