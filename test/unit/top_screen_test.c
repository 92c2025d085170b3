// SPDX-License-Identifier: Apache-2.0
// The screens of `top` (cli/top_screen.h), whole: at 80 and 120 columns, at smaller ones, and each page.
#include "check.h"
#include "cli/top_screen.h"

#include <stdlib.h>

#define TEXT(short_name, path, at, skipped)                                                                            \
	{                                                                                                              \
		.name = short_name, .full_name = "", .file = path, .line = at, .via = skipped, .mark = ""              \
	}

// Names are the target's: what is no text is shown as such.
static const struct top_row rows[] = {
	{ 7, 21181235, 47600, 1050000, 10.3 * 1048576, true,
	  TEXT("shop::Cache::put", "/src/shop/leak.cpp", 18, "std::string, unordered_map") },
	{ 3, 9000, 1, 0, 0, false, TEXT("\033[2Jevil\nname", "a\tb.c", 7, "") },
	{ 9, 100, 40, 9000, -512, false, TEXT("libpng.so+0x1234", "", 0, "") },
};
static const struct top_caller callers[] = {
	{ 21181235, 47600, 1, 0, TEXT("shop::Cache::put", "/src/shop/leak.cpp", 18, "") },
	{ 14000000, 30000, 0.661, 1, TEXT("shop::Server::handle", "/src/shop/server.cpp", 40, "") },
	{ 14000000, 30000, 0.661, 1, TEXT("main", "/src/shop/main.cpp", 3, "") },
	{ 7181235, 17600, 0.339, 1, TEXT("shop::Other::handle", "/src/shop/other.cpp", 4, "") },
};

static const struct top_facts facts = {
	.program = "shop",
	.pid = 4242,
	.has_look = true,
	.seconds = 12.4,
	.every = 2,
	.memory = { true, 417333248, 410203750, 0 },
	.anonymous_rate = 11 * 1048576,
	.live = 21190335,
	.error = 1050000,
	.blocks = 47641,
	.rate = 10.3 * 1048576,
	.completeness = "Nothing lost.",
	.message = "",
};

static const struct {
	const char *what;
	struct top_state state;
	bool has_rates, is_estimate;
	const char *message;
	const char *expected;
} cases[] = {
	{ "80 columns",
	  { .lines = 10, .columns = 80 },
	  true,
	  true,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, every 2 s\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0 MiB/s)\n"
	  " Recorded live 20.2 MiB ±5.0 % in 47,641 blocks, +10.3 MiB/s\n"
	  " Nothing lost.\n"
	  "#      live            blocks        growth    site, by growth\n"
	  "#  20.2 MiB ±5.0 %      47.6k   +10.3 MiB/s ↑  shop::Cache::put  leak.cpp:18\n"
	  "   ≥8.8 KiB                 1         0 B/s    \\x1b[2Jevil\\x0aname  a\\x09b.c:7\n"
	  "    about 0 ±8.8 KiB       40      -512 B/s    libpng.so+0x1234\n"
	  " \n"
	  " q quit  s sort  / search  enter callers  p pause  ? help\n" },
	{ "80 columns, exact",
	  { .lines = 10, .columns = 80, .order = TOP_BY_LIVE },
	  true,
	  false,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, every 2 s\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0 MiB/s)\n"
	  " Recorded live 20.2 MiB in 47,641 blocks, +10.3 MiB/s\n"
	  " Nothing lost.\n"
	  "#      live  blocks        growth    site, by live bytes\n"
	  "#  20.2 MiB   47.6k   +10.3 MiB/s ↑  shop::Cache::put  leak.cpp:18\n"
	  "    8.8 KiB       1         0 B/s    \\x1b[2Jevil\\x0aname  a\\x09b.c:7\n"
	  "      100 B      40      -512 B/s    libpng.so+0x1234\n"
	  " \n"
	  " q quit  s sort  / search  enter callers  p pause  ? help\n" },
	{ "120 columns",
	  { .lines = 10, .columns = 120 },
	  true,
	  true,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, every 2 s\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0 MiB/s)\n"
	  " Recorded live 20.2 MiB ±5.0 % in 47,641 blocks, +10.3 MiB/s\n"
	  " Nothing lost.\n"
	  "#      live            blocks        growth    site, by growth\n"
	  "#  20.2 MiB ±5.0 %      47.6k   +10.3 MiB/s ↑  shop::Cache::put  leak.cpp:18   via std::string, unordered_map\n"
	  "   ≥8.8 KiB                 1         0 B/s    \\x1b[2Jevil\\x0aname  a\\x09b.c:7\n"
	  "    about 0 ±8.8 KiB       40      -512 B/s    libpng.so+0x1234\n"
	  " \n"
	  " q quit  s sort  / search  enter callers  p pause  ? help\n" },
	{ "no rates yet, and a message",
	  { .lines = 10, .columns = 80, .is_paused = true, .site = 3, .has_site = true },
	  false,
	  true,
	  "No snapshot: process 4242 would have to be stopped: the removal log overflowed",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, paused\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB)\n"
	  " Recorded live 20.2 MiB ±5.0 % in 47,641 blocks\n"
	  " No snapshot: process 4242 would have to be stopped: the removal log overflowed\n"
	  "#      live            blocks        growth    site, by growth\n"
	  "   20.2 MiB ±5.0 %      47.6k                  shop::Cache::put  leak.cpp:18\n"
	  "#  ≥8.8 KiB                 1                  \\x1b[2Jevil\\x0aname  a\\x09b.c:7\n"
	  "    about 0 ±8.8 KiB       40                  libpng.so+0x1234\n"
	  " \n"
	  " q quit  s sort  / search  enter callers  p pause  ? help\n" },
	{ "50 columns",
	  { .lines = 9, .columns = 50 },
	  true,
	  true,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s,\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0\n"
	  " Recorded live 20.2 MiB ±5.0 % in 47,641 blocks, +1\n"
	  " Nothing lost.\n"
	  "#      live        growth    site, by growth\n"
	  "#  20.2 MiB   +10.3 MiB/s ↑  …:Cache::put  leak.cpp\n"
	  "   ≥8.8 KiB         0 B/s    …vil\\x0aname  a\\x09b.c\n"
	  "    about 0      -512 B/s    libpng.so+0x1234\n"
	  " q quit  s sort  / search  enter callers  p pause\n" },
	{ "30 columns",
	  { .lines = 8, .columns = 30 },
	  true,
	  true,
	  "",
	  "*heapsnap top: shop (PID 4242),\n"
	  " Process RSS 398.0 MiB (anonymo\n"
	  " Recorded live 20.2 MiB ±5.0 %\n"
	  " Nothing lost.\n"
	  "#       growth    site, by grow\n"
	  "#  +10.3 MiB/s ↑  …:Cache::put\n"
	  "         0 B/s    …vil\\x0aname\n"
	  " q quit  s sort  / search  ente\n" },
	{ "too small",
	  { .lines = 4, .columns = 80 },
	  true,
	  true,
	  "",
	  " larger terminal needed (q quits)\n"
	  " \n"
	  " \n"
	  " \n" },
	{ "before the first look",
	  { .lines = 9, .columns = 80 },
	  false,
	  false,
	  "",
	  "*heapsnap top: PID 4242, first snapshot ...\n"
	  " \n"
	  " \n"
	  " \n"
	  "#      live  blocks        growth    site, by growth\n"
	  " \n"
	  " \n"
	  " \n"
	  " q quit  s sort  / search  enter callers  p pause  ? help\n" },
	{ "search",
	  { .lines = 9, .columns = 80, .search = "PUT", .is_typing = true },
	  true,
	  false,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, every 2 s\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0 MiB/s)\n"
	  " Recorded live 20.2 MiB in 47,641 blocks, +10.3 MiB/s\n"
	  " Nothing lost.\n"
	  "#      live  blocks        growth    site, by growth\n"
	  "#  20.2 MiB   47.6k   +10.3 MiB/s ↑  shop::Cache::put  leak.cpp:18\n"
	  " \n"
	  " \n"
	  "*/PUT_  1 of 3 sites (Enter: done, Esc: show all)\n" },
	{ "found",
	  { .lines = 9, .columns = 80, .search = "png" },
	  true,
	  false,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, every 2 s\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0 MiB/s)\n"
	  " Recorded live 20.2 MiB in 47,641 blocks, +10.3 MiB/s\n"
	  " Nothing lost.\n"
	  "#      live  blocks        growth    site, by growth\n"
	  "#     100 B      40      -512 B/s    libpng.so+0x1234\n"
	  " \n"
	  " \n"
	  " 1 of 3 sites match \"png\" (Esc: show all)  ? help\n" },
	{ "callers",
	  { .lines = 11, .columns = 80, .page = TOP_CALLERS, .callers = { 1, 0 } },
	  true,
	  true,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, every 2 s\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0 MiB/s)\n"
	  " Recorded live 20.2 MiB ±5.0 % in 47,641 blocks, +10.3 MiB/s\n"
	  " Nothing lost.\n"
	  "#      live  blocks    share  what allocates, then who calls it\n"
	  "   20.2 MiB   47.6k  100.0 %  shop::Cache::put  leak.cpp:18\n"
	  "#  13.4 MiB   30.0k   66.1 %    shop::Server::handle  server.cpp:40\n"
	  "   13.4 MiB   30.0k   66.1 %    main  main.cpp:3\n"
	  "    6.8 MiB   17.6k   33.9 %    shop::Other::handle  other.cpp:4\n"
	  " \n"
	  " b back  p pause  ? help  q quit\n" },
	{ "callers at 40 columns",
	  { .lines = 11, .columns = 40, .page = TOP_CALLERS },
	  true,
	  true,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 M\n"
	  " Recorded live 20.2 MiB ±5.0 % in 47,641\n"
	  " Nothing lost.\n"
	  "#      live    share  what allocates, the\n"
	  "#  20.2 MiB  100.0 %  …:Cache::put  leak.\n"
	  "   13.4 MiB   66.1 %    …ver::handle  ser\n"
	  "   13.4 MiB   66.1 %    main  main.cpp:3\n"
	  "    6.8 MiB   33.9 %    …her::handle  oth\n"
	  " \n"
	  " b back  p pause  ? help  q quit\n" },
	{ "nothing is left of the site",
	  { .lines = 9, .columns = 80, .page = TOP_CALLERS },
	  true,
	  false,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, every 2 s\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0 MiB/s)\n"
	  " Recorded live 20.2 MiB in 47,641 blocks, +10.3 MiB/s\n"
	  " Nothing lost.\n"
	  "#      live  blocks    share  what allocates, then who calls it\n"
	  " Nothing of this site is live any more (b goes back).\n"
	  " \n"
	  " \n"
	  " b back  p pause  ? help  q quit\n" },
	{ "help",
	  { .lines = 22, .columns = 80, .page = TOP_HELP },
	  true,
	  false,
	  "",
	  "*heapsnap top: shop (PID 4242), recorded for 12 s, every 2 s\n"
	  " Process RSS 398.0 MiB (anonymous 391.2 MiB, +11.0 MiB/s)\n"
	  " Recorded live 20.2 MiB in 47,641 blocks, +10.3 MiB/s\n"
	  " Nothing lost.\n"
	  "#Keys\n"
	  " up down k j     one row          PgUp PgDn ^B ^F space   one page\n"
	  " Home End g G    first, last row\n"
	  " s               sort: growth, live bytes, blocks, name\n"
	  " /               search in names, files and \"via\"; Esc shows all again\n"
	  " Enter           who calls the site            b Esc   back\n"
	  " p               pause: the screen stays, recording goes on\n"
	  " ^L              draw it again     ^Z   suspend\n"
	  " q ^C            quit\n"
	  " \n"
	  " growth          a second, over the last snapshots; ↑: that it grows is sure\n"
	  "                 (more than three standard errors above 0). These come first.\n"
	  " ±               standard error, where blocks are sampled (--exact: none are)\n"
	  " via             what was skipped between the allocator and your code\n"
	  " \n"
	  " \n"
	  " \n"
	  " b back  q quit\n" },
};

// Each line with a mark of its look, "*" bold, "#" reversed, and the spaces at its end left out.
static void describe(const struct screen *screen, char *text, size_t room)
{
	size_t at = 0;

	text[0] = 0;
	for (size_t i = 0; i < screen->count && at < room; i++) {
		const char *line = screen->lines[i].text;
		size_t length = strlen(line);

		while (length > 0 && line[length - 1] == ' ')
			length--;
		at += (size_t)snprintf(text + at, room - at, "%c%.*s\n", " *#"[screen->lines[i].look], (int)length,
				       line);
	}
}

static void test_screen(size_t i, bool is_shown)
{
	struct top_state state = cases[i].state;
	struct top_facts these = facts;
	uint32_t shown[3];
	struct top_data data = { .rows = rows,
				 .row_count = 3,
				 .has_rates = cases[i].has_rates,
				 .is_estimate = cases[i].is_estimate,
				 .shown = shown,
				 .callers = callers,
				 .caller_count = 4 };
	char text[4000];
	struct screen screen;

	these.message = cases[i].message;
	these.has_look = strcmp(cases[i].what, "before the first look") != 0;
	if (!these.has_look) {
		these.program = these.completeness = "";
		data.row_count = 0;
	}
	if (strcmp(cases[i].what, "nothing is left of the site") == 0)
		data.caller_count = 0;
	top_arrange(&state, &data);
	CHECK(!top_draw(&state, &data, &these, &screen));
	CHECK_EQUAL(screen.count, state.lines);
	for (size_t k = 0; k < screen.count; k++)
		CHECK(table_width(screen.lines[k].text) <= state.columns);
	describe(&screen, text, sizeof(text));
	if (is_shown)
		printf("%s\n%s", cases[i].what, text);
	else
		CHECK_STRING(text, cases[i].expected);
	screen_deinit(&screen);
}

// With an argument it shows the screens.
int main(int argc, char **argv)
{
	(void)argv;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		test_screen(i, argc > 1);
	return CHECK_RESULT();
}
