// SPDX-License-Identifier: Apache-2.0
#include "base/range_index.h"
#include "check.h"

int main(void)
{
	// The value of each is its place here.
	static const uint64_t ranges[][2] = {
		{ 0x5000, 0x6000 },     { 0x1000, 0x2000 }, { 0x3000, 0x3000 }, // empty
		{ 0x4000, 0x3000 },                                             // reversed
		{ 0x1800, 0x1900 },                                             // inside 1
		{ 0x1000, 0x1100 },                                             // inside 1, from its begin
		{ 0x2000, 0x2800 },                                             // right behind 1
		{ 0x8000, UINT64_MAX },
	};
	static const struct {
		uint64_t address;
		int value; // -1 = none
	} cases[] = {
		{ 0, -1 },      { 0xfff, -1 },  { 0x1000, 5 },         { 0x10ff, 5 },      { 0x1100, 1 },
		{ 0x17ff, 1 },  { 0x1800, 4 },  { 0x18ff, 4 },         { 0x1900, 1 },      { 0x1fff, 1 },
		{ 0x2000, 6 },  { 0x2800, -1 }, { 0x3000, -1 },        { 0x3800, -1 },     { 0x5000, 0 },
		{ 0x6000, -1 }, { 0x8000, 7 },  { UINT64_MAX - 1, 7 }, { UINT64_MAX, -1 },
	};
	struct range_index index = { 0 };
	size_t value;

	CHECK(!range_index_find(&index, 0, &value));
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		CHECK(!range_index_add(&index, ranges[i][0], ranges[i][1], i));
	range_index_sort(&index);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int found = range_index_find(&index, cases[i].address, &value) ? (int)value : -1;

		CHECK_EQUAL(found, cases[i].value);
	}
	range_index_deinit(&index);
	return CHECK_RESULT();
}
