// SPDX-License-Identifier: Apache-2.0
// Rows of sites (cli/site_rows.c), of a profile made by hand, fitted to widths.
#include "captured.h"
#include "check.h"
#include "made_profile.h"
#include "views/profile_view.h"

#include "../../cli/site_rows.c"

static void check_text(const struct profile_view *view, size_t site, unsigned room, const char *expected)
{
	char *text = NULL;

	CHECK(!site_row_text(&view->named, &view->sites.items[site], room, &text));
	CHECK_STRING(text, expected);
	CHECK(!text || !room || columns(text) <= room || strncmp(text, "…", strlen("…")) == 0);
	free(text);
}

static void test_texts(const struct profile_view *view)
{
	check_text(view, 0, 80, "shop::Cache::put  leak.cpp:18   via vector");
	check_text(view, 0, 42, "shop::Cache::put  leak.cpp:18   via vector");
	check_text(view, 0, 41, "shop::Cache::put  leak.cpp:18"); // what was skipped goes first
	check_text(view, 0, 29, "shop::Cache::put  leak.cpp:18");
	check_text(view, 0, 28, "…op::Cache::put  leak.cpp:18"); // then the beginning of the name
	check_text(view, 0, 10, "…:Cache::put  leak.cpp:18");    // never all of it
	check_text(view, 0, 0, "shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector");
	check_text(view, 2, 80, "plain.so+0x1234");
	check_text(view, 4, 80, "[stack unknown]");
}

static void test_columns(void)
{
	CHECK_EQUAL(columns(""), 0);
	CHECK_EQUAL(columns("abc"), 3);
	CHECK_EQUAL(columns("gr\xc3\xb6\xc3\x9f"
			    "e"),
		    5);
	CHECK_EQUAL(columns("\xff"), 4); // shown as an escape
	CHECK_STRING(end_of("gr\xc3\xb6\xc3\x9f"
			    "e",
			    3),
		     "\xc3\xb6\xc3\x9f"
		     "e");
	CHECK_STRING(end_of("abc", 0), "");
}

static void test_rows(struct profile_view *view, bool is_estimate, size_t limit, const char *expected)
{
	const struct options options = { .quiet = false };
	struct heap_profile profile = made_profile;

	profile.is_estimate = is_estimate;
	profile.period = is_estimate ? 10 : 1;
	view->named.profile = &profile;
	capture_begin();
	CHECK(!site_rows_print(&options, &view->named, &view->sites, limit));
	capture_end();
	CHECK_STRING(captured_errors(), expected);
	view->named.profile = &made_profile;
}

int main(void)
{
	struct frame_rules *rules = NULL;
	struct profile_view view;

	CHECK(!frame_rules_create(&rules));
	CHECK(!profile_view_make(&made_profile, rules, &view));
	test_columns();
	test_texts(&view);
	test_rows(&view, false, 1,
		  "     700 B      7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n");
	test_rows(&view, true, 1,
		  "     700 B ±1.7 %         7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n");
	test_rows(&view, false, 4,
		  "     700 B      7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n"
		  "     300 B      3 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Other::handle < main\n"
		  "      50 B      2 blocks  plain.so+0x1234\n"
		  "       7 B      1 block   malloc\n");
	test_rows(&view, false, 0, "");
	profile_view_deinit(&view);
	frame_rules_destroy(rules);
	return CHECK_RESULT();
}
