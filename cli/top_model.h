// SPDX-License-Identifier: Apache-2.0
// What `top` shows, and what keys do to it. Pure: it knows no terminal, no process and no time.
#ifndef HEAPSNAP_CLI_TOP_MODEL_H
#define HEAPSNAP_CLI_TOP_MODEL_H

#include "base/error.h"
#include "cli/table.h"
#include "cli/terminal_keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TOP_SEARCH_SIZE = 64,    // bytes
	TOP_LINES_AROUND = 6,    // of the screen, that are no rows: the heading and the last line
	TOP_LINES_LEAST = 8,     // a screen with less
	TOP_COLUMNS_LEAST = 30,  // or narrower than this shows nothing
	TOP_SCREEN_LARGEST = 500 // lines and columns; of a larger terminal a part is used
};

enum top_order { TOP_BY_GROWTH, TOP_BY_LIVE, TOP_BY_BLOCKS, TOP_BY_NAME, TOP_ORDERS };

enum top_page { TOP_SITES, TOP_CALLERS, TOP_HELP };

// A site. The text is borrowed.
struct top_row {
	uint32_t number;     // the same one in all looks
	double live, blocks; // bytes, live blocks
	double error;        // standard error of the live bytes; of an estimate; 0 = all was recorded exactly
	double rate;         // bytes a second that it grows by
	bool grows;          // for sure
	struct table_text text;
};

// A caller: a node of the tree of calls from the site on.
struct top_caller {
	double live, blocks, share; // share: of the site, 0 to 1
	unsigned level;             // how often the way has branched before it
	struct table_text text;
};

// What there is to be shown; all borrowed. Rows are in the order of growth.
struct top_data {
	const struct top_row *rows;
	size_t row_count;
	bool has_rates; // there were looks enough
	bool is_estimate;
	uint32_t *shown; // of the rows, in their order on the screen: top_arrange fills it; room for all rows
	size_t shown_count;
	const struct top_caller *callers; // of the site that is selected
	size_t caller_count;
};

// Where in a list that does not fit the screen.
struct top_place {
	size_t selected, first; // of the list; the one in the first row of the screen
};

// Zeroed, but for the size, it is how `top` begins.
struct top_state {
	enum top_order order;
	enum top_page page, behind_help;
	struct top_place sites, callers;
	uint32_t site; // the number of the selected one, which it stays when the order changes
	bool has_site; // else it is the first row, whichever that is
	char search[TOP_SEARCH_SIZE];
	bool is_typing; // the search
	bool is_paused;
	bool is_done;
	unsigned lines, columns; // of the screen
};

// What is left to be done after a key by who has the terminal.
enum top_request { TOP_NOTHING, TOP_REDRAW, TOP_SUSPEND };

// Sorts the rows and leaves out what is not searched for. The selected site stays so, where it is still there.
void top_arrange(struct top_state *state, struct top_data *data);

// pre: top_arrange, also after each key
enum top_request top_type(struct top_state *state, const struct top_data *data, const struct typed *typed);

// A terminal of so many lines and columns.
void top_resize(struct top_state *state, unsigned lines, unsigned columns);

// Rows that there is room for.
size_t top_room(const struct top_state *state);

// The selected row; NULL = there is none. pre: top_arrange
const struct top_row *top_selected(const struct top_state *state, const struct top_data *data);

// The row of a site; NULL = it has none any more.
const struct top_row *top_row_of(const struct top_data *data, uint32_t number);

// "growth", "live bytes", ...
const char *top_order_name(enum top_order order);

#endif
