// SPDX-License-Identifier: Apache-2.0
#include "base/string_table.h"
#include "check.h"

#include <stdlib.h>

static int64_t add(struct string_table *table, const char *text)
{
	int64_t index = -1;

	CHECK(!string_table_add(table, text, &index));
	return index;
}

static void test_numbers(void)
{
	struct string_table table;

	CHECK(!string_table_init(&table));
	CHECK_EQUAL(table.count, 1);
	CHECK_EQUAL(add(&table, ""), 0);
	CHECK_EQUAL(add(&table, NULL), 0);
	CHECK_EQUAL(add(&table, "one"), 1);
	CHECK_EQUAL(add(&table, "two"), 2);
	CHECK_EQUAL(add(&table, "one"), 1);
	CHECK_EQUAL(add(&table, "on"), 3);
	CHECK_STRING(string_table_text(&table, 0), "");
	CHECK_STRING(string_table_text(&table, 2), "two");
	string_table_deinit(&table);
}

// Past each of the first sizes, with long strings among them.
static void test_growth(void)
{
	enum { COUNT = 20000 };
	static char text[100000];
	struct string_table table;
	int wrong = 0;

	CHECK(!string_table_init(&table));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < COUNT; i++) {
			snprintf(text, sizeof(text), "string %d", i);
			wrong += add(&table, text) != i + 1;
		}
	}
	CHECK_EQUAL(table.count, COUNT + 1);
	CHECK_EQUAL(add(&table, ""), 0);
	CHECK_EQUAL(add(&table, NULL), 0);
	memset(text, 'x', sizeof(text) - 1);
	CHECK_EQUAL(add(&table, text), COUNT + 1);
	CHECK_STRING(string_table_text(&table, COUNT + 1), text);
	CHECK_STRING(string_table_text(&table, 123), "string 122");
	CHECK_EQUAL(wrong, 0);
	string_table_deinit(&table);
}

static void test_utf8(void)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "plain", "plain" },
		{ "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\x80", "\\x80" },
		{ "a\xff"
		  "b",
		  "a\\xffb" },
		{ "\xc3", "\\xc3" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, // surrogate
		{ "\x1b]0;x\a", "\\x1b]0;x\\x07" },
		{ "\xe2\x80\xae", "\\u202e" },
	};
	struct string_table table;

	CHECK(!string_table_init(&table));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STRING(string_table_text(&table, (size_t)add(&table, cases[i].text)), cases[i].expected);
	string_table_deinit(&table);
}

int main(void)
{
	test_numbers();
	test_growth();
	test_utf8();
	return CHECK_RESULT();
}
