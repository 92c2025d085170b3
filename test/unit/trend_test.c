// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "views/trend.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>

enum { VALUES_MOST = 8 };

// One value a second. `says`: r rises, f falls, l levels off, - nothing of these, ? not known.
static const struct {
	const char *name;
	size_t count;
	double values[VALUES_MOST];
	double error; // of each value
	double rate;
	const char *says;
} cases[] = {
	{ "none", 0, { 0 }, 0, 0, "?" },
	{ "one", 1, { 5 }, 0, 0, "?" },
	{ "two", 2, { 0, 5 }, 0, 0, "?" },
	{ "a line of three", 3, { 0, 5, 10 }, 0, 5, "r" },
	{ "three, and not a line", 3, { 0, 0, 10 }, 0, 5, "-" },
	{ "a line", 7, { 10, 20, 30, 40, 50, 60, 70 }, 0, 10, "r" },
	{ "down", 7, { 70, 60, 50, 40, 30, 20, 10 }, 0, -10, "f" },
	{ "flat", 7, { 10, 10, 10, 10, 10, 10, 10 }, 0, 0, "-" },
	{ "one far off", 7, { 0, 10, 20, 900, 40, 50, 60 }, 0, 10, "-" },
	{ "nearly a line", 7, { 0, 11, 19, 31, 39, 52, 60 }, 0, 10, "r" },
	{ "up and down", 7, { 0, 50, 5, 55, 0, 45, 10 }, 0, 1, "-" },
	{ "a line with small errors", 7, { 0, 10, 20, 30, 40, 50, 60 }, 10, 10, "r" },
	{ "a line that errors may be", 7, { 0, 10, 20, 30, 40, 50, 60 }, 15, 10, "-" },
	{ "a step at first", 7, { 0, 80, 80, 80, 80, 80, 80 }, 0, 0, "l" },
	{ "levels off", 7, { 0, 30, 60, 80, 80, 80, 80 }, 0, 12, "rl" },
	{ "levels off late, and so not surely", 7, { 0, 10, 20, 30, 40, 50, 50 }, 0, 10, "r" },
	{ "stops at last, and has not yet for half of the time", 7, { 0, 10, 20, 30, 40, 43, 43 }, 0, 9, "r" },
	{ "levels off by chance", 7, { 0, 30, 60, 80, 80, 80, 80 }, 30, 12, "-" },
	{ "falls back", 7, { 0, 40, 80, 80, 60, 40, 30 }, 0, 0, "-" },
	{ "too few to level off", 4, { 0, 80, 80, 80 }, 0, 13, "-" },
	{ "grows on more slowly", 7, { 0, 30, 60, 80, 90, 100, 110 }, 0, 18, "r" },
	{ "a jump between the halves", 6, { 0, 1, 2, 90, 91, 92 }, 0, 16, "-" },
	{ "all is gone at last", 8, { 0, 10, 20, 30, 40, 50, 60, 3 }, 0, 10, "-" },
	{ "all is back at last", 8, { 60, 50, 40, 30, 20, 10, 0, 59 }, 0, -10, "-" },
	{ "faster in all than in each half", 7, { 0, 40, 10, 50, 60, 95, 65 }, 0, 11, "-" },
};

static const char *say(const struct trend *trend, char *buffer)
{
	size_t at = 0;

	if (trend->rises)
		buffer[at++] = 'r';
	if (trend->falls)
		buffer[at++] = 'f';
	if (trend->levels_off)
		buffer[at++] = 'l';
	if (!trend->is_known)
		buffer[at++] = '?';
	if (!at)
		buffer[at++] = '-';
	buffer[at] = 0;
	return buffer;
}

static void test_fallen(void)
{
	static const double seconds[] = { 0, 1, 2, 3, 4, 5 }, values[] = { 0, 40, 30, 50, 20, 60 };

	CHECK_EQUAL(trend_make(seconds, values, NULL, 6).fallen, 30);
	CHECK_EQUAL(trend_make(seconds, values, NULL, 2).fallen, 0);
	CHECK_EQUAL(trend_make(seconds, values, NULL, 1).fallen, 0);
}

static void test_intervals(void)
{
	static const double seconds[] = { 0, 1, 2, 3, 4, 5 }, values[] = { 0, 0, 30, 30.1, 29, 60 };
	const struct trend trend = trend_make(seconds, values, NULL, 6);

	CHECK_EQUAL(trend.intervals, 5);
	CHECK_EQUAL(trend.risen, 2);
	CHECK_EQUAL(trend.largest, 31);
}

static void test_cases(void)
{
	static const double seconds[VALUES_MOST] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double errors[VALUES_MOST];
		struct trend trend;
		char said[8], got[100], expected[100];

		for (size_t k = 0; k < VALUES_MOST; k++)
			errors[k] = cases[i].error;
		trend = trend_make(seconds, cases[i].values, cases[i].error > 0 ? errors : NULL, cases[i].count);
		snprintf(got, sizeof(got), "%s: %s %.0f", cases[i].name, say(&trend, said), trend.rate);
		snprintf(expected, sizeof(expected), "%s: %s %.0f", cases[i].name, cases[i].says, cases[i].rate);
		CHECK_STRING(got, expected);
	}
}

// What is said of the whole is between what is said of its halves, whatever the values are.
static void test_halves(void)
{
	uint64_t random = 1;

	for (unsigned run = 0; run < 20000; run++) {
		double seconds[VALUES_MOST], values[VALUES_MOST], at = 0;
		const size_t count = 3 + run % (VALUES_MOST - 2);
		struct trend trend;

		for (size_t i = 0; i < count; i++) {
			random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			at += 1 + (double)(random >> 33 & 3);
			seconds[i] = at;
			values[i] = (double)(random >> 40 & 0xffff);
		}
		trend = trend_make(seconds, values, NULL, count);
		if (trend.rate < fmin(trend.early, trend.late) || trend.rate > fmax(trend.early, trend.late)) {
			CHECK_EQUAL(run, UINT_MAX);
			return;
		}
	}
}

// The unit of time, and an offset, change nothing but the unit.
static void test_units(void)
{
	static const double values[] = { 1003, 1011, 1019, 1031, 1039, 1052, 1060 };
	double once[7], later[7];
	struct trend a, b;

	for (size_t i = 0; i < 7; i++) {
		once[i] = (double)i;
		later[i] = 500 + 10 * (double)i;
	}
	a = trend_make(once, values, NULL, 7);
	b = trend_make(later, values, NULL, 7);
	CHECK(fabs(a.rate - 10 * b.rate) < 1e-9);
	CHECK(fabs(a.error - 10 * b.error) < 1e-9);
	CHECK_EQUAL(a.rises, b.rises);
	b = trend_make((const double[]){ 3, 3, 3 }, values, NULL, 3); // no time has passed
	CHECK(!b.is_known && !b.rises && !b.levels_off);
}

int main(void)
{
	test_cases();
	test_fallen();
	test_intervals();
	test_halves();
	test_units();
	return CHECK_RESULT();
}
