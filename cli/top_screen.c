// SPDX-License-Identifier: Apache-2.0
#include "cli/top_screen.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/printable.h"
#include "views/numbers.h"

#include <math.h>
#include <string.h>

enum {
	FIRST_ROW = 5,        // lines of the heading
	LIVE_WIDTH = 10,      // columns
	ERROR_WIDTH = 9,      //
	BLOCKS_WIDTH = 7,     //
	GROWTH_WIDTH = 13,    //
	ERROR_FROM = 76,      // where a screen is narrower than this, the column is left out
	BLOCKS_FROM = 56,     //
	LIVE_FROM = 44,       //
	LEVELS_SHOWN = 20,    // that are indented
	NUMBERS_SIZE = 6 * 40 // bytes
};

static uint64_t whole(double value) { return value > 0 ? (uint64_t)number_whole(value) : 0; }

static const char *rate_text(double rate, char buffer[NUMBER_SIZE + 4])
{
	char number[NUMBER_SIZE];

	snprintf(buffer, NUMBER_SIZE + 4, "%s/s", number_bytes_signed(number_whole(rate), number));
	return buffer;
}

// ", +2.0 MiB/s", once it is known.
static const char *rate_clause(const struct top_data *data, double rate, char buffer[NUMBER_SIZE + 8])
{
	char text[NUMBER_SIZE + 4];

	snprintf(buffer, NUMBER_SIZE + 8, "%s%s", data->has_rates ? ", " : "",
		 data->has_rates ? rate_text(rate, text) : "");
	return buffer;
}

static bool shows_error(const struct top_state *state, const struct top_data *data)
{
	return data->is_estimate && state->columns >= ERROR_FROM;
}

static struct hs_error *put_title(const struct top_state *state, const struct top_facts *facts, struct screen *screen)
{
	const char *program = facts->program;
	char since[NUMBER_SIZE], every[NUMBER_SIZE] = "paused";

	if (!facts->has_look)
		return screen_put(screen, 0, LOOK_BOLD, "heapsnap top: %s%sPID %d%s, first snapshot ...", program,
				  *program ? " (" : "", facts->pid, *program ? ")" : "");
	if (!state->is_paused)
		snprintf(every, sizeof(every), "every %.2g s", facts->every);
	return screen_put(screen, 0, LOOK_BOLD, "heapsnap top: %s%sPID %d%s, recorded for %s, %s", program,
			  *program ? " (" : "", facts->pid, *program ? ")" : "",
			  number_duration(whole(facts->seconds * 1e9), since), every);
}

static struct hs_error *put_process(const struct top_data *data, const struct top_facts *facts, struct screen *screen)
{
	const struct profile_memory *memory = &facts->memory;
	char rss[NUMBER_SIZE], anonymous[NUMBER_SIZE], swapped[NUMBER_SIZE], rate[NUMBER_SIZE + 8];

	if (!memory->is_known)
		return screen_put(screen, 1, LOOK_PLAIN, "Process RSS unknown");
	return screen_put(screen, 1, LOOK_PLAIN, "Process RSS %s (anonymous %s%s%s%s)", number_bytes(memory->rss, rss),
			  number_bytes(memory->anonymous, anonymous), memory->swapped ? "; swapped out " : "",
			  memory->swapped ? number_bytes(memory->swapped, swapped) : "",
			  rate_clause(data, facts->anonymous_rate, rate));
}

static struct hs_error *put_recorded(const struct top_data *data, const struct top_facts *facts, struct screen *screen)
{
	char live[NUMBER_SIZE], error[NUMBER_SIZE], blocks[NUMBER_SIZE], rate[NUMBER_SIZE + 8];

	return screen_put(screen, 2, LOOK_PLAIN, "Recorded live %s%s%s in %s block%s%s",
			  number_bytes(whole(facts->live), live), data->is_estimate ? " ±" : "",
			  data->is_estimate ? number_error(number_whole(facts->live), whole(ceil(facts->error)), error)
					    : "",
			  number_grouped(whole(facts->blocks), blocks), facts->blocks == 1 ? "" : "s",
			  rate_clause(data, facts->rate, rate));
}

static struct hs_error *put_heading(const struct top_state *state, const struct top_data *data,
				    const struct top_facts *facts, struct screen *screen)
{
	struct hs_error *error = put_title(state, facts, screen);

	if (!error && facts->has_look)
		error = put_process(data, facts, screen);
	if (!error && facts->has_look)
		error = put_recorded(data, facts, screen);
	if (error)
		return error;
	return screen_put(screen, 3, LOOK_PLAIN, "%s",
			  *facts->message   ? facts->message
			  : facts->has_look ? facts->completeness
					    : "");
}

// A name as it is fitted, printable first: how wide an escape is counts. *ret is owned by the caller.
static struct hs_error *fit(const struct table_text *text, size_t room, char **ret)
{
	HS_CLEANUP_FREE char *name = hs_printable(text->name), *file = hs_printable(text->file),
			     *via = hs_printable(text->via);
	struct table_text printable = *text;

	*ret = NULL;
	if (!name || !file || !via)
		return &hs_error_no_memory;
	printable.name = name;
	printable.file = file;
	printable.via = via;
	return table_text_fit(&printable, room > 0 ? (unsigned)room : 1, ret);
}

// A cell is padded by its columns, not its bytes.
static void add_cell(char numbers[NUMBERS_SIZE], const char *cell, int width)
{
	const size_t length = strlen(numbers);
	const int pad = width - (int)table_width(cell), gap = length > 0;

	snprintf(numbers + length, NUMBERS_SIZE - length, "%*s%s", gap + (pad > 0 ? pad : 0), "", cell);
}

static void add_left_cell(char numbers[NUMBERS_SIZE], const char *cell, int width)
{
	const size_t length = strlen(numbers);
	const int pad = width - (int)table_width(cell);

	snprintf(numbers + length, NUMBERS_SIZE - length, " %s%*s", cell, pad > 0 ? pad : 0, "");
}

static void site_numbers(const struct top_state *state, const struct top_data *data, const struct top_row *row,
			 char numbers[NUMBERS_SIZE])
{
	const bool is_within = data->is_estimate && row->live < row->error; // it says no more than its error
	char number[NUMBER_SIZE], text[NUMBER_SIZE + 8];

	numbers[0] = 0;
	// What was recorded exactly is the least that is live, and has no error.
	snprintf(text, sizeof(text), "%s%s", data->is_estimate && row->error == 0 && row->live > 0 ? "≥" : "",
		 is_within ? "about 0" : number_bytes(whole(row->live), number));
	if (state->columns >= LIVE_FROM)
		add_cell(numbers, text, LIVE_WIDTH);
	snprintf(text, sizeof(text), "±%s", number_error(number_whole(row->live), whole(ceil(row->error)), number));
	if (shows_error(state, data))
		add_left_cell(numbers, row->error > 0 ? text : "", ERROR_WIDTH);
	if (state->columns >= BLOCKS_FROM)
		add_cell(numbers, number_short(whole(row->blocks), number), BLOCKS_WIDTH);
	add_cell(numbers, data->has_rates ? rate_text(row->rate, text) : "", GROWTH_WIDTH);
	add_left_cell(numbers, data->has_rates && row->grows ? "↑" : "", 1);
}

static void site_heads(const struct top_state *state, const struct top_data *data, char numbers[NUMBERS_SIZE])
{
	numbers[0] = 0;
	if (state->columns >= LIVE_FROM)
		add_cell(numbers, "live", LIVE_WIDTH);
	if (shows_error(state, data))
		add_left_cell(numbers, "", ERROR_WIDTH);
	if (state->columns >= BLOCKS_FROM)
		add_cell(numbers, "blocks", BLOCKS_WIDTH);
	add_cell(numbers, "growth", GROWTH_WIDTH);
	add_left_cell(numbers, "", 1);
}

// A row of numbers, and a text that takes what is left of the line.
static struct hs_error *put_row(struct screen *screen, size_t line, enum screen_look look, const char *numbers,
				unsigned indent, const struct table_text *text)
{
	const size_t before = table_width(numbers) + 2 + indent;
	HS_CLEANUP_FREE char *fitted = NULL;
	struct hs_error *error = fit(text, before < screen->columns ? screen->columns - before : 1, &fitted);

	if (error)
		return error;
	return screen_put(screen, line, look, "%s%*s%s", numbers, (int)(2 + indent), "", fitted);
}

// A line that is one bar, to the edge.
static struct hs_error *put_bar(struct screen *screen, size_t line, const char *text)
{
	const size_t width = table_width(text);

	return screen_put(screen, line, LOOK_REVERSED, "%s%*s", text,
			  width < screen->columns ? (int)(screen->columns - width) : 0, "");
}

static struct hs_error *put_sites(const struct top_state *state, const struct top_data *data, struct screen *screen)
{
	const size_t room = top_room(state);
	char numbers[NUMBERS_SIZE], head[NUMBERS_SIZE + 40];
	struct hs_error *error;

	site_heads(state, data, numbers);
	snprintf(head, sizeof(head), "%s  site, by %s", numbers, top_order_name(state->order));
	error = put_bar(screen, FIRST_ROW - 1, head);
	for (size_t i = 0; i < room && state->sites.first + i < data->shown_count && !error; i++) {
		const size_t index = state->sites.first + i;
		const struct top_row *row = &data->rows[data->shown[index]];

		site_numbers(state, data, row, numbers);
		error = put_row(screen, FIRST_ROW + i, index == state->sites.selected ? LOOK_REVERSED : LOOK_PLAIN,
				numbers, 0, &row->text);
	}
	return error;
}

static struct hs_error *put_caller(const struct top_state *state, const struct top_caller *caller,
				   struct screen *screen, size_t line, bool is_selected)
{
	char numbers[NUMBERS_SIZE] = "", number[NUMBER_SIZE], share[NUMBER_SIZE];

	add_cell(numbers, number_bytes(whole(caller->live), number), LIVE_WIDTH);
	if (state->columns >= BLOCKS_FROM)
		add_cell(numbers, number_short(whole(caller->blocks), number), BLOCKS_WIDTH);
	snprintf(share, sizeof(share), "%.1f %%", 100 * caller->share);
	add_cell(numbers, share, 8);
	return put_row(screen, line, is_selected ? LOOK_REVERSED : LOOK_PLAIN, numbers,
		       2 * (caller->level < LEVELS_SHOWN ? caller->level : LEVELS_SHOWN), &caller->text);
}

static struct hs_error *put_callers(const struct top_state *state, const struct top_data *data, struct screen *screen)
{
	const size_t room = top_room(state);
	char heads[NUMBERS_SIZE] = "", head[NUMBERS_SIZE + 60];
	struct hs_error *error;

	add_cell(heads, "live", LIVE_WIDTH);
	if (state->columns >= BLOCKS_FROM)
		add_cell(heads, "blocks", BLOCKS_WIDTH);
	add_cell(heads, "share", 8);
	snprintf(head, sizeof(head), "%s  what allocates, then who calls it", heads);
	error = put_bar(screen, FIRST_ROW - 1, head);
	if (!error && !data->caller_count)
		error = screen_put(screen, FIRST_ROW, LOOK_PLAIN,
				   "Nothing of this site is live any more (b goes back).");
	for (size_t i = 0; i < room && state->callers.first + i < data->caller_count && !error; i++) {
		const size_t index = state->callers.first + i;

		error = put_caller(state, &data->callers[index], screen, FIRST_ROW + i,
				   index == state->callers.selected);
	}
	return error;
}

static struct hs_error *put_help(struct screen *screen)
{
	static const char *const lines[] = {
		"up down k j     one row          PgUp PgDn ^B ^F space   one page",
		"Home End g G    first, last row",
		"s               sort: growth, live bytes, blocks, name",
		"/               search in names, files and \"via\"; Esc shows all again",
		"Enter           who calls the site            b Esc   back",
		"p               pause: the screen stays, recording goes on",
		"^L              draw it again     ^Z   suspend",
		"q ^C            quit",
		"",
		"growth          a second, over the last snapshots; ↑: that it grows is sure",
		"                (more than three standard errors above 0). These come first.",
		"±               standard error, where blocks are sampled (--exact: none are)",
		"via             what was skipped between the allocator and your code",
	};
	struct hs_error *error = put_bar(screen, FIRST_ROW - 1, "Keys");

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && FIRST_ROW + i + 1 < screen->count && !error; i++)
		error = screen_put(screen, FIRST_ROW + i, LOOK_PLAIN, "%s", lines[i]);
	return error;
}

static struct hs_error *put_foot(const struct top_state *state, const struct top_data *data, struct screen *screen)
{
	const size_t line = screen->count - 1;

	if (state->is_typing)
		return screen_put(screen, line, LOOK_BOLD, "/%s_  %zu of %zu sites (Enter: done, Esc: show all)",
				  state->search, data->shown_count, data->row_count);
	if (state->page == TOP_HELP)
		return screen_put(screen, line, LOOK_PLAIN, "b back  q quit");
	if (state->page == TOP_CALLERS)
		return screen_put(screen, line, LOOK_PLAIN, "b back  p pause  ? help  q quit");
	if (*state->search)
		return screen_put(screen, line, LOOK_PLAIN, "%zu of %zu sites match \"%s\" (Esc: show all)  ? help",
				  data->shown_count, data->row_count, state->search);
	return screen_put(screen, line, LOOK_PLAIN, "q quit  s sort  / search  enter callers  p pause  ? help");
}

struct hs_error *top_draw(const struct top_state *state, const struct top_data *data, const struct top_facts *facts,
			  struct screen *ret)
{
	struct hs_error *error = screen_init(state->lines, state->columns, ret);

	if (error)
		return error;
	if (state->lines < TOP_LINES_LEAST || state->columns < TOP_COLUMNS_LEAST) {
		error = screen_put(ret, 0, LOOK_PLAIN, "larger terminal needed (q quits)");
	} else {
		error = put_heading(state, data, facts, ret);
		if (!error && state->page == TOP_HELP)
			error = put_help(ret);
		else if (!error && state->page == TOP_CALLERS)
			error = put_callers(state, data, ret);
		else if (!error)
			error = put_sites(state, data, ret);
		if (!error)
			error = put_foot(state, data, ret);
	}
	if (error)
		screen_deinit(ret);
	return error;
}
