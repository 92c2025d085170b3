// SPDX-License-Identifier: Apache-2.0
// How far apart the looks for a peak are.
#include "lib/peak.h"

#include "check.h"

#define MS UINT64_C(1000000)

int main(void)
{
	static const struct {
		uint64_t passed, cost, apart; // ms
	} cases[] = {
		{ 0, 0, 20 },           { 19999, 2, 20 },        { 30000, 2, 30 }, // a thousandth of the time
		{ 30000, 4, 40 },                                                  // a tenth of a processor
		{ 10000000, 99, 1000 }, { 10000000, 300, 3000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQUAL(hs_peak_apart(cases[i].passed * MS, cases[i].cost * MS) / MS, cases[i].apart);
	return CHECK_RESULT();
}
