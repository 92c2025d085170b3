// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "hand_profile.h"
#include "views/growth.h"

static const struct hand_place places[] = {
	{ "put", "put(int)", "cache.cpp", 18, "app", FRAME_OWN }, // a
	{ "get", "get", "cache.cpp", 40, "app", FRAME_OWN },      // b
	{ "main", "main", "main.cpp", 3, "app", FRAME_OWN },      // c
	{ "put", "put(int)", "cache.cpp", 25, "app", FRAME_OWN }, // d
};
// The same code in another order: what another dump of the process may have.
static const struct hand_place other_places[] = {
	{ "main", "main", "main.cpp", 3, "app", FRAME_OWN },      // a
	{ "put", "put(int)", "cache.cpp", 18, "app", FRAME_OWN }, // b
	{ "get", "get", "cache.cpp", 40, "app", FRAME_OWN },      // c
	{ "put", "put(int)", "cache.cpp", 25, "app", FRAME_OWN }, // d
};

enum { CUTS = 7, PLACES = 4 };

// One watch of profiles, each with the sites a (leaks), b (comes and goes), and from the third cut on d (once).
struct watch {
	struct hand_profile hands[CUTS];
	struct site_list sites[CUTS];
	struct growth_series series;
	struct growth growth;
};

// What is to be told of cohorts, and is not.
struct untold {
	size_t cut, stopped, short_of; // at this cut: none is; the process was stopped; a's first one is not there
	size_t uncounted;              // untracked frees were not counted
};
static const struct untold all_told = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX };

// Each cohort of a stays, of b the last one is live, d is of the second one.
static size_t put_cohorts(size_t i, const struct untold *untold, struct profile_cohort *ret)
{
	size_t count = 0;

	for (uint32_t n = 1; n <= i; n++)
		if (n > 1 || i != untold->short_of)
			ret[count++] = (struct profile_cohort){ 0, n, { .live_bytes = 10000, .live_objects = 10 } };
	ret[count++] =
		(struct profile_cohort){ 1, (uint32_t)i, { .live_bytes = 500 + (int64_t)i % 2, .live_objects = 5 } };
	ret[count++] = (struct profile_cohort){ 2, 2, { .live_bytes = 3000, .live_objects = 1 } };
	return i < 2 ? count - 1 : count;
}

static void add_cut(struct watch *watch, size_t i, bool is_estimate, const struct untold *untold)
{
	struct profile_cohort cohorts[CUTS + 2];
	const bool is_other = i % 2;
	const int64_t n = (int64_t)i;
	struct hand_sample samples[] = {
		{ is_other ? "ba" : "ac", 10000 * n, 10 * n, 10000 * n, 10 * n, 0 },
		{ is_other ? "ca" : "bc", 500 + n % 2, 5, 40000 * n + 500, 400 * n + 5, 0 },
		{ is_other ? "da" : "dc", 3000, 1, 3000, 1, 0 },
	};
	struct ledger_line ledger[] = { { .name = "unknown_frees", .text = "", .value = 7 * i },
					{ .name = "unknown_free_bytes", .text = "", .value = 100 * i },
					{ .name = "lost_region_full", .text = "", .value = i == 6, .is_loss = true },
					{ .name = "unknown_not_counted", .text = "", .value = 1, .is_fact = true } };
	const struct growth_cut facts = { .seconds = 2 * (double)i, .heap_bytes = 4096 * i };
	struct hand_profile *hand = &watch->hands[i];

	hand_make(hand, is_other ? other_places : places, PLACES, samples, i < 2 ? 2 : 3, 0x10000);
	hand->profile.memory = (struct profile_memory){ true, 1000000 + 30000 * i, 500000 + 20000 * i, 100, 0 };
	hand->profile.ledger = ledger;
	hand->profile.ledger_count = untold && i == untold->uncounted ? 4 : 3;
	hand->profile.is_estimate = is_estimate;
	hand->profile.interval_most = is_estimate ? 50000 : 0;
	if (untold) {
		hand->profile.cut.epoch = i == untold->stopped ? 0 : (uint32_t)(7 + 2 * i);
		hand->profile.cohort_count = put_cohorts(i, untold, cohorts);
		hand->profile.cohorts = i == untold->cut ? NULL : cohorts;
	}
	CHECK(!sites_make(&hand->named, &watch->sites[i]));
	CHECK(!growth_series_add(&watch->series, &facts, &hand->named, &watch->sites[i]));
	hand->profile.ledger = NULL;
	hand->profile.ledger_count = 0;
	hand->profile.cohorts = NULL;
	hand->profile.cohort_count = 0;
}

static void watch_make_told(struct watch *watch, size_t cuts, bool is_estimate, const struct untold *untold)
{
	*watch = (struct watch){ 0 };
	for (size_t i = 0; i < cuts; i++)
		add_cut(watch, i, is_estimate, untold);
	CHECK(!growth_make(&watch->series, &watch->growth));
}

static void watch_make(struct watch *watch, size_t cuts, bool is_estimate)
{
	watch_make_told(watch, cuts, is_estimate, NULL);
}

static void watch_free(struct watch *watch)
{
	growth_deinit(&watch->growth);
	growth_series_deinit(&watch->series);
	for (size_t i = 0; i < CUTS; i++) {
		sites_deinit(&watch->sites[i]);
		hand_free(&watch->hands[i]);
	}
}

static void describe(const struct watch *watch, size_t last, char *text, size_t room)
{
	size_t at = 0;

	text[0] = 0;
	for (size_t i = 0; i < watch->growth.count && at < room; i++) {
		const struct growth_site *site = &watch->growth.sites[i];
		const struct code_place *place = place_of(&watch->hands[last].named, site->site->path[0]);

		at += (size_t)snprintf(text + at, room - at, "%s:%d%s %.0f/s temporary %.0f/s survived %.0f (%.2f)\n",
				       place->name, (int)place->line, site->grows ? " grows" : "", site->speed,
				       site->temporary_rate, site->survived, site->survived_share);
	}
}

static void test_watch(void)
{
	struct watch watch;
	char text[500];
	size_t indices[3];

	watch_make(&watch, CUTS, false);
	CHECK_EQUAL(watch.growth.count, 3);
	describe(&watch, 6, text, sizeof(text));
	CHECK_STRING(text, "put:18 grows 5000/s temporary 0/s survived 30000 (1.00)\n"
			   "put:25 250/s temporary 0/s survived 3000 (1.00)\n"
			   "get:40 0/s temporary 20000/s survived 0 (0.00)\n");
	CHECK_EQUAL(watch.growth.all.live.gained, 63000);
	CHECK_EQUAL(watch.growth.anonymous.rate, 10000);
	CHECK_EQUAL(watch.growth.anonymous.first, 500100);
	CHECK_EQUAL(watch.growth.rss.rate, 15000);
	CHECK_EQUAL(watch.growth.heap.rate, 2048);
	CHECK_EQUAL(watch.growth.untracked_frees_late, 21);
	CHECK_EQUAL(watch.growth.untracked_bytes_late, 300);
	CHECK(watch.growth.memory_is_known && watch.growth.has_losses && !watch.growth.is_estimate);
	CHECK(watch.growth.counts_untracked);
	CHECK_EQUAL(growth_temporary(&watch.growth, indices, 3), 1);
	CHECK_EQUAL(indices[0], 2);
	CHECK_EQUAL(growth_temporary(&watch.growth, indices, 0), 0);
	watch_free(&watch);
}

// An estimate whose interval is as large as what has come shows no growth; one moment shows none, and is no error.
static void test_unsure(void)
{
	struct watch watch;

	watch_make(&watch, CUTS, true);
	for (size_t i = 0; i < watch.growth.count; i++)
		CHECK(!watch.growth.sites[i].grows);
	CHECK(watch.growth.sites[0].live.error > 5000);
	watch_free(&watch);
	watch_make(&watch, 1, false);
	CHECK(!watch.growth.all.live.is_known && !watch.growth.sites[0].grows && watch.growth.all.alloc_rate == 0);
	watch_free(&watch);
}

// What the counters of one look are apart is no churn; what is, says how many blocks came and went.
static void test_temporary(void)
{
	struct watch watch;
	size_t indices[3];
	uint32_t number;

	watch_make(&watch, CUTS, false);
	number = watch.growth.sites[0].number;
	CHECK_EQUAL(watch.growth.sites[2].temporary_blocks_rate, 200);
	CHECK_EQUAL(watch.growth.sites[0].temporary_blocks_rate, 0);
	growth_deinit(&watch.growth);
	watch.series.values[6][number].alloc_bytes += 590;
	CHECK(!growth_make(&watch.series, &watch.growth));
	CHECK_EQUAL(growth_temporary(&watch.growth, indices, 3), 1);
	growth_deinit(&watch.growth);
	watch.series.values[6][number].alloc_bytes += 50;
	watch.series.values[6][number].alloc_objects += 8;
	CHECK(!growth_make(&watch.series, &watch.growth));
	CHECK_EQUAL(growth_temporary(&watch.growth, indices, 3), 2);
	CHECK(fabs(watch.growth.sites[0].speed_error - 4000.0 / 12) < 1); // eight that went: four blocks of 1000 bytes
	watch_free(&watch);
}

// Two blocks are steps, whatever line their bytes lie on.
static void test_few_blocks(void)
{
	struct watch watch;
	uint32_t number;

	watch_make(&watch, CUTS, false);
	number = watch.growth.sites[0].number;
	for (size_t blocks = 2; blocks <= 3; blocks++) {
		growth_deinit(&watch.growth);
		for (size_t i = 0; i < CUTS; i++)
			watch.series.values[i][number].live_objects = watch.series.values[i][number].alloc_objects =
				(double)(i * blocks / (CUTS - 1));
		CHECK(!growth_make(&watch.series, &watch.growth));
		for (size_t i = 0; i < watch.growth.count; i++)
			if (watch.growth.sites[i].number == number)
				CHECK_EQUAL(watch.growth.sites[i].grows, blocks > 2);
	}
	watch_free(&watch);
}

// Of one cut is enough: what was freed before it is in none.
static void test_uncounted(void)
{
	struct untold untold = all_told;
	struct watch watch;

	watch_make_told(&watch, CUTS, false, &untold);
	CHECK(watch.growth.counts_untracked);
	watch_free(&watch);
	untold.uncounted = 1;
	watch_make_told(&watch, CUTS, false, &untold);
	CHECK(!watch.growth.counts_untracked && !watch.growth.is_estimate);
	watch_free(&watch);
	watch_make(&watch, CUTS, true);
	CHECK(!watch.growth.counts_untracked);
	watch_free(&watch);
}

// Every second cut goes, and what is left is as if it had never been there.
static void test_thin(void)
{
	struct watch watch;
	char text[500];

	watch_make(&watch, CUTS, false);
	growth_deinit(&watch.growth);
	growth_series_thin(&watch.series);
	CHECK_EQUAL(watch.series.count, 4);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQUAL(watch.series.cuts[i].seconds, 4 * (double)i);
	CHECK(!growth_make(&watch.series, &watch.growth));
	describe(&watch, 6, text, sizeof(text));
	CHECK_STRING(text, "put:18 grows 5000/s temporary 0/s survived 40000 (1.00)\n"
			   "put:25 250/s temporary 0/s survived 3000 (1.00)\n"
			   "get:40 0/s temporary 20000/s survived 0 (0.00)\n");
	growth_series_thin(&watch.series); // of an even number the last one goes too
	CHECK_EQUAL(watch.series.count, 2);
	CHECK_EQUAL(watch.series.cuts[1].seconds, 8);
	watch_free(&watch);
}

static void describe_cohorts(const struct growth *growth, size_t site, char *text, size_t room)
{
	const struct growth_site *from = &growth->sites[site];
	size_t at = (size_t)snprintf(text, room, "%s, survived %.0f:", survival_kind_name(from->survival.kind),
				     from->survived);

	for (size_t i = 0; i < growth->cuts && from->cohorts && at < room; i++)
		at += (size_t)snprintf(text + at, room - at, " %.0f-%.0f %.0f %.0f %.0f", from->cohorts[i].from,
				       from->cohorts[i].to, from->cohorts[i].allocated, from->cohorts[i].then,
				       from->cohorts[i].bytes);
}

// What is said of a and b.
static const struct {
	const char *name;
	struct untold untold;
	bool thin;
	const char *leaks, *churns;
} told[] = {
	{ "all",
	  { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX },
	  false,
	  "stays, survived 30000: 0-0 0 0 0 0-2 10000 10000 10000 2-4 10000 10000 10000 4-6 10000 10000 10000 6-8 "
	  "10000 10000 10000 8-10 10000 10000 10000 10-12 10000 10000 10000",
	  "unsure, survived 0: 0-0 500 500 0 0-2 40000 501 0 2-4 40000 500 0 4-6 40000 501 0 6-8 40000 500 0 8-10 "
	  "40000 501 0 10-12 40000 500 500" },
	{ "every second cut gone",
	  { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX },
	  true,
	  "unsure, survived 40000: 0-0 0 0 0 0-4 20000 20000 20000 4-8 20000 20000 20000 8-12 20000 20000 20000",
	  "unsure, survived 0: 0-0 500 500 0 0-4 80000 500 0 4-8 80000 500 0 8-12 80000 500 500" },
	{ "one cut does not tell",
	  { 3, SIZE_MAX, SIZE_MAX, SIZE_MAX },
	  false,
	  "unknown, survived 30000:",
	  "unknown, survived 0:" },
	{ "and is gone", { 3, SIZE_MAX, SIZE_MAX, SIZE_MAX }, true, "unsure, survived 40000:", "unsure, survived 0:" },
	{ "one has stopped the process",
	  { SIZE_MAX, 2, SIZE_MAX, SIZE_MAX },
	  false,
	  "unknown, survived 30000:",
	  "unknown, survived 0:" },
	{ "the last one has",
	  { SIZE_MAX, 6, SIZE_MAX, SIZE_MAX },
	  false,
	  "stays, survived 30000:",
	  "unsure, survived 0:" },
	{ "a part of a's blocks is missing",
	  { SIZE_MAX, SIZE_MAX, 4, SIZE_MAX },
	  false,
	  "unknown, survived 30000:",
	  "unsure, survived 0:" },
};

// From the profiles' cohorts to those of sites, and what of these the watch is told of.
static void test_cohorts(void)
{
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		struct watch watch;
		char got[1000], text[600], expected[1000];

		watch_make_told(&watch, CUTS, false, &told[i].untold);
		if (told[i].thin) {
			growth_deinit(&watch.growth);
			growth_series_thin(&watch.series);
			CHECK(!growth_make(&watch.series, &watch.growth));
		}
		describe_cohorts(&watch.growth, 0, text, sizeof(text));
		text[strlen(told[i].leaks)] = 0;
		snprintf(got, sizeof(got), "%s: %s", told[i].name, text);
		snprintf(expected, sizeof(expected), "%s: %s", told[i].name, told[i].leaks);
		CHECK_STRING(got, expected);
		describe_cohorts(&watch.growth, 2, text, sizeof(text));
		text[strlen(told[i].churns)] = 0;
		CHECK_STRING(text, told[i].churns);
		CHECK(watch.growth.sites[0].grows && !watch.growth.sites[0].keeps); // it rises by what stays
		watch_free(&watch);
	}
}

// What the next cut is to tell its blocks by; a window that forgets its first cut does not know them any more.
static void test_epochs(void)
{
	struct watch watch;
	uint32_t epochs[TREND_MOST];

	watch_make_told(&watch, CUTS, false, &all_told);
	CHECK_EQUAL(growth_series_epochs(&watch.series, epochs), CUTS);
	for (size_t i = 0; i < CUTS; i++)
		CHECK_EQUAL(epochs[i], 7 + 2 * i);
	growth_series_thin(&watch.series);
	CHECK_EQUAL(growth_series_epochs(&watch.series, epochs), 4);
	CHECK_EQUAL(epochs[3], 19);
	growth_deinit(&watch.growth);
	growth_series_drop_first(&watch.series);
	CHECK(!growth_make(&watch.series, &watch.growth));
	CHECK_EQUAL(watch.growth.sites[0].survival.kind, SURVIVAL_UNKNOWN);
	CHECK(!watch.growth.sites[0].cohorts);
	watch_free(&watch);
}

// The oldest cuts go one by one; the sites keep their numbers.
static void test_drop_first(void)
{
	struct watch watch;
	char text[500];
	uint32_t number;

	watch_make(&watch, CUTS, false);
	number = watch.growth.sites[0].number;
	growth_deinit(&watch.growth);
	growth_series_drop_first(&watch.series);
	growth_series_drop_first(&watch.series);
	CHECK_EQUAL(watch.series.count, 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_EQUAL(watch.series.cuts[i].seconds, 2 * (double)i);
	CHECK(!growth_make(&watch.series, &watch.growth));
	describe(&watch, 6, text, sizeof(text));
	CHECK_STRING(text, "put:18 grows 5000/s temporary 0/s survived 40000 (1.00)\n"
			   "get:40 0/s temporary 20000/s survived 0 (0.00)\n"
			   "put:25 0/s temporary 0/s survived 3000 (1.00)\n");
	CHECK_EQUAL(watch.growth.sites[0].number, number);
	CHECK(watch.growth.sites[1].number != number && watch.growth.sites[2].number != number);
	growth_deinit(&watch.growth);
	while (watch.series.count)
		growth_series_drop_first(&watch.series);
	watch_free(&watch);
}

// What is a vector, and what is not. Bytes in thousands.
static void test_steps(void)
{
	static const struct {
		const char *name;
		double bytes[CUTS], blocks[CUTS];
		bool in_steps;
	} cases[] = {
		{ "doubles", { 0, 8, 8, 16, 16, 16, 32 }, { 0, 1, 1, 1, 1, 1, 1 }, true },
		{ "one block, once", { 0, 8, 8, 8, 8, 8, 8 }, { 0, 1, 1, 1, 1, 1, 1 }, false },
		{ "one block more each time", { 0, 8, 16, 24, 32, 40, 48 }, { 0, 1, 2, 3, 4, 5, 6 }, false },
		{ "shrinks between", { 0, 8, 16, 8, 16, 16, 32 }, { 0, 1, 1, 1, 1, 1, 1 }, false },
		{ "many blocks", { 0, 8, 8, 16, 16, 16, 32 }, { 0, 9, 9, 9, 9, 9, 9 }, false },
		{ "hardly larger", { 0, 8, 8, 9, 9, 10, 11 }, { 0, 1, 1, 1, 1, 1, 1 }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct growth_series series = { .count = CUTS };
		struct growth growth;
		char got[100], expected[100];

		for (size_t k = 0; k < CUTS; k++) {
			series.cuts[k].seconds = (double)k;
			series.totals[k] = (struct growth_value){ .live_bytes = 1000 * cases[i].bytes[k],
								  .live_objects = cases[i].blocks[k] };
		}
		CHECK(!growth_make(&series, &growth));
		snprintf(got, sizeof(got), "%s: %d", cases[i].name, growth.all.in_steps);
		snprintf(expected, sizeof(expected), "%s: %d", cases[i].name, cases[i].in_steps);
		CHECK_STRING(got, expected);
		growth_deinit(&growth);
		growth_series_deinit(&series);
	}
}

int main(void)
{
	test_watch();
	test_unsure();
	test_temporary();
	test_few_blocks();
	test_uncounted();
	test_thin();
	test_cohorts();
	test_epochs();
	test_drop_first();
	test_steps();
	return CHECK_RESULT();
}
