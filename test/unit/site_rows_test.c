// SPDX-License-Identifier: Apache-2.0
// Rows of sites (cli/site_rows.c), of a profile made by hand, fitted to widths.
#include "captured.h"
#include "check.h"
#include "made_profile.h"
#include "views/profile_view.h"

#include "../../cli/site_rows.c"

static enum values_order order = ORDER_LIVE;
static int64_t interval = 10;

static void test_rows(struct profile_view *view, bool is_estimate, size_t limit, const char *expected)
{
	const struct options options = { .view = { .order = order } };
	struct heap_profile profile = made_profile;

	profile.is_estimate = is_estimate;
	profile.period = is_estimate ? interval : 1;
	view->named.profile = &profile;
	capture_begin();
	CHECK(!site_rows_print(&options, &view->named, &view->sites, limit));
	capture_end();
	CHECK_STRING(captured_output(), expected);
	view->named.profile = &made_profile;
}

int main(void)
{
	struct frame_rules *rules = NULL;
	struct profile_view view;

	CHECK(!frame_rules_create(&rules));
	CHECK(!profile_view_make(&made_profile, rules, &view));
	test_rows(&view, false, 1,
		  "     700 B      7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n"
		  "     360 B in 4 other sites (--limit 0 for all)\n");
	test_rows(&view, true, 1,
		  "     700 B ±1.7 %         7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n"
		  "    ≥360 B in 4 other sites (--limit 0 for all)\n");
	test_rows(&view, false, 4,
		  "     700 B      7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n"
		  "     300 B      3 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Other::handle < main\n"
		  "      50 B      2 blocks  plain.so+0x1234\n"
		  "       7 B      1 block   malloc\n"
		  "       3 B in 1 other site (--limit 0 for all)\n");
	test_rows(&view, false, 0, "");
	// what says no more than its error is left out, unless all are asked for; what was recorded exactly stays
	interval = 400;
	view.sites.items[1].values.live_bytes_variance = 1;
	test_rows(&view, true, 2,
		  "     700 B ±57 %          7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n"
		  "     ≥50 B                2 blocks  plain.so+0x1234\n"
		  "    ~310 B in 3 other sites (--limit 0 for all)\n");
	interval = 701;
	test_rows(&view, true, SIZE_MAX,
		  "   about 0 ±701 B         7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n"
		  "   about 0 ±701 B         3 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Other::handle < main\n"
		  "     ≥50 B                2 blocks  plain.so+0x1234\n"
		  "      ≥7 B                1 block   malloc\n"
		  "      ≥3 B                3 blocks  [stack unknown]\n");
	order = ORDER_ALLOCATED; // what is not live any more is shown, too; without an error it is not exact
	test_rows(&view, true, 1,
		  " allocated                site\n"
		  "    ~700 B     ~7 blocks  shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector\n"
		  "        < shop::Server::handle < main\n"
		  "    ~369 B in 5 other sites (--limit 0 for all)\n");
	profile_view_deinit(&view);
	frame_rules_destroy(rules);
	return CHECK_RESULT();
}
