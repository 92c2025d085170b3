// SPDX-License-Identifier: Apache-2.0
#include "cli/top_model.h"

#include <stdlib.h>
#include <string.h>

const char *top_order_name(enum top_order order)
{
	static const char *const names[TOP_ORDERS] = { "growth", "live bytes", "blocks", "name" };

	return names[order];
}

size_t top_room(const struct top_state *state)
{
	return state->lines > TOP_LINES_AROUND ? state->lines - TOP_LINES_AROUND : 1;
}

void top_resize(struct top_state *state, unsigned lines, unsigned columns)
{
	state->lines = lines < TOP_SCREEN_LARGEST ? lines : TOP_SCREEN_LARGEST;
	state->columns = columns < TOP_SCREEN_LARGEST ? columns : TOP_SCREEN_LARGEST;
}

const struct top_row *top_selected(const struct top_state *state, const struct top_data *data)
{
	return state->sites.selected < data->shown_count ? &data->rows[data->shown[state->sites.selected]] : NULL;
}

const struct top_row *top_row_of(const struct top_data *data, uint32_t number)
{
	for (size_t i = 0; i < data->row_count; i++)
		if (data->rows[i].number == number)
			return &data->rows[i];
	return NULL;
}

static bool has(const char *text, const char *search) { return strcasestr(text, search) != NULL; }

static bool is_found(const struct top_row *row, const char *search)
{
	return !*search || has(row->text.name, search) || has(row->text.full_name, search) ||
	       has(row->text.file, search) || has(row->text.via, search);
}

struct sorting {
	const struct top_row *rows;
	enum top_order order;
};

static int by_number(double left, double right) { return (left < right) - (left > right); }

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct sorting *sorting = context;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct top_row *x = &sorting->rows[a], *y = &sorting->rows[b];
	int order = 0;

	if (sorting->order == TOP_BY_NAME)
		order = strcmp(x->text.name, y->text.name);
	else if (sorting->order == TOP_BY_BLOCKS)
		order = by_number(x->blocks, y->blocks);
	if (!order && sorting->order != TOP_BY_GROWTH)
		order = by_number(x->live, y->live);
	return order ? order : (a > b) - (a < b);
}

// `place` in a list of so many.
static void keep_inside(struct top_place *place, size_t count, size_t room)
{
	if (place->selected >= count)
		place->selected = count ? count - 1 : 0;
	if (place->first > place->selected)
		place->first = place->selected;
	if (place->selected - place->first >= room)
		place->first = place->selected - room + 1;
	if (place->first + room > count) // no empty rows while there are others above
		place->first = count > room ? count - room : 0;
}

// The selected site is where it is now. One that is not shown any more has left its place to another.
static void find_selected(struct top_state *state, const struct top_data *data)
{
	for (size_t i = 0; state->has_site && i < data->shown_count; i++) {
		if (data->rows[data->shown[i]].number == state->site) {
			state->sites.selected = i;
			return;
		}
	}
	if (!state->has_site)
		state->sites.selected = 0;
}

void top_arrange(struct top_state *state, struct top_data *data)
{
	struct sorting sorting = { data->rows, state->order };

	data->shown_count = 0;
	for (size_t i = 0; i < data->row_count; i++)
		if (is_found(&data->rows[i], state->search))
			data->shown[data->shown_count++] = (uint32_t)i;
	if (data->shown_count > 1)
		qsort_r(data->shown, data->shown_count, sizeof(*data->shown), compare_rows, &sorting);
	if (state->page != TOP_CALLERS)
		find_selected(state, data);
	keep_inside(&state->sites, data->shown_count, top_room(state));
	keep_inside(&state->callers, data->caller_count, top_room(state));
}

// The site of the row that is selected now, or none where that is the first one.
static void note_selected(struct top_state *state, const struct top_data *data)
{
	const struct top_row *row = top_selected(state, data);

	state->has_site = row && state->sites.selected > 0;
	state->site = row ? row->number : 0;
}

// The index after a key; the same for keys that do not move.
static size_t moved(const struct typed *typed, size_t selected, size_t count, size_t room)
{
	const size_t last = count ? count - 1 : 0;
	size_t up = 0, down = 0;

	switch (typed->key) {
	case TYPED_UP:
		up = 1;
		break;
	case TYPED_DOWN:
		down = 1;
		break;
	case TYPED_PAGE_UP:
		up = room;
		break;
	case TYPED_PAGE_DOWN:
		down = room;
		break;
	case TYPED_HOME:
		up = count;
		break;
	case TYPED_END:
		down = count;
		break;
	default:
		up = strcmp(typed->text, "k") == 0 ? 1 : strcmp(typed->text, "g") == 0 ? count : 0;
		down = strcmp(typed->text, "j") == 0   ? 1
		       : strcmp(typed->text, "G") == 0 ? count
		       : strcmp(typed->text, " ") == 0 ? room
						       : 0;
	}
	if (up > selected)
		return 0;
	return down > last - (selected - up) ? last : selected - up + down;
}

static void move(struct top_state *state, const struct top_data *data, const struct typed *typed)
{
	const size_t room = top_room(state), before = state->sites.selected;

	if (state->page == TOP_CALLERS) {
		state->callers.selected = moved(typed, state->callers.selected, data->caller_count, room);
		keep_inside(&state->callers, data->caller_count, room);
		return;
	}
	state->sites.selected = moved(typed, before, data->shown_count, room);
	keep_inside(&state->sites, data->shown_count, room);
	if (state->sites.selected != before)
		note_selected(state, data);
}

// As long as there is room.
static void append(char search[TOP_SEARCH_SIZE], const char *text)
{
	const size_t length = strlen(search), more = strlen(text);

	if (length + more < TOP_SEARCH_SIZE)
		memcpy(search + length, text, more + 1);
}

static void erase_last(char *text)
{
	size_t length = strlen(text);

	while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80) // of a character of several bytes
		length--;
	text[length > 0 ? length - 1 : 0] = 0;
}

// A key of the search. Those that move do so in what is found.
static void type_search(struct top_state *state, const struct top_data *data, const struct typed *typed)
{
	switch (typed->key) {
	case TYPED_TEXT:
		append(state->search, typed->text);
		break;
	case TYPED_BACKSPACE:
		state->is_typing = *state->search;
		erase_last(state->search);
		break;
	case TYPED_CLEAR:
		*state->search = 0;
		break;
	case TYPED_ENTER:
		state->is_typing = false;
		break;
	case TYPED_ESCAPE:
		state->is_typing = false;
		*state->search = 0;
		break;
	default:
		move(state, data, typed);
	}
}

static void go_back(struct top_state *state)
{
	if (state->page == TOP_HELP)
		state->page = state->behind_help;
	else if (state->page == TOP_CALLERS)
		state->page = TOP_SITES;
	else
		*state->search = 0;
}

static void open_callers(struct top_state *state, const struct top_data *data)
{
	const struct top_row *row = top_selected(state, data);

	if (state->page != TOP_SITES || !row)
		return;
	state->page = TOP_CALLERS;
	state->callers = (struct top_place){ 0 };
	state->site = row->number;
	state->has_site = true; // also the first one: what is looked at must not change by itself
}

static void open_help(struct top_state *state)
{
	if (state->page == TOP_HELP)
		return;
	state->behind_help = state->page;
	state->page = TOP_HELP;
}

static void type_letter(struct top_state *state, const struct top_data *data, const struct typed *typed)
{
	switch (typed->text[1] ? 0 : typed->text[0]) {
	case 'q':
		state->is_done = true;
		break;
	case 's':
		if (state->page == TOP_SITES)
			state->order = (state->order + 1) % TOP_ORDERS;
		break;
	case '/':
		state->page = TOP_SITES;
		state->is_typing = true;
		break;
	case 'b':
		go_back(state);
		break;
	case 'p':
		state->is_paused = !state->is_paused;
		break;
	case 'h':
	case '?':
		open_help(state);
		break;
	default:
		if (state->page != TOP_HELP)
			move(state, data, typed);
	}
}

enum top_request top_type(struct top_state *state, const struct top_data *data, const struct typed *typed)
{
	if (typed->key == TYPED_SUSPEND)
		return TOP_SUSPEND;
	if (typed->key == TYPED_REDRAW)
		return TOP_REDRAW;
	if (state->is_typing)
		type_search(state, data, typed);
	else if (typed->key == TYPED_TEXT)
		type_letter(state, data, typed);
	else if (typed->key == TYPED_ESCAPE || typed->key == TYPED_BACKSPACE || typed->key == TYPED_LEFT)
		go_back(state);
	else if (typed->key == TYPED_ENTER || typed->key == TYPED_RIGHT)
		open_callers(state, data);
	else if (state->page != TOP_HELP)
		move(state, data, typed);
	return TOP_NOTHING;
}
