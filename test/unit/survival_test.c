// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "views/survival.h"

#include <math.h>

enum { CUTS = 7, COHORTS = CUTS - 1, LOOKED = 4 };

static const double KIB = 1024;

// A cut each 10 seconds. In KiB, of each cohort from 1 on: what was live at the cut after its birth, at the fifth cut
// (that is 40 s), and at the last one. Where all three would be the same, `now` alone is given.
static const struct survival_case {
	const char *name;
	double first[COHORTS], then[LOOKED], now[COHORTS];
	double block;     // KiB a block; 0 = 1
	double large;     // KiB: one more block of the second cohort, which goes between these two cuts
	double floor;     // KiB: of an estimate, whose records are of so much each; 0 = exact
	bool downsampled; // between the two cuts
	size_t cuts;      // 0 = all
	enum survival_kind kind;
	double rate; // KiB a second
} cases[] = {
	{ .name = "leak", .now = { 640, 640, 640, 640, 640, 640 }, .kind = SURVIVAL_STAYS, .rate = 64 },
	{ .name = "leak amid churn",
	  .first = { 90000, 90000, 90000, 90000, 90000, 90000 },
	  .then = { 640, 640, 640, 90000 },
	  .now = { 640, 640, 640, 640, 640, 90000 },
	  .kind = SURVIVAL_STAYS,
	  .rate = 64 },
	{ .name = "leak amid churn that lives for long: the oldest ones show it",
	  .first = { 90000, 90000, 90000, 90000, 90000, 90000 },
	  .then = { 640, 640, 9000, 90000 },
	  .now = { 640, 640, 640, 640, 9000, 90000 },
	  .kind = SURVIVAL_STAYS,
	  .rate = 64 },
	{ .name = "so long that no cohort is old enough",
	  .first = { 90000, 90000, 90000, 90000, 90000, 90000 },
	  .then = { 640, 9000, 40000, 90000 },
	  .now = { 640, 640, 640, 9000, 40000, 90000 },
	  .kind = SURVIVAL_GOES },
	{ .name = "churn",
	  .first = { 90000, 90000, 90000, 90000, 90000, 90000 },
	  .then = { 0, 0, 0, 90000 },
	  .now = { 0, 0, 0, 0, 0, 90000 },
	  .kind = SURVIVAL_GOES },
	{ .name = "cache with a bound: random ones go",
	  .first = { 9000, 9000, 9000, 9000, 9000, 9000 },
	  .then = { 448, 1218, 3311, 9000 },
	  .now = { 61, 165, 448, 1218, 3311, 9000 },
	  .kind = SURVIVAL_GOES },
	{ .name = "so slowly that it takes the watch four times",
	  .first = { 1000, 1000, 1000, 1000, 1000, 1000 },
	  .then = { 882, 920, 959, 1000 },
	  .now = { 811, 846, 882, 920, 959, 1000 },
	  .kind = SURVIVAL_STAYS,
	  .rate = 84.6 },
	{ .name = "cache with a bound: the oldest ones go",
	  .first = { 9000, 9000, 9000, 9000, 9000, 9000 },
	  .then = { 9000, 9000, 9000, 9000 },
	  .now = { 0, 0, 9000, 9000, 9000, 9000 },
	  .kind = SURVIVAL_GOES },
	{ .name = "leak, and a large block that is replaced by a larger one",
	  .now = { 640, 640, 640, 640, 640, 1640 },
	  .block = .05,
	  .large = 500,
	  .kind = SURVIVAL_UNSURE },
	{ .name = "loaded once", .now = { 9000, 10, 0, 0, 0, 0 }, .kind = SURVIVAL_UNSURE },
	{ .name = "loaded for half of the time", .now = { 900, 900, 900, 0, 0, 0 }, .kind = SURVIVAL_UNSURE },
	{ .name = "and some more at last", .now = { 900, 900, 900, 0, 0, 900 }, .kind = SURVIVAL_UNSURE },
	{ .name = "not before half of the time", .now = { 0, 0, 0, 900, 900, 900 }, .kind = SURVIVAL_UNSURE },
	{ .name = "leak in bursts", .now = { 500, 700, 500, 700, 500, 700 }, .kind = SURVIVAL_STAYS, .rate = 60 },
	{ .name = "a few bytes", .now = { 1, 1, 1, 1, 1, 1 }, .kind = SURVIVAL_UNSURE },
	{ .name = "a few blocks", .now = { 640, 640, 640, 640, 640, 640 }, .block = 640, .kind = SURVIVAL_UNSURE },
	{ .name = "a few blocks more, of which two go: as many as go by chance of those that all go in time",
	  .then = { 704, 704, 704, 640 },
	  .now = { 640, 640, 640, 640, 640, 640 },
	  .block = 96,
	  .kind = SURVIVAL_UNSURE },
	{ .name = "of many blocks a tenth may go",
	  .then = { 704, 704, 704, 640 },
	  .now = { 640, 640, 640, 640, 640, 640 },
	  .kind = SURVIVAL_STAYS,
	  .rate = 64 },
	{ .name = "nothing", .kind = SURVIVAL_UNSURE },
	{ .name = "estimate that is sure",
	  .now = { 640, 640, 640, 640, 640, 640 },
	  .floor = 16,
	  .kind = SURVIVAL_STAYS,
	  .rate = 64 },
	{ .name = "estimate of which some is gone, and how much is not sure",
	  .then = { 640, 640, 640, 640 },
	  .now = { 560, 540, 540, 640, 640, 640 },
	  .floor = 30,
	  .kind = SURVIVAL_UNSURE },
	{ .name = "estimate of a few records",
	  .now = { 640, 640, 640, 640, 640, 640 },
	  .floor = 320,
	  .kind = SURVIVAL_UNSURE },
	{ .name = "churn that may be there, though no record is",
	  .first = { 900, 900, 900, 900, 900, 900 },
	  .now = { 0, 0, 0, 0, 0, 900 },
	  .floor = 300,
	  .kind = SURVIVAL_UNSURE },
	{ .name = "downsampled, and sure all the same",
	  .then = { 600, 680, 640, 640 },
	  .now = { 620, 660, 630, 640, 640, 640 },
	  .floor = 16,
	  .downsampled = true,
	  .kind = SURVIVAL_STAYS,
	  .rate = 64 },
	{ .name = "downsampled: what is gone may be chance, and so may be what is not",
	  .then = { 640, 640, 640, 640 },
	  .now = { 640, 640, 640, 640, 640, 640 },
	  .floor = 64,
	  .downsampled = true,
	  .kind = SURVIVAL_UNSURE },
	{ .name = "the same, and nothing was downsampled",
	  .then = { 640, 640, 640, 640 },
	  .now = { 640, 640, 640, 640, 640, 640 },
	  .floor = 64,
	  .kind = SURVIVAL_STAYS,
	  .rate = 64 },
	{ .name = "four cuts", .now = { 640, 640, 640 }, .cuts = 4, .kind = SURVIVAL_UNSURE },
	{ .name = "one cut", .cuts = 1, .kind = SURVIVAL_UNSURE },
};

static bool is_given(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] > 0)
			return true;
	return false;
}

static struct cohort_value value_of(const struct survival_case *from, double kib)
{
	return (struct cohort_value){ kib * KIB, kib / (from->block > 0 ? from->block : 1),
				      kib * KIB * from->floor * KIB };
}

static void make_table(const struct survival_case *from, struct cohort_table *table, struct cohort_value *values)
{
	const size_t cuts = from->cuts ? from->cuts : CUTS;

	*table = (struct cohort_table){ .cuts = cuts, .values = values };
	for (size_t cut = 0; cut < cuts; cut++) {
		table->seconds[cut] = 10 * (double)cut;
		table->floor[cut] = from->floor * KIB;
		table->downsampled[cut] = from->downsampled && cut > LOOKED ? 100 : 0;
		for (size_t i = 0; i < cuts; i++)
			values[cut * cuts + i] = (struct cohort_value){ 0 };
		for (size_t i = 1; i <= cut; i++) {
			const double now = from->now[i - 1],
				     first = is_given(from->first, COHORTS) ? from->first[i - 1] : now,
				     then = is_given(from->then, LOOKED) && i <= LOOKED ? from->then[i - 1] : now;

			values[cut * cuts + i] = value_of(from, cut + 1 == cuts ? now : cut == i ? first : then);
			if (cut == LOOKED && i == 2 && from->large > 0) {
				values[cut * cuts + i].bytes += from->large * KIB;
				values[cut * cuts + i].blocks++;
			}
		}
	}
}

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cohort_value values[CUTS * CUTS];
		struct cohort_table table;
		struct survival survival;
		char got[200], expected[200];

		make_table(&cases[i], &table, values);
		survival = survival_judge(&table);
		snprintf(got, sizeof(got), "%s: %s %.0f", cases[i].name, survival_kind_name(survival.kind),
			 survival.kind == SURVIVAL_STAYS ? survival.rate / KIB : 0);
		snprintf(expected, sizeof(expected), "%s: %s %.0f", cases[i].name, survival_kind_name(cases[i].kind),
			 cases[i].rate);
		CHECK_STRING(got, expected);
		CHECK(isfinite(survival.rate) && isfinite(survival.blocks_a_second) && survival_share(&survival) <= 1);
	}
}

// What is said of the cohorts beside that.
static void test_figures(void)
{
	struct cohort_value values[CUTS * CUTS];
	struct cohort_table table;
	struct survival survival;

	make_table(&cases[2], &table, values);
	survival = survival_judge(&table);
	CHECK_EQUAL(survival.born, 2);
	CHECK_EQUAL(survival.looked, LOOKED);
	CHECK_EQUAL(survival.then, 1280 * 1024);
	CHECK_EQUAL(survival.now, 1280 * 1024);
	CHECK_EQUAL(survival.blocks_a_second, 64);
	CHECK_EQUAL(survival_share(&survival), 1);
	make_table(&cases[7], &table, values);
	survival = survival_judge(&table);
	CHECK_EQUAL(survival.born, 3);
	CHECK_EQUAL(survival.then, 27000 * 1024);
	CHECK_EQUAL(survival.now, 9000 * 1024);
}

// Of cuts that lie unevenly the times count, and not the numbers; with as many as there may be.
static void test_uneven(void)
{
	static struct cohort_value values[TREND_MOST * TREND_MOST];
	struct cohort_table table = { .cuts = TREND_MOST, .values = values };
	struct survival survival;

	for (size_t cut = 0; cut < TREND_MOST; cut++) {
		table.seconds[cut] = cut < TREND_MOST / 2 ? (double)cut : (double)(cut * 3 - TREND_MOST);
		for (size_t i = 1; i <= cut; i++)
			values[cut * TREND_MOST + i] =
				(struct cohort_value){ 1e6 * (table.seconds[i] - table.seconds[i - 1]), 100, 0 };
	}
	survival = survival_judge(&table);
	CHECK_EQUAL(survival.kind, SURVIVAL_STAYS);
	CHECK(fabs(survival.rate - 1e6) < 1);
	CHECK(table.seconds[survival.born] <= 0.55 * table.seconds[TREND_MOST - 1]);
	CHECK(table.seconds[survival.looked] <= 0.8 * table.seconds[TREND_MOST - 1]);
	CHECK(survival.born < survival.looked);
	// All at one moment: no time to tell anything by.
	for (size_t cut = 0; cut < TREND_MOST; cut++)
		table.seconds[cut] = 0;
	survival = survival_judge(&table);
	CHECK_EQUAL(survival.kind, SURVIVAL_UNSURE);
}

int main(void)
{
	test_cases();
	test_figures();
	test_uneven();
	return CHECK_RESULT();
}
