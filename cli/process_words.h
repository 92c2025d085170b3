// SPDX-License-Identifier: Apache-2.0
// Which processes a command line means, as it is written.
#ifndef HEAPSNAP_CLI_PROCESS_WORDS_H
#define HEAPSNAP_CLI_PROCESS_WORDS_H

#include "cli/options.h"

#include <stdbool.h>

// --name and the like. Each of these says on standard error what is wrong, and then returns false.
bool process_words_take_name(struct options *options, const char *text);
bool process_words_take_cgroup(struct options *options, const char *text);
bool process_words_take_container(struct options *options, const char *text);
bool process_words_take_user(struct options *options, const char *text);

// The operands of a command on processes, when all options are taken.
bool process_words_take(struct options *options, int count, char **operands);

#endif
