// SPDX-License-Identifier: Apache-2.0
// What somebody who mistyped a word has perhaps meant. Pure.
#ifndef HEAPSNAP_CLI_SIMILAR_WORD_H
#define HEAPSNAP_CLI_SIMILAR_WORD_H

#include <stddef.h>

// The only one of the words that begins with `word`; else the one that differs from it in at most two letters, and has
// two more than that. NULL = none. Returns one of `words`.
const char *similar_word(const char *word, const char *const *words, size_t count);

#endif
