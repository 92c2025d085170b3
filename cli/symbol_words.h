// SPDX-License-Identifier: Apache-2.0
// --debuginfod-time, as it is written, and what goes with --debuginfod and --no-cache. For the parser (cli/options.c):
// each says what is wrong and returns false.
#ifndef HEAPSNAP_CLI_SYMBOL_WORDS_H
#define HEAPSNAP_CLI_SYMBOL_WORDS_H

#include "cli/options.h"

#include <stdbool.h>

bool symbol_words_take_time(struct options *options, const char *text);
bool symbol_words_check(const struct options *options);

#endif
