// SPDX-License-Identifier: Apache-2.0
// What keys do in `top` (cli/top_model.h): each case is what was typed, and what is there then.
#include "check.h"
#include "cli/top_model.h"

#define TEXT(short_name, whole_name, path, at, skipped)                                                                \
	{                                                                                                              \
		.name = short_name, .full_name = whole_name, .file = path, .line = at, .via = skipped, .mark = ""      \
	}

// In the order of growth.
static const struct top_row rows[] = {
	{ 7, 500, 5, 0, 90, true, TEXT("put", "shop::put(int)", "cache.cpp", 18, "vector") },
	{ 3, 9000, 2, 0, 0, false, TEXT("load", "load", "image.c", 7, "") },
	{ 9, 100, 40, 0, 0, false, TEXT("add", "add", "list.c", 3, "") },
	{ 4, 100, 40, 0, 0, false, TEXT("Z\303\251ro", "Z\303\251ro", "z.c", 1, "") },
	{ 1, 0, 0, 0, -5, false, TEXT("put", "shop::put(long)", "cache.cpp", 25, "string") },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), CALLERS = 9, LINES = TOP_LINES_AROUND + 3 };

static const struct top_caller callers[CALLERS];

struct screen_state {
	struct top_state state;
	struct top_data data;
	uint32_t shown[ROWS];
};

static void begin(struct screen_state *top)
{
	*top = (struct screen_state){ 0 };
	top->data = (struct top_data){ .rows = rows, .row_count = ROWS, .callers = callers, .caller_count = CALLERS };
	top->data.shown = top->shown;
	top_resize(&top->state, LINES, 80);
	top_arrange(&top->state, &top->data);
}

static enum top_request type(struct screen_state *top, const char *bytes)
{
	enum top_request request = TOP_NOTHING;
	struct typed typed;

	while (*bytes) {
		bytes += typed_decode(bytes, strlen(bytes), true, &typed);
		request = top_type(&top->state, &top->data, &typed);
		top_arrange(&top->state, &top->data);
	}
	return request;
}

// "sites growth 7 3 [9] | 4 1 /search_": the page, the order, the rows on the screen with the selected one, those
// beside it, and what is searched for.
static void describe(const struct screen_state *top, char *text, size_t room)
{
	static const char *const pages[] = { "sites", "callers", "help" };
	const struct top_state *state = &top->state;
	size_t at = (size_t)snprintf(text, room, "%s %s", pages[state->page], top_order_name(state->order));

	for (size_t i = 0; i < top->data.shown_count && at < room; i++) {
		const bool is_first = i == state->sites.first && i > 0,
			   is_beyond = i == state->sites.first + top_room(state);

		at += (size_t)snprintf(text + at, room - at, i == state->sites.selected ? "%s [%u]" : "%s %u",
				       is_first || is_beyond ? " |" : "", rows[top->shown[i]].number);
	}
	if (at < room && state->page == TOP_CALLERS)
		at += (size_t)snprintf(text + at, room - at, " at %zu from %zu", state->callers.selected,
				       state->callers.first);
	if (at < room)
		snprintf(text + at, room - at, "%s%s%s%s%s", *state->search || state->is_typing ? " /" : "",
			 state->search, state->is_typing ? "_" : "", state->is_paused ? " paused" : "",
			 state->is_done ? " done" : "");
}

static const struct {
	const char *typed, *expected;
} cases[] = {
	{ "", "sites growth [7] 3 9 | 4 1" },
	{ "s", "sites live bytes [3] 7 9 | 4 1" }, // the first row, whichever site that is
	{ "ss", "sites blocks [9] 4 7 | 3 1" },
	{ "sss", "sites name [4] 9 3 | 7 1" },
	{ "ssss", "sites growth [7] 3 9 | 4 1" },
	{ "j", "sites growth 7 [3] 9 | 4 1" },
	{ "js", "sites live bytes [3] 7 9 | 4 1" }, // the site, wherever it is
	{ "jss", "sites blocks 9 | 4 7 [3] | 1" },
	{ "\033[B\033[B\033[B", "sites growth 7 | 3 9 [4] | 1" },
	{ "jjjjjjjjj", "sites growth 7 3 | 9 4 [1]" },
	{ "jjjjkk", "sites growth 7 3 | [9] 4 1" },
	{ "jjjjkkk", "sites growth 7 | [3] 9 4 | 1" },
	{ "kkk", "sites growth [7] 3 9 | 4 1" },
	{ "\033[6~", "sites growth 7 | 3 9 [4] | 1" },
	{ " \033[5~", "sites growth [7] 3 9 | 4 1" },
	{ "\033[F", "sites growth 7 3 | 9 4 [1]" },
	{ "Gg", "sites growth [7] 3 9 | 4 1" },
	{ "G\033[H", "sites growth [7] 3 9 | 4 1" },
	{ "jgs", "sites live bytes [3] 7 9 | 4 1" }, // no site any more
	{ "/", "sites growth [7] 3 9 | 4 1 /_" },
	{ "/q", "sites growth /q_" }, // no command
	{ "/PUT", "sites growth [7] 1 /PUT_" },
	{ "/put\r", "sites growth [7] 1 /put" },
	{ "/put\033[B\r", "sites growth 7 [1] /put" },
	{ "/put\033[B\rs", "sites live bytes 7 [1] /put" },
	{ "/list\r", "sites growth [9] /list" },     // by file
	{ "/vector\r", "sites growth [7] /vector" }, // by what was skipped
	{ "/(long)\r", "sites growth [1] /(long)" }, // by whole name
	{ "/Z\303\251\r", "sites growth [4] /Z\303\251" },
	{ "/Z\303\251\177\r", "sites growth [4] /Z" }, // a character, not a byte
	{ "/x\177", "sites growth [7] 3 9 | 4 1 /_" },
	{ "/x\177\177", "sites growth [7] 3 9 | 4 1" },
	{ "/abc\025", "sites growth [7] 3 9 | 4 1 /_" },
	{ "/abc\033", "sites growth [7] 3 9 | 4 1" },
	{ "/put\r\033", "sites growth [7] 3 9 | 4 1" },
	{ "/put\rb", "sites growth [7] 3 9 | 4 1" },
	{ "/put\r/", "sites growth [7] 1 /put_" },
	{ "G/list\r\033", "sites growth 7 3 | 9 4 [1]" }, // the site that was selected is so again
	{ "\r", "callers growth [7] 3 9 | 4 1 at 0 from 0" },
	{ "j\033[C", "callers growth 7 [3] 9 | 4 1 at 0 from 0" },
	{ "\rjjj", "callers growth [7] 3 9 | 4 1 at 3 from 1" },
	{ "\rG", "callers growth [7] 3 9 | 4 1 at 8 from 6" },
	{ "\r\r", "callers growth [7] 3 9 | 4 1 at 0 from 0" },
	{ "\rjjjb\r", "callers growth [7] 3 9 | 4 1 at 0 from 0" },
	{ "\rs", "callers growth [7] 3 9 | 4 1 at 0 from 0" },
	{ "\rb", "sites growth [7] 3 9 | 4 1" },
	{ "\rbs", "sites live bytes 3 [7] 9 | 4 1" }, // what was looked at
	{ "\r\033[D", "sites growth [7] 3 9 | 4 1" },
	{ "\r\033", "sites growth [7] 3 9 | 4 1" },
	{ "/none\r\r", "sites growth /none" },
	{ "h", "help growth [7] 3 9 | 4 1" },
	{ "?b", "sites growth [7] 3 9 | 4 1" },
	{ "?jG", "help growth [7] 3 9 | 4 1" },
	{ "\r??b", "callers growth [7] 3 9 | 4 1 at 0 from 0" },
	{ "?/", "sites growth [7] 3 9 | 4 1 /_" },
	{ "p", "sites growth [7] 3 9 | 4 1 paused" },
	{ "pp", "sites growth [7] 3 9 | 4 1" },
	{ "q", "sites growth [7] 3 9 | 4 1 done" },
	{ "\rq", "callers growth [7] 3 9 | 4 1 at 0 from 0 done" },
	{ "?q", "help growth [7] 3 9 | 4 1 done" },
	{ "x\001\303\033[Z", "sites growth [7] 3 9 | 4 1" }, // nothing known
};

static void test_keys(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[300], got[400], expected[400];
		struct screen_state top;

		begin(&top);
		CHECK_EQUAL(type(&top, cases[i].typed), TOP_NOTHING);
		describe(&top, text, sizeof(text));
		snprintf(got, sizeof(got), "%zu: %s", i, text);
		snprintf(expected, sizeof(expected), "%zu: %s", i, cases[i].expected);
		CHECK_STRING(got, expected);
	}
}

static void test_requests(void)
{
	struct screen_state top;

	begin(&top);
	CHECK_EQUAL(type(&top, "\014"), TOP_REDRAW);
	CHECK_EQUAL(type(&top, "\032"), TOP_SUSPEND);
	CHECK_EQUAL(type(&top, "/a\032"), TOP_SUSPEND);
	CHECK_STRING(top.state.search, "a");
}

// What is longer than there is room for stays out, and no character in parts.
static void test_long_search(void)
{
	struct screen_state top;

	begin(&top);
	type(&top, "/");
	for (int i = 0; i < 100; i++)
		type(&top, "\303\251");
	CHECK_EQUAL(strlen(top.state.search), 62);
	type(&top, "a\303\251b");
	CHECK_STRING(top.state.search + 60, "\303\251a");
}

// Other rows, and another size, under the same state: what a look and a window do.
static void test_changes(void)
{
	struct screen_state top;
	char text[300];

	begin(&top);
	type(&top, "G");
	top.data.row_count = 4; // the selected one is gone: its place is the last one's
	top_arrange(&top.state, &top.data);
	describe(&top, text, sizeof(text));
	CHECK_STRING(text, "sites growth 7 | 3 9 [4]");
	top.data.row_count = ROWS;
	top_arrange(&top.state, &top.data);
	describe(&top, text, sizeof(text));
	CHECK_STRING(text, "sites growth 7 3 | 9 4 [1]");
	top_resize(&top.state, LINES + 1, 80);
	top_arrange(&top.state, &top.data);
	describe(&top, text, sizeof(text));
	CHECK_STRING(text, "sites growth 7 | 3 9 4 [1]");
	top_resize(&top.state, 2, 10);
	top_arrange(&top.state, &top.data);
	describe(&top, text, sizeof(text));
	CHECK_STRING(text, "sites growth 7 3 9 4 | [1]");
	top_resize(&top.state, 65535, 65535);
	CHECK_EQUAL(top.state.columns, TOP_SCREEN_LARGEST);
	top_arrange(&top.state, &top.data);
	describe(&top, text, sizeof(text));
	CHECK_STRING(text, "sites growth 7 3 9 4 [1]");
	top.data.row_count = top.data.caller_count = 0;
	top_arrange(&top.state, &top.data);
	type(&top, "\rjkGg\033[6~\033[5~b");
	CHECK(!top_selected(&top.state, &top.data) && top.state.sites.selected == 0 && top.state.page == TOP_SITES);
}

int main(void)
{
	test_keys();
	test_requests();
	test_long_search();
	test_changes();
	return CHECK_RESULT();
}
