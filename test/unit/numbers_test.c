// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them (views/numbers.h).
#include "check.h"
#include "views/numbers.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_sizes(void)
{
	static const struct {
		uint64_t value;
		const char *bytes, *grouped, *shorted;
	} cases[] = {
		{ 0, "0 B", "0", "0" },
		{ 999, "999 B", "999", "999" },
		{ 1023, "1023 B", "1,023", "1,023" },
		{ 1024, "1.0 KiB", "1,024", "1,024" },
		{ 9999, "9.8 KiB", "9,999", "9,999" },
		{ 10000, "9.8 KiB", "10,000", "10.0k" },
		{ 47649, "46.5 KiB", "47,649", "47.6k" },
		{ 99949, "97.6 KiB", "99,949", "99.9k" },
		{ 99951, "97.6 KiB", "99,951", "100k" },
		{ 999499, "976.1 KiB", "999,499", "999k" },
		{ 999500, "976.1 KiB", "999,500", "1.00M" },
		{ 1048524, "1023.9 KiB", "1,048,524", "1.05M" },
		{ 1048575, "1.0 MiB", "1,048,575", "1.05M" }, // never 1024.0 KiB
		{ 1234567890, "1.1 GiB", "1,234,567,890", "1.23G" },
		{ UINT64_MAX, "16.0 EiB", "18,446,744,073,709,551,615", "18.4E" },
	};
	char buffer[NUMBER_SIZE];

	for (size_t i = 0; i < COUNT(cases); i++) {
		CHECK_STRING(number_bytes(cases[i].value, buffer), cases[i].bytes);
		CHECK_STRING(number_grouped(cases[i].value, buffer), cases[i].grouped);
		CHECK_STRING(number_short(cases[i].value, buffer), cases[i].shorted);
	}
	CHECK_STRING(number_bytes_signed(0, buffer), "0 B");
	CHECK_STRING(number_bytes_signed(-1536, buffer), "-1.5 KiB");
	CHECK_STRING(number_bytes_signed(17, buffer), "+17 B");
	CHECK_STRING(number_rate(1536, true, buffer), "+1.5 KiB/s");
	CHECK_STRING(number_rate(-17.4, true, buffer), "-17 B/s");
	CHECK_STRING(number_rate(17.6, false, buffer), "18 B/s");
	CHECK_STRING(number_rate(0, true, buffer), "0 B/s");
	CHECK_STRING(number_rate(-1e300, true, buffer), "-8.0 EiB/s");
	CHECK_STRING(number_bytes_signed(INT64_MIN, buffer), "-8.0 EiB");
	CHECK_STRING(number_bytes_of(1536, false, buffer), "1.5 KiB");
	CHECK_STRING(number_bytes_of(1536, true, buffer), "+1.5 KiB");
	CHECK_STRING(number_bytes_of(-1536, false, buffer), "-1.5 KiB");
	CHECK_STRING(number_bytes_of(0, true, buffer), "0 B");
	CHECK_STRING(number_short_of(47600, true, buffer), "+47.6k");
	CHECK_STRING(number_short_of(-5, false, buffer), "-5");
	CHECK_STRING(number_short_of(5, false, buffer), "5");
	CHECK_STRING(number_grouped_of(-12345, false, buffer), "-12,345");
	CHECK_STRING(number_grouped_of(12345, true, buffer), "+12,345");
	CHECK_STRING(number_grouped_of(INT64_MIN, true, buffer), "-9,223,372,036,854,775,808");
}

// A percentage, where the error is not above the value; never 0.
static void test_errors(void)
{
	static const struct {
		int64_t value;
		uint64_t error;
		const char *text;
	} cases[] = {
		{ 1000, 0, "<0.1 %" },   { 100000, 49, "<0.1 %" }, { 100000, 51, "0.1 %" },
		{ 1000, 99, "9.9 %" },   { 1000, 100, "10 %" },    { 10000, 996, "10 %" },
		{ 1000, 1000, "100 %" }, { 1000, 1001, "1001 B" }, { 1000, 9000, "8.8 KiB" },
		{ 0, 2048, "2.0 KiB" },  { -5, 7, "7 B" },         { INT64_MAX, UINT64_MAX, "16.0 EiB" },
	};
	char buffer[NUMBER_SIZE];

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_STRING(number_error(cases[i].value, cases[i].error, buffer), cases[i].text);
}

static void test_durations(void)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 us" },
		{ 999000, "999 us" },
		{ 12340000, "12.3 ms" },
		{ 1000000000, "1 s" },
		{ UINT64_C(119000000000), "119 s" },
		{ UINT64_C(120000000000), "2 min" },
		{ UINT64_C(7200000000000), "2 h" },
		{ UINT64_C(172800000000000), "2 d" },
		{ UINT64_C(864000000000000), "10 d" },
	};
	char buffer[NUMBER_SIZE];

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_STRING(number_duration(cases[i].ns, buffer), cases[i].text);
}

static void test_whole(void)
{
	static const struct {
		double number;
		int64_t whole;
	} cases[] = {
		{ 0, 0 },
		{ 1.4, 1 },
		{ 1.5, 2 },
		{ -1.5, -2 },
		{ 1e18, 1000000000000000000 },
		{ 9.3e18, INT64_MAX },
		{ INFINITY, INT64_MAX },
		{ -9.3e18, INT64_MIN },
		{ -INFINITY, INT64_MIN },
		{ NAN, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQUAL(number_whole(cases[i].number), cases[i].whole);
}

int main(void)
{
	test_whole();
	test_sizes();
	test_errors();
	test_durations();
	return CHECK_RESULT();
}
