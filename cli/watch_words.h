// SPDX-License-Identifier: Apache-2.0
// --for and --page, as they are written. For the parser (cli/options.c): each says what is wrong and returns false.
#ifndef HEAPSNAP_CLI_WATCH_WORDS_H
#define HEAPSNAP_CLI_WATCH_WORDS_H

#include "cli/options.h"

#include <stdbool.h>

bool watch_words_take_for(struct options *options, const char *text);
bool watch_words_take_page(struct options *options, const char *text);
bool watch_words_check(const struct options *options); // what is missing

#endif
