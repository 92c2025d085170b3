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
	NAME_LEAST = 12,   // columns of a name that are shown however narrow the room
	SOURCE_LEAST = 20, // of a file and a line
	GAP = 2            // columns between the numbers and the text
};

// Ideographs, Hangul, kana, full-width forms and emoji take two columns. Those that have none of their own, accents
// that are put upon letters, count as one: rather too wide than too narrow.
static bool is_wide(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} wide[] = {
		{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x23e9, 0x23ec },   { 0x25fd, 0x25fe },
		{ 0x2614, 0x2615 },   { 0x2648, 0x2653 },   { 0x26a1, 0x26ff },   { 0x2705, 0x27bf },
		{ 0x2b1b, 0x2b55 },   { 0x2e80, 0x303e },   { 0x3041, 0x4dbf },   { 0x4e00, 0xa4cf },
		{ 0xa960, 0xa97c },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe10, 0xfe19 },
		{ 0xfe30, 0xfe6f },   { 0xff01, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x16fe0, 0x18cff },
		{ 0x1aff0, 0x1b2ff }, { 0x1f004, 0x1f004 }, { 0x1f0cf, 0x1f0cf }, { 0x1f18e, 0x1f265 },
		{ 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f7e0, 0x1f7f0 }, { 0x1f90c, 0x1faff },
		{ 0x20000, 0x3fffd },
	};

	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (character >= wide[i].first && character <= wide[i].last)
			return true;
	return false;
}

// As hs_printable shows it.
static size_t width_of(uint32_t character, size_t length)
{
	enum { BYTE = 4, SHORT = 6, LONG = 10 }; // "\x1b", "\u202e", "\U000e0001"

	if (character >= ' ' && character <= '~') // nearly all of them
		return 1;
	if (length && hs_is_printable(character))
		return is_wide(character) ? 2 : 1;
	return length <= 1 ? BYTE : character > 0xffff ? LONG : SHORT;
}

// The columns of what begins at *text, behind which *text stands afterwards. pre: not its end
static size_t step(const char **text)
{
	uint32_t character;
	size_t length = hs_utf8_next(*text, strnlen(*text, 4), &character);

	*text += length ? length : 1;
	return width_of(character, length);
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

// To that many columns, of which the last ones tell most: where the line stands.
static struct hs_error *shorten_source(char **source, size_t room)
{
	char *shorter;
	struct hs_error *error = hs_format(&shorter, "  …%s", end_of(*source, room - 3));

	if (error)
		return error;
	free(*source);
	*source = shorter;
	return NULL;
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
	const size_t source_room = room > NAME_LEAST + SOURCE_LEAST ? room - NAME_LEAST : SOURCE_LEAST;
	struct hs_error *error = source_text(text, !room, &source);
	size_t needed, taken;

	if (!error)
		error = *text->via ? hs_format(&via, "   via %s", text->via) : hs_format(&via, "%s", "");
	if (!error && room && table_width(source) > source_room)
		error = shorten_source(&source, source_room);
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
