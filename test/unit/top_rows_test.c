// SPDX-License-Identifier: Apache-2.0
// From a look to the rows of `top` (cli/top_rows.h), of profiles made by hand.
#include "check.h"
#include "cli/top_rows.h"
#include "hand_profile.h"

static const struct hand_place places[] = {
	{ "put", "put(int)", "cache.cpp", 18, "app", FRAME_OWN },                             // a
	{ "serve", "serve", "serve.cpp", 7, "app", FRAME_OWN },                               // b
	{ "main", "main", "main.cpp", 3, "app", FRAME_OWN },                                  // c
	{ "load", "load", "image.cpp", 5, "app", FRAME_OWN },                                 // d
	{ "std::vector", "std::vector<int>::push_back", "vec.h", 9, "app", FRAME_CONTAINER }, // e
	{ "lib", "lib", "lib.c", 1, "lib.so", FRAME_LIBRARY },                                // f
	{ "other", "other", "lib.c", 8, "lib.so", FRAME_LIBRARY },                            // g
};
enum { PLACES = sizeof(places) / sizeof(places[0]), CUTS = 3 };

static void add_cut(struct hand_profile *hand, struct site_list *sites, struct growth_series *series, size_t i)
{
	const int64_t n = (int64_t)i;
	const struct hand_sample samples[] = {
		{ "eafbc", 20000 * n, 20 * n, 20000 * n, 20 * n, 0 },
		{ "eagbc", 10000 * n, 10 * n, 10000 * n, 10 * n, 0 },
		{ "dc", 70000, 1, 70000, 1, 0 },
		{ "bc", 0, 0, 500 * n, 5 * n, 0 }, // temporary
	};
	const struct growth_cut facts = { .seconds = 2 * (double)i };

	hand_make(hand, places, PLACES, samples, 4, 0x10000);
	hand->profile.memory = (struct profile_memory){ true, 1000000 + 40000 * i, 500000 + 30000 * i, 0, 0 };
	hand->profile.program = (char *)"/opt/app";
	hand->profile.pid = 12;
	hand->profile.duration_ns = 5000000000;
	CHECK(!sites_make(&hand->named, sites));
	CHECK(!growth_series_add(series, &facts, &hand->named, sites));
}

static void describe(const struct top_rows *rows, char *text, size_t room)
{
	size_t at = 0;

	text[0] = 0;
	for (size_t i = 0; i < rows->data.row_count && at < room; i++)
		at += (size_t)snprintf(text + at, room - at, "%s %.0f %.0f %+.0f/s%s %s\n", rows->rows[i].text.name,
				       rows->rows[i].live, rows->rows[i].blocks, rows->rows[i].rate,
				       rows->rows[i].grows ? " grows" : "", rows->rows[i].text.via);
	for (size_t i = 0; i < rows->data.caller_count && at < room; i++)
		at += (size_t)snprintf(text + at, room - at, "%u %s:%d %.0f %.0f %.2f\n", rows->callers[i].level,
				       rows->callers[i].text.name, (int)rows->callers[i].text.line,
				       rows->callers[i].live, rows->callers[i].blocks, rows->callers[i].share);
}

int main(void)
{
	struct hand_profile hands[CUTS];
	struct site_list sites[CUTS];
	struct growth_series series = { 0 };
	struct growth growth;
	struct top_rows rows = { 0 };
	struct top_facts facts;
	char text[600];

	for (size_t i = 0; i < CUTS; i++)
		add_cut(&hands[i], &sites[i], &series, i);
	CHECK(!growth_make(&series, &growth));
	CHECK(!top_rows_make(&hands[2].named, &growth, &rows));
	CHECK(rows.data.has_rates && !rows.data.is_estimate);
	describe(&rows, text, sizeof(text));
	CHECK_STRING(text, "put 60000 60 +15000/s grows std::vector\n"
			   "load 70000 1 +0/s \n");
	CHECK(!top_rows_callers(&hands[2].named, &growth, rows.rows[0].number, &rows));
	rows.data.row_count = 0;
	describe(&rows, text, sizeof(text));
	CHECK_STRING(text, "0 put:18 60000 60 1.00\n"
			   "1 lib:1 40000 40 0.67\n"
			   "1 serve:7 40000 40 0.67\n" // the only way goes on at its level
			   "1 main:3 40000 40 0.67\n"
			   "1 other:8 20000 20 0.33\n"
			   "1 serve:7 20000 20 0.33\n"
			   "1 main:3 20000 20 0.33\n");
	CHECK(!top_rows_callers(&hands[2].named, &growth, 12345, &rows)); // a site that is gone
	CHECK_EQUAL(rows.data.caller_count, 0);
	facts = top_facts_of(&hands[2].named, &growth);
	CHECK_STRING(facts.program, "app");
	CHECK_EQUAL(facts.pid, 12);
	CHECK_EQUAL(facts.rate, 15000);
	CHECK_EQUAL(facts.anonymous_rate, 15000);
	CHECK_EQUAL(facts.live, 130000);
	CHECK_EQUAL(facts.seconds, 5);
	top_rows_deinit(&rows);
	growth_deinit(&growth);
	growth_series_deinit(&series);
	for (size_t i = 0; i < CUTS; i++) {
		sites_deinit(&sites[i]);
		hand_free(&hands[i]);
	}
	return CHECK_RESULT();
}
