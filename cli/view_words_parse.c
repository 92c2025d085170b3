// SPDX-License-Identifier: Apache-2.0
// --by and the like as they are written.
#include "cli/option_errors.h"
#include "cli/view_words.h"

#include <string.h>

static bool is_of_frames(enum row_unit unit) { return unit >= ROWS_FUNCTION && unit <= ROWS_MODULE; }

bool view_words_take_by(struct options *options, const char *text)
{
	for (unsigned i = ROWS_SITE; i <= ROWS_ALLOCATOR; i++) {
		if (strcmp(row_unit_name((enum row_unit)i), text) == 0) {
			options->view.by = (enum row_unit)i;
			return true;
		}
	}
	return options_refuse(
		options,
		"--by expects site, function, line, file, module, thread, size, age, kind or allocator, got '%s'",
		text);
}

bool view_words_take_sort(struct options *options, const char *text)
{
	options->view.has_order = true;
	// --cumulative says which values rows are of.
	if (values_order_find(text, &options->view.order) && options->view.order != ORDER_CUMULATIVE)
		return true;
	return options_refuse(
		options,
		"--sort expects live-bytes, live-blocks, alloc-bytes, alloc-blocks, temporary-blocks, error or name, got '%s'",
		text);
}

static bool take_filter(struct options *options, enum stack_filter_kind kind, const char *text)
{
	struct view_words *words = &options->view;
	struct stack_filter *filter = NULL;
	struct hs_error *error;

	if (words->filter_count == VIEW_FILTERS_MAX)
		return options_refuse(options, "%s", "too many --focus and --ignore");
	words->filters[words->filter_count].kind = kind;
	words->filters[words->filter_count++].regex = text;
	error = view_words_filter(words, false, &filter);
	stack_filter_destroy(filter);
	if (!error)
		return true;
	options_refuse(options, "%s", error->message);
	hs_error_destroy(error);
	return false;
}

bool view_words_take_focus(struct options *options, const char *text)
{
	return take_filter(options, STACK_FOCUS, text);
}

bool view_words_take_ignore(struct options *options, const char *text)
{
	return take_filter(options, STACK_IGNORE, text);
}

bool view_words_check(const struct options *options)
{
	const struct view_words *words = &options->view;
	const bool is_of_others = words->by != ROWS_NOT_SAID && !is_of_frames(words->by);

	if ((words->tree || words->bottom_up) && words->cumulative)
		return options_refuse(options, "%s", "--cumulative is for rows; each row of a tree has all below it");
	if ((words->tree || words->bottom_up || words->cumulative) && is_of_others)
		return options_refuse(options, "%s needs --by function, line, file or module",
				      words->cumulative ? "--cumulative"
				      : words->tree     ? "--tree"
							: "--bottom-up");
	return true;
}
