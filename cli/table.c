// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/printable.h"
#include "cli/console.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_LEAST = 12, // columns of a name that are shown however narrow the room
	GAP = 2          // columns between the numbers and the text
};

// The columns of what begins at *text, behind which *text stands afterwards. pre: not its end
static size_t step(const char **text)
{
	uint32_t character;
	size_t length = hs_utf8_next(*text, strnlen(*text, 4), &character);

	*text += length ? length : 1;
	return length ? 1 : 4;
}

size_t table_width(const char *text)
{
	size_t count = 0;

	while (*text)
		count += step(&text);
	return count;
}

int table_pad(const char *text, size_t width)
{
	const size_t taken = table_width(text);

	return taken < width ? (int)(width - taken) : 0;
}

// The end of a text that fits into `room` columns.
static const char *end_of(const char *text, size_t room)
{
	size_t width = table_width(text);

	while (width > room)
		width -= step(&text);
	return text;
}

size_t table_beginning(const char *text, size_t room)
{
	const char *at = text;

	while (*at) {
		const char *next = at;
		const size_t width = step(&next);

		if (width > room)
			break;
		room -= width;
		at = next;
	}
	return (size_t)(at - text);
}

void table_column(struct table *table, const char *head, int width)
{
	table->columns[table->count++] = (struct table_column){ head, width };
}

// "  leak.cpp:18"; "" = unknown.
static struct hs_error *source_text(const struct table_text *text, bool whole, char **ret)
{
	const char *slash = strrchr(text->file, '/'), *file = slash && !whole ? slash + 1 : text->file;

	if (!*file)
		return hs_format(ret, "%s", "");
	return text->line > 0 ? hs_format(ret, "  %s:%" PRId64, file, text->line) : hs_format(ret, "  %s", file);
}

static struct hs_error *shorten(const struct table_text *text, const char *source, size_t room, char **ret)
{
	const char *name = text->name;
	size_t head;

	if (table_width(name) <= room)
		return hs_format(ret, "%s%s%s", text->mark, name, source);
	if (!text->has_ends && strncmp(name, "near ", 5) != 0) // a guess is to be seen as one
		return hs_format(ret, "%s…%s%s", text->mark, end_of(name, room - 1), source);
	head = (room - 1) / 2;
	return hs_format(ret, "%s%.*s…%s%s", text->mark, (int)table_beginning(name, head), name,
			 end_of(name, room - 1 - head), source);
}

struct hs_error *table_text_fit(const struct table_text *text, unsigned room, char **ret)
{
	HS_CLEANUP_FREE char *source = NULL, *via = NULL;
	const char *name = room || !*text->full_name ? text->name : text->full_name;
	struct hs_error *error = source_text(text, !room, &source);
	size_t needed, taken;

	if (!error)
		error = *text->via ? hs_format(&via, "   via %s", text->via) : hs_format(&via, "%s", "");
	if (error)
		return error;
	taken = table_width(text->mark) + table_width(source);
	needed = table_width(name) + taken;
	if (!room || needed + table_width(via) <= room)
		return hs_format(ret, "%s%s%s%s", text->mark, name, source, via);
	return shorten(text, source, taken + NAME_LEAST < room ? room - taken : NAME_LEAST, ret);
}

// Appends a cell; `line` is owned by the caller before and after.
static struct hs_error *append(char **line, const char *cell, int width, bool is_first)
{
	const int least = abs(width), pad = least - (int)table_width(cell);
	const int before = width > 0 && pad > 0 ? pad : 0, behind = width < 0 && pad > 0 ? pad : 0;
	char *longer;
	struct hs_error *error =
		hs_format(&longer, "%s%s%*s%s%*s", *line, is_first ? "" : " ", before, "", cell, behind, "");

	if (error)
		return error;
	free(*line);
	*line = longer;
	return NULL;
}

static struct hs_error *numbers(const struct table *table, const char *const *cells, char **ret)
{
	HS_CLEANUP_FREE char *line = NULL;
	struct hs_error *error = hs_format(&line, "%s", "");

	for (size_t i = 0; i < table->count && !error; i++)
		error = append(&line, cells[i], table->columns[i].width, i == 0);
	*ret = error ? NULL : HS_STEAL_POINTER(line);
	return error;
}

struct hs_error *table_row(const struct table *table, const char *const *cells, unsigned indent,
			   const struct table_text *text)
{
	HS_CLEANUP_FREE char *line = NULL, *fitted = NULL, *row = NULL;
	const unsigned width = console_width(table->options);
	struct hs_error *error = numbers(table, cells, &line);
	size_t before;

	if (error)
		return error;
	before = table_width(line) + GAP + indent;
	error = table_text_fit(text, width ? (before < width ? width - (unsigned)before : 1) : 0, &fitted);
	if (!error)
		error = hs_format(&row, "%s%*s%s", line, (int)(GAP + indent), "", fitted);
	if (!error)
		console_print_row(table->options, row);
	return error;
}

struct hs_error *table_head(const struct table *table, const char *text)
{
	const char *heads[TABLE_COLUMNS_MAX];

	for (size_t i = 0; i < table->count; i++)
		heads[i] = table->columns[i].head;
	return table_row(table, heads, 0,
			 &(struct table_text){ .name = text, .full_name = "", .file = "", .via = "", .mark = "" });
}
