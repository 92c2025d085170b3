// SPDX-License-Identifier: Apache-2.0
#include "lib/diff.h"

#include "base/json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/site_json.h"
#include "cli/site_rows.h"
#include "cli/value_cells.h"
#include "cli/view_json.h"
#include "cli/view_text.h"
#include "views/site_changes.h"

#include <inttypes.h>
#include <string.h>

// The side that a row's names are of.
static const struct named_profile *named_of(const struct hs_diff_result *result, const struct site_change *change)
{
	return change->new ? &result->new_view.named : &result->old_view.named;
}

static const struct site *site_of(const struct site_change *change) { return change->new ? change->new : change->old; }

static bool is_nothing(const struct value_kind *kind, const struct site_change *change)
{
	return kind->is_allocated ? change->change.alloc_bytes == 0 && change->change.alloc_objects == 0
				  : change->change.live_bytes == 0 && change->change.live_objects == 0;
}

// How sure it is can be said of what is live alone.
static bool is_unsure(const struct value_kind *kind, const struct site_change *change)
{
	return !kind->is_allocated && !change->is_significant;
}

static struct hs_error *print_change(const struct table *table, const struct value_kind *kind,
				     const struct hs_diff_result *result, const struct site_change *change)
{
	const struct value_kind after = { &result->new, kind->is_allocated };
	struct table_text text = site_row_text(named_of(result, change), site_of(change));
	char number[NUMBER_SIZE], plus_minus[NUMBER_SIZE + 4], now[NUMBER_SIZE + 1];
	struct value_cells cells;
	const char *row[TABLE_COLUMNS_MAX] = { cells.bytes };
	size_t count = 1;

	value_cells_make(kind, &change->change, &cells);
	snprintf(plus_minus, sizeof(plus_minus), "±%.28s", number_bytes(change->bytes_error, number));
	if (value_has_error(kind))
		row[count++] = plus_minus;
	row[count++] = value_bytes(&after, &change->after, now);
	text.mark = is_unsure(kind, change) ? "? " : "";
	return table_row(table, row, 0, &text);
}

// `variance`: of the difference.
static void print_live(const struct options *options, const char *what, const struct profile_values *old,
		       const struct profile_values *new, const struct heap_profile *difference, double variance,
		       const char *why)
{
	char before[NUMBER_SIZE], after[NUMBER_SIZE], change[NUMBER_SIZE], error[NUMBER_SIZE];

	console_print(options, "%s %s, before %s: %s%s%s%s\n", what, number_bytes_of(new->live_bytes, false, after),
		      number_bytes_of(old->live_bytes, false, before),
		      number_bytes_signed(number_subtract(new->live_bytes, old->live_bytes), change),
		      difference->is_estimate ? " ±" : "",
		      difference->is_estimate ? number_bytes(profile_bytes_error(difference, variance), error) : "",
		      why);
}

static void print_facts(const struct options *options, const struct hs_diff_result *result)
{
	const struct heap_profile *difference = &result->difference.profile;

	print_live(options, "Recorded live", &result->old.total, &result->new.total, difference,
		   difference->total.live_bytes_variance, "");
	if (difference->selection)
		console_print(options, "Only blocks %s.\n", difference->selection);
	if (result->view.kept)
		print_live(options, "  shown", &result->old_view.shown, &result->new_view.shown, difference,
			   result->view.shown.live_bytes_variance, " (--focus, --ignore)");
	if (result->difference.facts.of_two_attaches)
		console_print(
			options,
			"The two are of different attaches: what was allocated before an attach is not in its profile.\n");
}

static struct table change_table(const struct options *options, const struct value_kind *kind)
{
	struct table table = { .options = options };

	table_column(&table, kind->is_allocated ? "allocated" : "", 11);
	if (value_has_error(kind))
		table_column(&table, "", -10);
	table_column(&table, kind->is_allocated ? "in all" : "", 10);
	return table;
}

static struct hs_error *print_changes(const struct options *options, const struct hs_diff_result *result,
				      const struct site_changes *changes)
{
	const struct value_kind kind = value_kind_of(&result->difference.profile, options->view.order);
	const struct table table = change_table(options, &kind);
	struct hs_error *error = kind.is_allocated && changes->count > 0 ? table_head(&table, "site") : NULL;
	size_t shown = 0, left_out = 0, unsure = 0;
	char count[NUMBER_SIZE];

	for (size_t i = 0; i < changes->count && !error; i++) {
		const struct site_change *change = &changes->items[i];

		if (is_nothing(&kind, change))
			continue;
		if (shown >= options->limit) {
			left_out++;
			continue;
		}
		shown++;
		unsure += is_unsure(&kind, change);
		error = print_change(&table, &kind, result, change);
	}
	if (!error && left_out > 0)
		console_print(options, "%s more (--limit 0 for all)\n", number_grouped(left_out, count));
	if (!error && unsure > 0)
		console_print(options, "?: within two standard errors, and so perhaps chance\n");
	return error;
}

static struct hs_error *make_changes(const struct options *options, const struct hs_diff_result *result,
				     struct site_changes *ret)
{
	struct hs_error *error =
		site_changes_make(&result->old_view.named, &result->old_view.sites, &result->new_view.named,
				  &result->new_view.sites, MATCH_LINES, CHANGES_BY_SIZE, ret);

	if (!error)
		site_changes_sort(ret, &result->old_view.named, &result->new_view.named, options->view.order);
	return error;
}

static bool is_by_sites(const struct options *options)
{
	return !view_is_tree(options) && view_words_unit(&options->view) == ROWS_SITE;
}

static struct hs_error *print_text(const struct options *options, const struct hs_diff_result *result)
{
	struct site_changes changes = { 0 };
	char file[NUMBER_SIZE];
	struct hs_error *error = is_by_sites(options) ? make_changes(options, result, &changes) : NULL;

	if (error)
		return error;
	print_facts(options, result);
	error = is_by_sites(options) ? print_changes(options, result, &changes)
				     : view_rows_print(options, &result->view);
	site_changes_deinit(&changes);
	if (!error && options->output && strcmp(options->output, "-") != 0)
		console_print(options, "%s: %s\n", options->output, number_bytes(result->file_bytes, file));
	return error;
}

static void put_change(struct json *json, const struct hs_diff_result *result, const struct site_change *change)
{
	const struct site *site = site_of(change);
	const struct named_profile *named = named_of(result, change);
	const struct code_place *place = site->path_length ? place_of(named, site->path[0]) : NULL;

	json_open(json, NULL, '{');
	json_string(json, "function", place ? place->full_name : "[stack unknown]");
	json_string(json, "name", place ? place->name : "[stack unknown]");
	json_string(json, "via", site->via);
	json_string(json, "file", place ? place->file : "");
	json_number(json, "line", place ? (uint64_t)place->line : 0);
	json_integer(json, "live_bytes", change->change.live_bytes);
	json_integer(json, "live_objects", change->change.live_objects);
	json_integer(json, "alloc_bytes", change->change.alloc_bytes);
	json_integer(json, "alloc_objects", change->change.alloc_objects);
	json_integer(json, "live_bytes_before", change->before.live_bytes);
	json_integer(json, "live_bytes_after", change->after.live_bytes);
	json_number(json, "live_bytes_error", change->bytes_error);
	json_bool(json, "significant", change->is_significant);
	json_open(json, "path", '[');
	for (uint32_t i = 0; i < site->path_length; i++)
		place_put_json(json, place_of(named, site->path[i]));
	json_close(json, ']');
	json_close(json, '}');
}

static struct hs_error *put_rows(struct json *json, const struct options *options, const struct hs_diff_result *result)
{
	struct site_changes changes;
	struct hs_error *error;

	if (!is_by_sites(options))
		return view_put_json(json, options, &result->view);
	error = make_changes(options, result, &changes);
	if (error)
		return error;
	json_open(json, "changes", '[');
	for (size_t i = 0; i < changes.count && (!options->has_limit || i < options->limit); i++)
		put_change(json, result, &changes.items[i]);
	json_close(json, ']');
	site_changes_deinit(&changes);
	return NULL;
}

static struct hs_error *print_json(const struct options *options, const struct hs_diff_result *result)
{
	const struct profile_values *old = &result->old.total, *new = &result->new.total;
	struct hs_error *error;
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "diff");
	json_string(&json, "old", options->paths[0]);
	json_string(&json, "new", options->paths[1]);
	json_string(&json, "output", options->output ? options->output : "");
	json_number(&json, "bytes", result->file_bytes);
	json_bool(&json, "of_two_attaches", result->difference.facts.of_two_attaches);
	json_bool(&json, "estimate", result->difference.profile.is_estimate);
	selection_put_json(&json, &result->difference.profile);
	json_integer(&json, "live_bytes", number_subtract(new->live_bytes, old->live_bytes));
	json_integer(&json, "live_objects", number_subtract(new->live_objects, old->live_objects));
	error = put_rows(&json, options, result);
	if (!error)
		error = stacks_put_json(&json, options, &result->view);
	if (!console_end_json(&json) && !error)
		error = hs_error_create(HS_ERROR_SYSTEM, "standard output cannot be written");
	return error;
}

enum exit_status command_diff(const struct options *options)
{
	struct hs_diff_options diff = {
		.old_path = options->paths[0],
		.new_path = options->paths[1],
		.output = options->output,
		.format = options->format,
	};
	struct view_setting setting;
	struct hs_diff_result result;
	struct hs_error *error;

	if (options->survivors)
		return report_survivors(options);
	error = view_check(options);
	if (!error)
		error = view_setting_init(options, &setting);
	if (error)
		return console_fail(options, error);
	diff.view = setting.options;
	error = hs_diff(&diff, &result);
	if (!error) {
		error = options->json ? print_json(options, &result) : print_text(options, &result);
		hs_diff_result_deinit(&result);
	}
	view_setting_deinit(&setting);
	return error ? console_fail(options, error) : EXIT_DONE;
}
