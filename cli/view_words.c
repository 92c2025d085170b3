// SPDX-License-Identifier: Apache-2.0
#include "cli/view_words.h"

static const char *const unit_names[] = {
	[ROWS_SITE] = "site",     [ROWS_FUNCTION] = "function",   [ROWS_LINE] = "line", [ROWS_FILE] = "file",
	[ROWS_MODULE] = "module", [ROWS_THREAD] = "thread",       [ROWS_SIZE] = "size", [ROWS_AGE] = "age",
	[ROWS_KIND] = "kind",     [ROWS_ALLOCATOR] = "allocator",
};

const char *row_unit_name(enum row_unit unit) { return unit_names[unit]; }

enum row_unit view_words_unit(const struct view_words *words)
{
	if (words->by != ROWS_NOT_SAID)
		return words->by;
	return words->cumulative || words->tree || words->bottom_up ? ROWS_FUNCTION : ROWS_SITE;
}

struct hs_error *view_words_filter(const struct view_words *words, bool in_any_case, struct stack_filter **ret)
{
	struct hs_error *error = NULL;

	*ret = NULL;
	if (words->filter_count > 0)
		error = stack_filter_create(ret);
	for (size_t i = 0; i < words->filter_count && !error; i++) {
		const bool is_focus = words->filters[i].kind == STACK_FOCUS;

		stack_filter_ignore_case(*ret, in_any_case && is_focus);
		error = stack_filter_add(*ret, words->filters[i].kind, words->filters[i].regex,
					 is_focus ? "--focus" : "--ignore");
	}
	if (error) {
		stack_filter_destroy(*ret);
		*ret = NULL;
	}
	return error;
}
