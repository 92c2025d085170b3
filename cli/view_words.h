// SPDX-License-Identifier: Apache-2.0
// Which rows of a profile are asked for: --by, --tree, --focus and the like.
#ifndef HEAPSNAP_CLI_VIEW_WORDS_H
#define HEAPSNAP_CLI_VIEW_WORDS_H

#include "views/stack_filter.h"
#include "views/values.h"

#include <stdbool.h>
#include <stddef.h>

struct options;

enum row_unit {
	ROWS_NOT_SAID,
	ROWS_SITE,
	ROWS_FUNCTION, // up to modules: what frames have
	ROWS_LINE,
	ROWS_FILE,
	ROWS_MODULE,
	ROWS_THREAD, // from here on: what a profile may say of blocks
	ROWS_SIZE,
	ROWS_AGE,
	ROWS_KIND,
	ROWS_ALLOCATOR
};

enum { VIEW_FILTERS_MAX = 64 };

struct view_words {
	enum row_unit by;
	bool cumulative, tree, bottom_up, all_frames;
	enum values_order order; // ORDER_LIVE where nothing is given
	bool has_order;          // it is given
	struct {
		enum stack_filter_kind kind;
		const char *regex; // borrowed
	} filters[VIEW_FILTERS_MAX];
	size_t filter_count;
};

// What a row is in the end: never ROWS_NOT_SAID.
enum row_unit view_words_unit(const struct view_words *words);
// "site", "function", ...; pre: not ROWS_NOT_SAID
const char *row_unit_name(enum row_unit unit);

// Of --focus and --ignore; `in_any_case`: what --focus says without regard to upper and lower case. *ret is the
// caller's (stack_filter_destroy); NULL = there are none. HS_ERROR_NO_MEMORY.
struct hs_error *view_words_filter(const struct view_words *words, bool in_any_case,
				   struct stack_filter **ret) HS_MUST_CHECK;

// For the parser (cli/options.c). Each says what is wrong and returns false.
bool view_words_take_by(struct options *options, const char *text);
bool view_words_take_sort(struct options *options, const char *text);
bool view_words_take_focus(struct options *options, const char *text);
bool view_words_take_ignore(struct options *options, const char *text);
bool view_words_check(const struct options *options); // what goes together

#endif
