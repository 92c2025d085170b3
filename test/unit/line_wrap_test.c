// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "views/line_wrap.h"

static const struct {
	const char *text;
	size_t width, expected;
} indents[] = {
	{ "a line", 80, 2 },
	{ "  - a reason", 80, 4 },
	{ "  not recorded     9.9 MiB  older than the attach", 80, 28 },
	{ "  not recorded     9.9 MiB  older than the attach", 40, 19 }, // the column begins in the second half
	{ "", 80, 2 },
	{ "                                        far in", 60, 30 },
};

static const struct {
	const char *text;
	size_t columns;
	const char *expected; // the first line
} fits[] = {
	{ "one two three", 13, "one two three" },
	{ "one two three", 12, "one two" },
	{ "one two three", 7, "one two" },
	{ "one two three", 6, "one" },
	{ "one two three", 2, "one" }, // a word is not cut
	{ "immeasurable", 5, "immeasurable" },
	{ "immeasurable all", 5, "immeasurable" },
	{ "±1 ±2", 5, "±1 ±2" }, // columns, not bytes
	{ "±1 ±2", 4, "±1" },
	{ "", 5, "" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(indents) / sizeof(indents[0]); i++)
		CHECK_EQUAL(line_indent(indents[i].text, indents[i].width), indents[i].expected);
	for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
		char line[100];

		snprintf(line, sizeof(line), "%.*s", (int)line_fit(fits[i].text, fits[i].columns), fits[i].text);
		CHECK_STRING(line, fits[i].expected);
	}
	return CHECK_RESULT();
}
