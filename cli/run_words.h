// SPDX-License-Identifier: Apache-2.0
// The options of run about its profiles, and of other commands that have some of them. For options.c.
#ifndef HEAPSNAP_CLI_RUN_WORDS_H
#define HEAPSNAP_CLI_RUN_WORDS_H

#include "cli/options.h"

bool run_words_take_at_exit(struct options *options, const char *text);
bool run_words_take_at_peak(struct options *options, const char *text);
bool run_words_take_every(struct options *options, const char *text);
bool run_words_take_on(struct options *options, const char *text);
// Where there are no profiles meanwhile, -o is the one of the end, as of other tools that start a command.
void run_words_take_only_profile(struct options *options);
// What goes together. All false: what is wrong was said.
bool run_words_check(const struct options *options);

#endif
