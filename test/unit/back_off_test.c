// SPDX-License-Identifier: Apache-2.0
// The times that a back-off gives, one after the other.
#include "base/back_off.h"

#include "check.h"

#include <limits.h>
#include <stddef.h>

enum { TIMES = 6 };

static void test_times(void)
{
	static const struct {
		struct back_off back_off;
		unsigned times[TIMES];
	} cases[] = {
		{ { 500, 4000 }, { 500, 1000, 2000, 4000, 4000, 4000 } },
		{ { 500, 3000 }, { 500, 1000, 2000, 3000, 3000, 3000 } },
		{ { 1, 5 }, { 1, 2, 4, 5, 5, 5 } },
		{ { 7, 7 }, { 7, 7, 7, 7, 7, 7 } },
		{ { 9, 7 }, { 9, 7, 7, 7, 7, 7 } },
		{ { 0, 7 }, { 0, 0, 0, 0, 0, 0 } },
		// twice the time is more than the type holds
		{ { UINT_MAX / 2 + 1, UINT_MAX },
		  { UINT_MAX / 2 + 1, UINT_MAX, UINT_MAX, UINT_MAX, UINT_MAX, UINT_MAX } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct back_off back_off = cases[i].back_off;

		for (size_t j = 0; j < TIMES; j++)
			CHECK_EQUAL(back_off_next(&back_off), cases[i].times[j]);
	}
}

int main(void)
{
	test_times();
	return CHECK_RESULT();
}
