// SPDX-License-Identifier: Apache-2.0
#include "cli/site_rows.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/console.h"
#include "cli/value_cells.h"

#include <string.h>

enum {
	OTHERS_WIDTH = 10,
	PATH_INDENT = 8,
	PATH_MOST = 64 // callers; a recursion can have more
};

struct table_text site_row_text(const struct named_profile *named, const struct site *site)
{
	const struct code_place *place = site->path_length ? place_of(named, site->path[0]) : NULL;

	return (struct table_text){
		.name = place ? place->name : "[stack unknown]",
		.full_name = place ? place->full_name : "",
		.file = place ? place->file : "",
		.line = place ? place->line : 0,
		.via = site->via,
		.mark = "",
	};
}

// The callers, as many as fit into one line; what does not is "...".
static struct hs_error *path_row_text(const struct named_profile *named, const struct site *site, unsigned room,
				      char **ret)
{
	uint32_t most = site->path_length - 1 < PATH_MOST ? site->path_length - 1 : PATH_MOST;

	for (uint32_t count = most;; count--) {
		HS_CLEANUP_FREE char *path = NULL;
		const char *end = count < site->path_length - 1 ? " < ..." : "";
		struct hs_error *error = site_path_text(named, site, 1, count, &path);

		if (error)
			return error;
		if (!room || count <= 1 || table_width(path) + table_width(end) <= room)
			return hs_format(ret, "%s%s", path, end);
	}
}

struct hs_error *site_path_print(const struct options *options, const struct named_profile *named,
				 const struct site *site)
{
	const unsigned width = console_width(options);
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_error *error = NULL;

	if (site->path_length <= 1)
		return NULL;
	error = path_row_text(named, site, width ? width - PATH_INDENT - 2 : 0, &path);
	if (!error)
		console_print(options, "%*s< %s\n", PATH_INDENT, "", path);
	return error;
}

// Behind the numbers: what is counted, or of temporary allocations how many a second.
static const char *unit_text(const struct value_kind *kind, const struct profile_values *values, char *buffer)
{
	const double seconds = (double)kind->profile->duration_ns / 1e9;

	if (kind->is_temporary && seconds > 0) {
		char number[NUMBER_SIZE];

		snprintf(buffer, VALUE_SIZE, "%.*s/s", NUMBER_SIZE - 1,
			 number_short_of(number_whole((double)values->temporary_objects / seconds), false, number));
		return buffer;
	}
	if (kind->is_temporary)
		return "";
	return (kind->is_allocated ? values->alloc_objects : values->live_objects) == 1 ? "block" : "blocks";
}

static struct table site_table(const struct options *options, const struct value_kind *kind)
{
	struct table table = { .options = options };

	table_column(&table, kind->is_allocated ? value_title(kind) : "", 10);
	if (value_has_error(kind))
		table_column(&table, "", -9);
	table_column(&table, kind->is_temporary ? value_count_title(kind) : "", 6);
	table_column(&table, kind->is_temporary ? "rate" : "", -6);
	return table;
}

static struct hs_error *print_site(const struct table *table, const struct value_kind *kind,
				   const struct named_profile *named, const struct site *site)
{
	const struct table_text text = site_row_text(named, site);
	struct value_cells cells;
	char unit[VALUE_SIZE];
	const char *row[TABLE_COLUMNS_MAX] = { cells.bytes };
	struct hs_error *error = NULL;
	size_t count = 1;

	value_cells_make(kind, &site->values, value_error(kind, &site->values), &cells);
	if (value_has_error(kind))
		row[count++] = cells.error;
	row[count++] = cells.blocks;
	row[count++] = unit_text(kind, &site->values, unit);
	error = table_row(table, row, 0, &text);
	return error ? error : site_path_print(table->options, named, site);
}

// How many of the rest hold something, and how much.
static void print_others(const struct options *options, const struct value_kind *kind,
			 const struct profile_values *others, size_t count)
{
	char bytes[VALUE_SIZE];

	value_bytes(kind, others, bytes);
	if (count > 0)
		console_print(options, "%*s%s in %zu other site%s (--limit 0 for all)\n",
			      table_pad(bytes, OTHERS_WIDTH), "", bytes, count, count == 1 ? "" : "s");
}

struct hs_error *site_rows_print(const struct options *options, const struct named_profile *named,
				 const struct site_list *sites, size_t limit)
{
	const struct value_kind kind = value_kind_of(named->profile, options->view.order);
	const struct table table = site_table(options, &kind);
	struct hs_error *error = kind.is_allocated && sites->count > 0 ? table_head(&table, "site") : NULL;
	struct profile_values others = { 0 };
	size_t shown = 0, other_count = 0;

	for (size_t i = 0; i < sites->count && !error; i++) {
		const struct profile_values *values = &sites->items[i].values;
		const bool is_nothing = value_is_nothing(&kind, values);
		// Unless all are asked for, what says no more than its error is among the others.
		const bool is_left_out =
			is_nothing || (limit != SIZE_MAX && value_is_within(&kind, values, value_error(&kind, values)));

		if (shown < limit && (shown == 0 || !is_left_out)) {
			error = print_site(&table, &kind, named, &sites->items[i]);
			shown++;
			continue;
		}
		other_count += !is_nothing;
		profile_values_add(&others, values);
	}
	if (!error && limit > 0)
		print_others(options, &kind, &others, other_count);
	return error;
}
