// SPDX-License-Identifier: Apache-2.0
#include "lib/cut_times.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

// Milliseconds.
static const struct {
	const char *name;
	uint64_t time, cost; // of each cut but the first
	uint64_t end;        // of the watch, which may come early
	const char *expected;
} cases[] = {
	{ "a minute", 60000, 20, 60000, "0 5000 10000 15000 20000 25000 30000 35000 40000 45000 50000 55000 60000 " },
	{ "a minute, ended early", 60000, 20, 3000, "0 625 1250 1875 2500 " },
	{ "a minute, ended half-way", 60000, 20, 31000, "0 5000 10000 15000 20000 25000 30000 " },
	{ "a minute, dear cuts", 60000, 1000, 60000, "0 5000 13750 20000 28750 34375 40000 45000 50000 55000 60000 " },
	{ "cuts that take longer than the time between them", 6000, 1500, 6000, "0 500 3000 5000 6000 " },
	{ "a cut that takes longer than all", 1000, 1500, 1000, "0 166 1000 " },
	{ "short", 600, 1, 600, "0 100 200 300 400 500 600 " },
	{ "six seconds", 6000, 20, 6000, "0 500 1000 1500 2000 2500 3000 3500 4000 4500 5000 5500 6000 " },
	{ "what divisions leave over", 1000, 0, 1000, "0 166 333 499 666 833 1000 " },
};

// As a watch goes: the moments at which the cuts were begun that are left at its end.
static void watch(size_t i, char *text, size_t room)
{
	const uint64_t ms = 1000000, began = 77 * ms;
	struct cut_times times = cut_times_make(began, cases[i].time * ms);
	uint64_t cuts[CUT_TIMES_MOST], now, at = began;
	uint64_t cost = 0; // time is counted from the end of the first one
	size_t count = 0, length = 0;

	for (;;) {
		cuts[count++] = at;
		now = at + cost;
		if (at == times.ends)
			break;
		if (count == CUT_TIMES_MOST) {
			for (size_t k = 0; k < CUT_TIMES_MOST; k += 2)
				cuts[k / 2] = cuts[k];
			count = CUT_TIMES_LEAST;
			cut_times_spread(&times);
		}
		at = cut_times_next(&times, now, cost);
		cost = cases[i].cost * ms;
		CHECK((at > now || now >= times.ends) && at <= times.ends);
		if (at > began + cases[i].end * ms)
			break;
	}
	for (size_t k = 0; k < count; k++)
		length += (size_t)snprintf(text + length, room - length, "%" PRIu64 " ", (cuts[k] - began) / ms);
}

int main(void)
{
	const struct cut_times none = cut_times_make(5, 1);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[300], got[400], expected[400];

		watch(i, text, sizeof(text));
		snprintf(got, sizeof(got), "%s: %s", cases[i].name, text);
		snprintf(expected, sizeof(expected), "%s: %s", cases[i].name, cases[i].expected);
		CHECK_STRING(got, expected);
	}
	CHECK_EQUAL(cut_times_next(&none, 5, 0), 6);
	return CHECK_RESULT();
}
