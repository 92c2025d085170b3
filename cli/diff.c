// SPDX-License-Identifier: Apache-2.0
#include "views/diff.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/site_rows.h"
#include "lib/own_rules.h"
#include "lib/read_profile.h"
#include "views/profile_view.h"
#include "views/site_changes.h"
#include "views/values.h"

#include <inttypes.h>

// Two profiles, as they were read and as they are looked at.
struct sides {
	struct heap_profile old, new;
	struct profile_view old_view, new_view;
};

// The side that a row's names are of.
static const struct named_profile *named_of(const struct sides *sides, const struct site_change *change)
{
	return change->new ? &sides->new_view.named : &sides->old_view.named;
}

static const struct site *site_of(const struct site_change *change) { return change->new ? change->new : change->old; }

static struct hs_error *print_change(const struct options *options, const struct sides *sides,
				     const struct site_change *change, bool is_estimate)
{
	enum { BEFORE = 24, BEFORE_ERROR = 36 };
	char before[NUMBER_SIZE], bytes[NUMBER_SIZE], error_text[NUMBER_SIZE], plus_minus[NUMBER_SIZE + 8] = "";
	HS_CLEANUP_FREE char *text = NULL;
	const unsigned width = console_width(options), taken = is_estimate ? BEFORE_ERROR : BEFORE;
	struct hs_error *error =
		site_row_text(named_of(sides, change), site_of(change), width ? width - taken : 0, &text);

	if (error)
		return error;
	if (is_estimate)
		snprintf(plus_minus, sizeof(plus_minus), " %s%-9s", "±", number_bytes(change->bytes_error, error_text));
	console_print(options, "%11s%s %10s  %s%s\n", number_bytes_signed(change->change.live_bytes, bytes), plus_minus,
		      number_bytes((uint64_t)change->after.live_bytes, before), change->is_significant ? "" : "? ",
		      text);
	return NULL;
}

static void print_facts(const struct options *options, const struct sides *sides, const struct diff_facts *facts)
{
	char old[NUMBER_SIZE], new[NUMBER_SIZE], bytes[NUMBER_SIZE];

	console_print(
		options, "Recorded live %s, before %s: %s\n", number_bytes((uint64_t)sides->new.total.live_bytes, new),
		number_bytes((uint64_t)sides->old.total.live_bytes, old),
		number_bytes_signed(number_subtract(sides->new.total.live_bytes, sides->old.total.live_bytes), bytes));
	if (facts->of_two_attaches)
		console_print(
			options,
			"The two are of different attaches: what was allocated before an attach is not in its profile.\n");
}

static struct hs_error *print_changes(const struct options *options, const struct sides *sides,
				      const struct site_changes *changes, const struct diff_facts *facts)
{
	const bool is_estimate = facts->old_is_estimate || facts->new_is_estimate;
	struct hs_error *error = NULL;
	size_t unsure = 0;

	print_facts(options, sides, facts);
	for (size_t i = 0; i < changes->count && i < options->limit && !error; i++) {
		if (changes->items[i].change.live_bytes == 0)
			continue;
		unsure += !changes->items[i].is_significant;
		error = print_change(options, sides, &changes->items[i], is_estimate);
	}
	if (!error && unsure)
		console_print(options, "?: within two standard errors, and so perhaps chance\n");
	return error;
}

static bool print_json(const struct options *options, const struct sides *sides, const struct site_changes *changes,
		       const struct diff_facts *facts)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "diff");
	json_string(&json, "old", options->paths[0]);
	json_string(&json, "new", options->paths[1]);
	json_bool(&json, "of_two_attaches", facts->of_two_attaches);
	json_integer(&json, "live_bytes", number_subtract(sides->new.total.live_bytes, sides->old.total.live_bytes));
	json_open(&json, "changes", '[');
	for (size_t i = 0; i < changes->count; i++) {
		const struct site_change *change = &changes->items[i];
		const struct site *site = site_of(change);
		const struct code_place *place =
			site->path_length ? place_of(named_of(sides, change), site->path[0]) : NULL;

		json_open(&json, NULL, '{');
		json_string(&json, "function", place ? place->full_name : "[stack unknown]");
		json_string(&json, "file", place ? place->file : "");
		json_number(&json, "line", place ? (uint64_t)place->line : 0);
		json_integer(&json, "live_bytes", change->change.live_bytes);
		json_integer(&json, "live_objects", change->change.live_objects);
		json_integer(&json, "live_bytes_before", change->before.live_bytes);
		json_integer(&json, "live_bytes_after", change->after.live_bytes);
		json_number(&json, "live_bytes_error", change->bytes_error);
		json_bool(&json, "significant", change->is_significant);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	return json_end(&json);
}

static struct hs_error *compare(const struct options *options, const struct sides *sides)
{
	const struct diff_facts facts = diff_facts_of(&sides->old, &sides->new);
	struct site_changes changes;
	struct hs_error *error =
		site_changes_make(&sides->old_view.named, &sides->old_view.sites, &sides->new_view.named,
				  &sides->new_view.sites, MATCH_LINES, CHANGES_BY_SIZE, &changes);

	if (error)
		return error;
	if (!options->json)
		error = print_changes(options, sides, &changes, &facts);
	else if (!print_json(options, sides, &changes, &facts))
		error = hs_error_create(HS_ERROR_SYSTEM, "standard output cannot be written");
	site_changes_deinit(&changes);
	return error;
}

static struct hs_error *look(const struct options *options, const struct frame_rules *rules, struct sides *sides)
{
	struct hs_error *error = profile_view_make(&sides->old, rules, &sides->old_view);

	if (error)
		return error;
	error = profile_view_make(&sides->new, rules, &sides->new_view);
	if (!error) {
		error = compare(options, sides);
		profile_view_deinit(&sides->new_view);
	}
	profile_view_deinit(&sides->old_view);
	return error;
}

enum exit_status command_diff(const struct options *options)
{
	struct frame_rules *rules = NULL;
	struct sides sides = { 0 };
	struct hs_error *error = hs_own_rules(options->own_rules, options->own_rule_count, &rules);

	if (!error)
		error = hs_read_profile(options->paths[0], &sides.old);
	if (!error)
		error = hs_read_profile(options->paths[1], &sides.new);
	console_results_to_output();
	if (!error)
		error = look(options, rules, &sides);
	heap_profile_deinit(&sides.old);
	heap_profile_deinit(&sides.new);
	frame_rules_destroy(rules);
	return error ? console_fail(options, error) : EXIT_DONE;
}
