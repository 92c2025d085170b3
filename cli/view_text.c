// SPDX-License-Identifier: Apache-2.0
#include "cli/view_text.h"

#include "base/cleanup.h"
#include "cli/console.h"
#include "cli/site_rows.h"
#include "cli/tree_rows.h"
#include "cli/value_cells.h"
#include "lib/own_rules.h"
#include "views/block_attributes.h"
#include "views/own_hint.h"

#include <stdint.h>

struct hs_error *view_setting_init(const struct options *options, struct view_setting *ret)
{
	struct hs_error *error = hs_own_rules(options->own_rules, options->own_rule_count, &ret->rules);

	if (error)
		return error;
	error = view_words_filter(&options->view, false, &ret->filter);
	if (error)
		frame_rules_destroy(ret->rules);
	else
		ret->options = (struct view_options){ ret->rules, ret->filter, options->view.order };
	return error;
}

void view_setting_deinit(struct view_setting *setting)
{
	frame_rules_destroy(setting->rules);
	stack_filter_destroy(setting->filter);
	*setting = (struct view_setting){ 0 };
}

const struct sample_attribute *view_attribute(const struct options *options)
{
	switch (view_words_unit(&options->view)) {
	case ROWS_THREAD:
		return &thread_attribute;
	case ROWS_SIZE:
		return &size_attribute;
	case ROWS_AGE:
		return &age_attribute;
	case ROWS_KIND:
		return &kind_attribute;
	case ROWS_ALLOCATOR:
		return &allocator_attribute;
	default:
		return NULL;
	}
}

struct hs_error *view_check(const struct options *options)
{
	const struct sample_attribute *attribute = view_attribute(options);

	return attribute
		       ? hs_error_create(HS_ERROR_NOT_FOUND,
					 "a profile of this command does not say the %s of its blocks; rows can be by "
					 "site, function, line, file or module",
					 attribute->name)
		       : NULL;
}

struct hs_error *view_check_file(const struct options *options, const struct heap_profile *profile)
{
	const struct sample_attribute *attribute = view_attribute(options);

	if (!attribute || attribute_is_said(attribute, profile))
		return NULL;
	return hs_error_create(
		HS_ERROR_NOT_FOUND,
		"the profile does not say the %s of its blocks: write it with dump --labels %s, or report "
		"the process; of this file rows can be by site, function, line, file or module",
		attribute->name, attribute->name);
}

// Frames that only pass on what another one asked for.
static unsigned hidden_classes(const struct view_words *words)
{
	return words->all_frames ? 0 : FRAME_PLUMBING_BITS | frame_class_bit(FRAME_RUNTIME) | FRAME_START_BIT;
}

// pre: a unit of frames
static enum place_unit place_unit_of(enum row_unit unit)
{
	switch (unit) {
	case ROWS_LINE:
		return UNIT_LINE;
	case ROWS_FILE:
		return UNIT_FILE;
	case ROWS_MODULE:
		return UNIT_MODULE;
	default:
		return UNIT_FUNCTION;
	}
}

bool view_is_empty(const struct profile_view *view) { return view->kept && view->shown_count == 0; }

// A hint, no more: where it cannot be found out, there is none.
static bool would_match_in_any_case(const struct options *options, const struct profile_view *view)
{
	HS_CLEANUP_FREE bool *kept = NULL;
	struct stack_filter *filter = NULL;
	struct hs_error *error = view_words_filter(&options->view, true, &filter);
	bool would = false;

	if (!error && filter)
		error = stack_filter_apply(filter, &view->named, &kept);
	for (size_t i = 0; !error && kept && i < view->named.profile->sample_count && !would; i++)
		would = kept[i];
	stack_filter_destroy(filter);
	hs_error_destroy(error);
	return would;
}

const char *view_empty_text(const struct options *options, const struct profile_view *view)
{
	const struct view_words *words = &options->view;
	bool has_focus = false, has_ignore = false;

	for (size_t i = 0; i < words->filter_count; i++) {
		has_focus |= words->filters[i].kind == STACK_FOCUS;
		has_ignore |= words->filters[i].kind == STACK_IGNORE;
	}
	if (has_focus && would_match_in_any_case(options, view))
		return "no stack has a function, file or module that --focus matches; upper and lower case count, "
		       "without that some would";
	return !has_focus ? "each stack has a function, file or module that --ignore matches"
	       : has_ignore
		       ? "no stack has a function, file or module that --focus matches, and none that --ignore does"
		       : "no stack has a function, file or module that --focus matches";
}

void shown_print(const struct options *options, const struct profile_view *view)
{
	const struct heap_profile *profile = view->named.profile;
	char bytes[NUMBER_SIZE], count[NUMBER_SIZE], shown[NUMBER_SIZE], all[NUMBER_SIZE];

	if (!view->kept)
		return;
	if (view_is_empty(view) && profile->sample_count > 0) {
		console_print(options, "  shown            nothing  %s\n", view_empty_text(options, view));
		return;
	}
	console_print(options, "  shown         %10s  in %s %s, %s of %s stacks (--focus, --ignore)\n",
		      number_bytes_of(view->shown.live_bytes, profile->is_difference, bytes),
		      number_grouped_of(view->shown.live_objects, profile->is_difference, count),
		      view->shown.live_objects == 1 ? "block" : "blocks", number_grouped(view->shown_count, shown),
		      number_grouped(profile->sample_count, all));
}

struct hs_error *view_report(const struct options *options, const struct profile_view *view, size_t limit,
			     struct report *ret)
{
	const struct view_words *words = &options->view;
	const struct report_options report = {
		.unit = place_unit_of(view_words_unit(words)),
		.attribute = view_attribute(options),
		.is_cumulative = words->cumulative,
		.order = words->order,
		.in_scale = !words->has_order,
		.limit = limit,
		.hidden = hidden_classes(words),
		.kept = view->kept,
	};

	return report_make(&view->named, &report, ret);
}

struct hs_error *view_tree(const struct options *options, const struct profile_view *view, size_t limit,
			   double share_least, struct call_tree *ret)
{
	const struct view_words *words = &options->view;
	const struct tree_options tree = {
		.unit = place_unit_of(view_words_unit(words)),
		.is_from_leaf = words->bottom_up,
		.order = words->order,
		.limit = limit,
		.share_least = share_least,
		.hidden = hidden_classes(words),
		.kept = view->kept,
	};

	return call_tree_make(&view->named, &tree, ret);
}

static struct hs_error *print_row(const struct table *table, const struct value_kind *kind, bool is_cumulative,
				  const struct report_row *row)
{
	const struct table_text text = { .name = row->text.name,
					 .full_name = row->text.full_name,
					 .file = row->text.full_name[0] ? row->text.file : "", // else it is the name
					 .line = row->text.line,
					 .via = "",
					 .mark = "" };
	const struct profile_values *values = is_cumulative ? &row->cumulative : &row->values;
	char other[VALUE_SIZE];
	struct value_cells cells;
	const char *shown[TABLE_COLUMNS_MAX] = { cells.bytes };
	size_t count = 1;

	value_cells_make(kind, values, value_error(kind, values), &cells);
	if (value_has_error(kind))
		shown[count++] = cells.error;
	shown[count++] = cells.blocks;
	if (row->has_cumulative)
		shown[count++] = value_bytes(kind, is_cumulative ? &row->values : &row->cumulative, other);
	return table_row(table, shown, 0, &text);
}

static struct table row_table(const struct options *options, const struct value_kind *kind)
{
	struct table table = { .options = options };

	table_column(&table, options->view.cumulative ? "cumulative" : value_title(kind), 10);
	if (value_has_error(kind))
		table_column(&table, "", -9);
	table_column(&table, value_count_title(kind), 7);
	if (!view_attribute(options))
		table_column(&table, options->view.cumulative ? "itself" : "cumulative", 10);
	return table;
}

// Of a scale all rows, unless it is said how many: they are few, and the largest sizes would be missing.
static size_t row_limit(const struct options *options)
{
	const struct sample_attribute *attribute = view_attribute(options);

	return options->limit == SIZE_MAX || (attribute && attribute->is_scale && !options->has_limit) ? 0
												       : options->limit;
}

static struct hs_error *print_report(const struct options *options, const struct profile_view *view)
{
	const struct value_kind kind = value_kind_of(view->named.profile, options->view.order);
	const bool is_cumulative = options->view.cumulative;
	const struct table table = row_table(options, &kind);
	struct report report;
	char bytes[VALUE_SIZE], count[NUMBER_SIZE];
	size_t shown = 0;
	struct hs_error *error = view_report(options, view, row_limit(options), &report);

	if (error)
		return error;
	if (report.count > 0)
		error = table_head(&table, row_unit_name(view_words_unit(&options->view)));
	for (size_t i = 0; i < report.count && !error; i++) {
		const struct report_row *row = &report.rows[i];
		const struct profile_values *values = is_cumulative ? &row->cumulative : &row->values;

		// Unless all are asked for, what says no more than its error is among the others.
		if (shown > 0 && options->limit != SIZE_MAX &&
		    value_is_within(&kind, values, value_error(&kind, values))) {
			profile_values_add(&report.others, &row->values);
			report.others_count++;
			continue;
		}
		error = print_row(&table, &kind, is_cumulative, row);
		shown++;
	}
	// what overlaps has no sum
	if (!error && report.others_count > 0 && is_cumulative)
		console_print(options, "%s more (--limit 0 for all)\n", number_grouped(report.others_count, count));
	else if (!error && report.others_count > 0)
		console_print(options, "%*s%s in %s more (--limit 0 for all)\n",
			      table_pad(value_bytes(&kind, &report.others, bytes), 10), "", bytes,
			      number_grouped(report.others_count, count));
	report_deinit(&report);
	return error;
}

static struct hs_error *print_tree(const struct options *options, const struct profile_view *view)
{
	const bool is_whole = options->limit == SIZE_MAX;
	struct call_tree tree;
	struct hs_error *error =
		view_tree(options, view, is_whole ? 0 : options->limit, is_whole ? 0 : TREE_SHARE_LEAST, &tree);

	if (error)
		return error;
	error = tree_rows_print(options, view->named.profile, &tree);
	call_tree_deinit(&tree);
	return error;
}

// What to do where one row stands for nearly everything.
static struct hs_error *print_own_hint(const struct options *options, const struct profile_view *view)
{
	const struct site_options of_sites = { options->view.order, view->kept };
	struct own_hint hint;
	struct hs_error *error = own_hint_make(&view->named, &view->sites, &of_sites, &hint);

	if (error)
		return error;
	if (hint.regex)
		console_print(options,
			      "One site holds %.0f %%, and what it calls is in libraries. If they are your own code: "
			      "--own '%s'\n",
			      hint.share * 100, hint.regex);
	own_hint_deinit(&hint);
	return NULL;
}

struct hs_error *view_rows_print(const struct options *options, const struct profile_view *view)
{
	if (view_is_tree(options))
		return print_tree(options, view);
	if (view_words_unit(&options->view) == ROWS_SITE) {
		struct hs_error *error = site_rows_print(options, &view->named, &view->sites, options->limit);

		return error ? error : print_own_hint(options, view);
	}
	return print_report(options, view);
}
