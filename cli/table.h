// SPDX-License-Identifier: Apache-2.0
// The one writer of tables: columns of numbers, then a text that is fitted to the width of the terminal.
//
//       live      blocks cumulative  function
//   20.2 MiB       47.6k   31.0 MiB  shop::Cache::put  leak.cpp
#ifndef HEAPSNAP_CLI_TABLE_H
#define HEAPSNAP_CLI_TABLE_H

#include "base/error.h"
#include "cli/options.h"

#include <stddef.h>
#include <stdint.h>

enum { TABLE_COLUMNS_MAX = 8 };

struct table_column {
	const char *head; // "" = none
	int width;        // least columns on the terminal; below 0 = left-aligned
};

struct table {
	const struct options *options;
	struct table_column columns[TABLE_COLUMNS_MAX];
	size_t count;
};

// What stands behind the numbers. Texts are never NULL, "" = none.
struct table_text {
	const char *name;      // as it is fitted
	const char *full_name; // in its place where there is room for everything; "" = the same
	const char *file;      // path in the source; its folders are left out where it is fitted
	int64_t line;          // 0 = unknown
	const char *via;       // what was skipped
	const char *mark;      // before all of it, and never shortened: "? "
	bool has_ends;         // both ends of the name tell something: it is shortened in the middle, else at its left
};

// pre: room for one more
void table_column(struct table *table, const char *head, int width);

// Columns of a text on a terminal, where a character takes one, or two, or those of the escape that hs_printable makes.
size_t table_width(const char *text);
// How many blanks before it make it that wide.
int table_pad(const char *text, size_t width);
// How many bytes of its beginning fit into `room` columns.
size_t table_beginning(const char *text, size_t room);

// A text in `room` columns: `via` goes first where these are too few, then a part of the name; 0 = there is room.
// *ret is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *table_text_fit(const struct table_text *text, unsigned room, char **ret) HS_MUST_CHECK;

// `cells`: as many as columns, "" = empty. `indent`: columns before the text. HS_ERROR_NO_MEMORY.
struct hs_error *table_row(const struct table *table, const char *const *cells, unsigned indent,
			   const struct table_text *text) HS_MUST_CHECK;
// The heads of the columns, and that of the text.
struct hs_error *table_head(const struct table *table, const char *text) HS_MUST_CHECK;

#endif
