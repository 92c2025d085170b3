// SPDX-License-Identifier: Apache-2.0
// Which blocks a snapshot is to be of, and what is to be said of them: --older-than and the like, --labels.
#ifndef HEAPSNAP_CLI_BLOCK_WORDS_H
#define HEAPSNAP_CLI_BLOCK_WORDS_H

#include "base/error.h"
#include "snapshot/block_selection.h"

#include <stdbool.h>

struct options;

struct block_words {
	struct block_selection selection; // without `since`
	const char *since_dump;           // path of a profile; NULL = none
};

// As they are said, with the label that --by needs, and what the profile of --since-dump says of its cut. Errors as of
// hs_read_profile; HS_ERROR_BAD_DATA: it does not say it.
struct hs_error *block_words_selection(const struct options *options, struct block_selection *ret) HS_MUST_CHECK;

// For the parser (cli/options.c). Each says what is wrong and returns false.
bool block_words_take_older(struct options *options, const char *text);
bool block_words_take_younger(struct options *options, const char *text);
bool block_words_take_size(struct options *options, const char *text);
bool block_words_take_thread(struct options *options, const char *text);
bool block_words_take_since(struct options *options, const char *text);
bool block_words_take_labels(struct options *options, const char *text);
bool block_words_check(const struct options *options); // what goes together

#endif
