// SPDX-License-Identifier: Apache-2.0
#include "lib/diff.h"

#include "base/json.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/site_json.h"
#include "cli/site_rows.h"
#include "cli/value_cells.h"
#include "cli/view_json.h"
#include "cli/view_text.h"
#include "views/json_parts.h"
#include "views/site_changes.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

// Columns of a terminal from which on rows with errors have their rates, too.
enum { RATES_FROM = 100 };

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

// How sure it is can be said of what is live alone. What was recorded exactly is no chance.
static bool is_unsure(const struct value_kind *kind, const struct site_change *change)
{
	return !kind->is_allocated && !change->is_significant && !value_is_least(kind, &change->change);
}

// Of what is live, or of what was allocated since attach: of all rows, or of one.
static int64_t bytes_of(const struct value_kind *kind, const struct profile_values *values)
{
	return kind->is_allocated ? values->alloc_bytes : values->live_bytes;
}

// Seconds between the two where both tell one life of one process: then a change has a rate. 0 = it has none.
static double rate_seconds(const struct hs_diff_result *result)
{
	return result->difference.facts.of_one_attach ? (double)result->difference.profile.duration_ns / 1e9 : 0;
}

static const char *blocks_word(int64_t count) { return count == 1 || count == -1 ? "block" : "blocks"; }

// `variance`: of the difference.
static void print_live(const struct options *options, const char *what, const struct profile_values *old,
		       const struct profile_values *new, const struct heap_profile *difference, double variance,
		       const char *why)
{
	const int64_t blocks = number_subtract(new->live_objects, old->live_objects);
	const bool has_error = difference->is_estimate && variance > 0; // else it is of blocks that were recorded
	char before[NUMBER_SIZE], after[NUMBER_SIZE], change[NUMBER_SIZE], error[NUMBER_SIZE], count[NUMBER_SIZE],
		count_before[NUMBER_SIZE], more[NUMBER_SIZE];

	console_print(
		options, "%s %s in %s %s, before %s in %s: %s%s%s, %s %s%s\n", what,
		number_bytes_of(new->live_bytes, false, after), number_grouped_of(new->live_objects, false, count),
		blocks_word(new->live_objects), number_bytes_of(old->live_bytes, false, before),
		number_grouped_of(old->live_objects, false, count_before),
		number_bytes_signed(number_subtract(new->live_bytes, old->live_bytes), change), has_error ? " ±" : "",
		has_error ? number_bytes(profile_bytes_error(difference, variance), error) : "",
		number_grouped_of(blocks, true, more), blocks_word(blocks), why);
}

// How far apart they are, and how much that is a second.
static void print_time(const struct options *options, const struct hs_diff_result *result)
{
	const struct heap_profile *difference = &result->difference.profile;
	const double seconds = rate_seconds(result), variance = difference->total.live_bytes_variance;
	const bool has_error = difference->is_estimate && variance > 0;
	const int64_t change = number_subtract(result->new.total.live_bytes, result->old.total.live_bytes);
	char duration[NUMBER_SIZE], rate[NUMBER_SIZE], error[NUMBER_SIZE], a_second[2 * NUMBER_SIZE + 8] = "";

	if (difference->duration_ns <= 0)
		return;
	if (seconds > 0)
		snprintf(a_second, sizeof(a_second), ": %s%s%s", number_rate((double)change / seconds, true, rate),
			 has_error ? " ±" : "",
			 has_error ? number_rate((double)profile_bytes_error(difference, variance) / seconds, false,
						 error)
				   : "");
	console_print(options, "%s between the two%s\n", number_duration((uint64_t)difference->duration_ns, duration),
		      a_second);
}

static void print_facts(const struct options *options, const struct hs_diff_result *result)
{
	const struct heap_profile *difference = &result->difference.profile;

	print_live(options, "Recorded live", &result->old.total, &result->new.total, difference,
		   difference->total.live_bytes_variance, "");
	print_time(options, result);
	if (difference->selection)
		console_print(options, "Only blocks %s.\n", difference->selection);
	if (view_is_empty(&result->old_view) && view_is_empty(&result->new_view))
		console_print(options, "  shown nothing: %s\n", view_empty_text(options, &result->view));
	else if (result->view.kept)
		print_live(options, "  shown", &result->old_view.shown, &result->new_view.shown, difference,
			   result->view.shown.live_bytes_variance, " (--focus, --ignore)");
	if (result->difference.facts.of_two_attaches)
		console_print(
			options,
			"The two are of different attaches: what was allocated before an attach is not in its profile.\n");
}

// What the rows have in common.
struct change_rows {
	const struct options *options;
	const struct hs_diff_result *result;
	struct value_kind kind;
	struct table table;
	double seconds; // 0 = no column of rates
};

static struct change_rows rows_of(const struct options *options, const struct hs_diff_result *result)
{
	const unsigned width = console_width(options);
	struct change_rows rows = {
		.options = options,
		.result = result,
		.kind = value_kind_of(&result->difference.profile, options->view.order),
		.table = { .options = options },
		.seconds = rate_seconds(result),
	};

	if (value_has_error(&rows.kind) && width && width < RATES_FROM)
		rows.seconds = 0;
	table_column(&rows.table, rows.kind.is_allocated ? "allocated" : "change", 11);
	if (value_has_error(&rows.kind))
		table_column(&rows.table, "", -10);
	table_column(&rows.table, "blocks", 7);
	table_column(&rows.table, rows.kind.is_allocated ? "in all" : "now", 10);
	if (rows.seconds > 0)
		table_column(&rows.table, "rate", value_has_error(&rows.kind) ? 13 : 12);
	return rows;
}

// Of an estimate with a "~", since its error is not beside it.
static const char *rate_cell(const struct change_rows *rows, const struct profile_values *change, char *buffer)
{
	const struct value_kind *kind = &rows->kind;
	char rate[NUMBER_SIZE];

	snprintf(buffer, VALUE_SIZE, "%s%s", kind->profile->is_estimate && !value_is_least(kind, change) ? "~" : "",
		 number_rate((double)bytes_of(kind, change) / rows->seconds, true, rate));
	return buffer;
}

static struct hs_error *print_change(const struct change_rows *rows, const struct site_change *change)
{
	const struct value_kind *kind = &rows->kind, after = { &rows->result->new, kind->is_allocated, false };
	const struct named_profile *named = named_of(rows->result, change);
	struct table_text text = site_row_text(named, site_of(change));
	char now[VALUE_SIZE], rate[VALUE_SIZE];
	struct value_cells cells;
	const char *row[TABLE_COLUMNS_MAX] = { cells.bytes };
	struct hs_error *error;
	size_t count = 1;

	value_cells_make(kind, &change->change, change->bytes_error, &cells);
	if (value_has_error(kind))
		row[count++] = cells.error;
	row[count++] = cells.blocks;
	row[count++] = value_bytes(&after, &change->after, now);
	if (rows->seconds > 0)
		row[count++] = rate_cell(rows, &change->change, rate);
	text.mark = is_unsure(kind, change) ? "? " : "";
	error = table_row(&rows->table, row, 0, &text);
	return error ? error : site_path_print(rows->options, named, site_of(change));
}

static struct hs_error *print_changes(const struct options *options, const struct hs_diff_result *result,
				      const struct site_changes *changes)
{
	const struct change_rows rows = rows_of(options, result);
	struct hs_error *error = NULL;
	size_t shown = 0, left_out = 0, unsure = 0;
	char count[NUMBER_SIZE];

	for (size_t i = 0; i < changes->count && !error; i++) {
		const struct site_change *change = &changes->items[i];

		if (is_nothing(&rows.kind, change))
			continue;
		// Unless all are asked for, what says no more than its error is among the others.
		if (shown >= options->limit || (shown > 0 && options->limit != SIZE_MAX &&
						value_is_within(&rows.kind, &change->change, change->bytes_error))) {
			left_out++;
			continue;
		}
		if (shown == 0)
			error = table_head(&rows.table, "site");
		shown++;
		unsure += is_unsure(&rows.kind, change);
		if (!error)
			error = print_change(&rows, change);
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

// What "recorded" means beside a row.
static void print_recorded(const struct options *options, const struct heap_profile *difference)
{
	const struct value_kind kind = value_kind_of(difference, options->view.order);
	char unseen[NUMBER_SIZE];

	for (size_t i = 0; i < difference->sample_count; i++) {
		if (!value_is_least(&kind, &difference->samples[i].values))
			continue;
		console_print(options, "recorded: exactly so much; what was not recorded may differ by about %s\n",
			      number_bytes(profile_bytes_error(difference, 0), unseen));
		return;
	}
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
	if (!error)
		print_recorded(options, &result->difference.profile);
	if (!error && options->output && strcmp(options->output, "-") != 0)
		console_print(options, "%s: %s\n", options->output, number_bytes(result->file_bytes, file));
	return error;
}

static void put_rate(struct json *json, int64_t bytes, double seconds)
{
	if (seconds > 0)
		json_real(json, "live_bytes_rate", (double)bytes / seconds);
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
	json_integer(json, "live_objects_before", change->before.live_objects);
	json_integer(json, "live_objects_after", change->after.live_objects);
	json_number(json, "live_bytes_error", change->bytes_error);
	json_number(json, "live_objects_error", change->objects_error);
	put_rate(json, change->change.live_bytes, rate_seconds(result));
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
	const struct heap_profile *difference = &result->difference.profile;
	struct hs_error *error;
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "diff");
	json_string(&json, "old", options->paths[0]);
	json_string(&json, "new", options->paths[1]);
	json_string(&json, "output", options->output ? options->output : "");
	json_number(&json, "bytes", result->file_bytes);
	json_bool(&json, "of_two_attaches", result->difference.facts.of_two_attaches);
	json_bool(&json, "estimate", difference->is_estimate);
	selection_put_json(&json, difference);
	json_integer(&json, "live_bytes", number_subtract(new->live_bytes, old->live_bytes));
	json_integer(&json, "live_objects", number_subtract(new->live_objects, old->live_objects));
	json_integer(&json, "live_bytes_before", old->live_bytes);
	json_integer(&json, "live_bytes_after", new->live_bytes);
	json_integer(&json, "live_objects_before", old->live_objects);
	json_integer(&json, "live_objects_after", new->live_objects);
	json_number(&json, "live_bytes_error", profile_bytes_error(difference, difference->total.live_bytes_variance));
	if (difference->duration_ns > 0)
		json_real(&json, "seconds", (double)difference->duration_ns / 1e9);
	put_rate(&json, number_subtract(new->live_bytes, old->live_bytes), rate_seconds(result));
	error = put_rows(&json, options, result);
	if (view_is_empty(&result->old_view) && view_is_empty(&result->new_view))
		hs_warn("nothing is shown: %s", view_empty_text(options, &result->view));
	if (!error)
		error = stacks_put_json(&json, options, &result->view);
	if (!console_end_json(&json) && !error)
		error = console_json_error();
	return error;
}

// Where a number was given for a file that is not there, a process was meant.
static struct hs_error *explain_number(const struct options *options, struct hs_error *error)
{
	for (size_t i = 0; error && i < options->path_count; i++) {
		const char *path = options->paths[i];

		if (path[strspn(path, "0123456789")] || access(path, F_OK) == 0)
			continue;
		hs_error_destroy(error);
		return hs_error_create(HS_ERROR_NOT_FOUND,
				       "there is no file %s; diff compares two files. Write a profile of process %s "
				       "first: heapsnap dump %s -o new.pb.gz",
				       path, path, path);
	}
	return error;
}

enum exit_status command_diff(const struct options *options)
{
	struct hs_diff_options diff = {
		.old_path = options->paths[0],
		.new_path = options->paths[1],
		.output = options->output,
		.format = options->format,
		.by = view_attribute(options),
	};
	struct view_setting setting;
	struct hs_diff_result result;
	struct hs_error *error;

	if (options->survivors)
		return report_survivors(options);
	if (options->view.order == ORDER_TEMPORARY)
		return console_fail(options, hs_error_create(HS_ERROR_REFUSED, "a difference is not ordered by "
									       "temporary-blocks; report shows them"));
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
	return error ? console_fail(options, explain_number(options, error)) : EXIT_DONE;
}
