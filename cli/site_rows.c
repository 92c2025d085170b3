// SPDX-License-Identifier: Apache-2.0
#include "cli/site_rows.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/printable.h"
#include "cli/console.h"

#include <inttypes.h>
#include <string.h>

enum {
	PATH_INDENT = 8,
	NAME_LEAST = 12, // columns of a name that are shown however narrow the room
	PATH_MOST = 64   // callers; a recursion can have more
};

// Columns, where each character takes one. A byte that is no character is shown as \xff.
static size_t columns(const char *text)
{
	size_t count = 0, left = strlen(text);

	while (left) {
		uint32_t character;
		size_t length = hs_utf8_next(text, left, &character);

		count += length ? 1 : 4;
		text += length ? length : 1;
		left -= length ? length : 1;
	}
	return count;
}

// The end of a text that fits into `room` columns.
static const char *end_of(const char *text, size_t room)
{
	while (columns(text) > room) {
		do
			text++;
		while ((*text & 0xc0) == 0x80); // not within a character
	}
	return text;
}

// "  leak.cpp:18"; "" = unknown.
static struct hs_error *source_text(const struct code_place *place, bool whole, char **ret)
{
	const char *slash = strrchr(place->file, '/'), *file = slash && !whole ? slash + 1 : place->file;

	if (!*file)
		return hs_format(ret, "%s", "");
	return place->line > 0 ? hs_format(ret, "  %s:%" PRId64, file, place->line) : hs_format(ret, "  %s", file);
}

struct hs_error *site_row_text(const struct named_profile *named, const struct site *site, unsigned room, char **ret)
{
	HS_CLEANUP_FREE char *source = NULL, *via = NULL;
	const struct code_place *place = site->path_length ? place_of(named, site->path[0]) : NULL;
	const char *name = !place ? "[stack unknown]" : room ? place->name : place->full_name;
	struct hs_error *error = place ? source_text(place, !room, &source) : hs_format(&source, "%s", "");

	if (!error)
		error = *site->via ? hs_format(&via, "   via %s", site->via) : hs_format(&via, "%s", "");
	if (error)
		return error;
	if (!room || columns(name) + columns(source) + columns(via) <= room)
		return hs_format(ret, "%s%s%s", name, source, via);
	if (columns(name) + columns(source) <= room)
		return hs_format(ret, "%s%s", name, source);

	size_t left = columns(source) + NAME_LEAST < room ? room - columns(source) : NAME_LEAST;

	if (columns(name) <= left)
		return hs_format(ret, "%s%s", name, source);
	return hs_format(ret, "…%s%s", end_of(name, left - 1), source);
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
		if (!room || count <= 1 || columns(path) + columns(end) <= room)
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

static struct hs_error *print_site(const struct options *options, const struct named_profile *named,
				   const struct site *site)
{
	char bytes[NUMBER_SIZE], error_text[NUMBER_SIZE], plus_minus[NUMBER_SIZE + 8] = "", blocks[NUMBER_SIZE];
	HS_CLEANUP_FREE char *text = NULL, *path = NULL;
	const struct profile_values *values = &site->values;
	const unsigned width = console_width(options), before = named->profile->is_estimate ? 37 : 27;
	struct hs_error *error = site_row_text(named, site, width ? width - before : 0, &text);

	if (!error && site->path_length > 1)
		error = path_row_text(named, site, width ? width - PATH_INDENT - 2 : 0, &path);
	if (error)
		return error;
	if (named->profile->is_estimate)
		snprintf(plus_minus, sizeof(plus_minus), " %s%-8s", "±",
			 number_error(values->live_bytes,
				      profile_bytes_error(named->profile, values->live_bytes_variance), error_text));
	console_print(options, "%10s%s %6s %-6s  %s\n", number_bytes((uint64_t)values->live_bytes, bytes), plus_minus,
		      number_short((uint64_t)values->live_objects, blocks),
		      values->live_objects == 1 ? "block" : "blocks", text);
	if (path)
		console_print(options, "%*s< %s\n", PATH_INDENT, "", path);
	return NULL;
}

struct hs_error *site_rows_print(const struct options *options, const struct named_profile *named,
				 const struct site_list *sites, size_t limit)
{
	struct hs_error *error = NULL;

	for (size_t i = 0; i < sites->count && i < limit && !error; i++) {
		if (i > 0 && sites->items[i].values.live_bytes == 0)
			break;
		error = print_site(options, named, &sites->items[i]);
	}
	return error;
}
