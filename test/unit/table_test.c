// SPDX-License-Identifier: Apache-2.0
// Rows of tables (cli/table.c), fitted to widths.
#include "captured.h"
#include "check.h"

#include "../../cli/table.c"

#define PUT .name = "shop::Cache::put", .full_name = "shop::Cache::put(int)", .file = "/src/shop/leak.cpp", .line = 18

static const struct {
	struct table_text text;
	unsigned room;
	const char *expected;
} fits[] = {
	{ { PUT, .via = "vector", .mark = "" }, 80, "shop::Cache::put  leak.cpp:18   via vector" },
	{ { PUT, .via = "vector", .mark = "" }, 42, "shop::Cache::put  leak.cpp:18   via vector" },
	{ { PUT, .via = "vector", .mark = "" }, 41, "shop::Cache::put  leak.cpp:18" }, // what was skipped goes first
	{ { PUT, .via = "vector", .mark = "" }, 29, "shop::Cache::put  leak.cpp:18" },
	{ { PUT, .via = "vector", .mark = "" }, 28, "…op::Cache::put  leak.cpp:18" }, // then the beginning of the name
	{ { PUT, .via = "", .mark = "? " }, 28, "? …::Cache::put  leak.cpp:18" },
	{ { PUT, .via = "vector", .mark = "" }, 10, "…:Cache::put  leak.cpp:18" }, // never all of it
	{ { PUT, .via = "vector", .mark = "" }, 0, "shop::Cache::put(int)  /src/shop/leak.cpp:18   via vector" },
	{ { .name = "plain.so+0x1234", .full_name = "", .file = "", .via = "", .mark = "" }, 80, "plain.so+0x1234" },
	{ { .name = "plain.so+0x1234", .full_name = "", .file = "", .via = "", .mark = "" }, 0, "plain.so+0x1234" },
	{ { .name = "a", .full_name = "", .file = "b.c", .via = "", .mark = "" }, 80, "a  b.c" },
	// a file's name may be of any length
	{ { .name = "put",
	    .full_name = "",
	    .file = "0123456789012345678901234567890123456789.c",
	    .line = 7,
	    .via = "",
	    .mark = "" },
	  40,
	  "put  …901234567890123456789.c:7" },
	// both ends of a chain of calls tell something
	{ { .name = "main > serve > put", .full_name = "", .file = "", .via = "", .mark = "", .has_ends = true },
	  18,
	  "main > serve > put" },
	{ { .name = "main > serve > put", .full_name = "", .file = "", .via = "", .mark = "", .has_ends = true },
	  13,
	  "main >… > put" },
	{ { .name = "gr\xc3\xb6\xc3\x9f"
		    "e > gr\xc3\xb6\xc3\x9f"
		    "e",
	    .full_name = "",
	    .file = "",
	    .via = "",
	    .mark = "",
	    .has_ends = true },
	  12,
	  "gr\xc3\xb6\xc3\x9f"
	  "e… gr\xc3\xb6\xc3\x9f"
	  "e" },
};

static void test_fits(void)
{
	for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
		char *text = NULL;

		CHECK(!table_text_fit(&fits[i].text, fits[i].room, &text));
		CHECK_STRING(text, fits[i].expected);
		CHECK(!text || !fits[i].room || table_width(text) <= fits[i].room || strstr(text, "…"));
		free(text);
	}
}

static void test_columns(void)
{
	CHECK_EQUAL(table_width(""), 0);
	CHECK_EQUAL(table_width("abc"), 3);
	CHECK_EQUAL(table_width("gr\xc3\xb6\xc3\x9f"
				"e"),
		    5);
	CHECK_EQUAL(table_width("\xff"), 4); // shown as an escape
	CHECK_EQUAL(table_width("\t"), 4);
	CHECK_EQUAL(table_width("\xe2\x80\xae"), 6);      // U+202e: an override of the direction
	CHECK_EQUAL(table_width("\xf3\xa0\x81\x81"), 10); // U+e0041: a tag
	CHECK_EQUAL(table_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
	CHECK_EQUAL(table_width("\xf0\x9f\x91\xa9"), 2);
	CHECK_EQUAL(table_beginning("\xe6\xbc\xa2\xe5\xad\x97", 3), 3);
	CHECK_STRING(end_of("\xe6\xbc\xa2\xe5\xad\x97", 3), "\xe5\xad\x97");
	CHECK_STRING(end_of("gr\xc3\xb6\xc3\x9f"
			    "e",
			    3),
		     "\xc3\xb6\xc3\x9f"
		     "e");
	CHECK_STRING(end_of("abc", 0), "");
	CHECK_STRING(end_of("abc", 3), "abc");
	CHECK_EQUAL(table_beginning("gr\xc3\xb6\xc3\x9f", 3), 4);
	CHECK_EQUAL(table_beginning("\xff", 3), 0);
	CHECK_EQUAL(table_beginning("abc", 9), 3);
}

// A name as long as a hostile file may have one is measured once, not once for each of its characters.
static void test_long(void)
{
	enum { LONG = 4 << 20 };
	char *name = malloc(LONG + 1), *text = NULL;

	if (!name)
		exit(1);
	memset(name, 'x', LONG);
	name[LONG] = 0;
	for (int has_ends = 0; has_ends < 2; has_ends++) {
		const struct table_text long_text = {
			.name = name, .full_name = "", .file = "", .via = "", .mark = "", .has_ends = has_ends
		};

		CHECK(!table_text_fit(&long_text, 20, &text));
		CHECK_EQUAL(table_width(text), 20);
		free(text);
	}
	free(name);
}

static void test_rows(void)
{
	const struct options options = { .wide = true };
	struct table table = { .options = &options };
	const struct table_text text = { PUT, .via = "", .mark = "? " };

	table_column(&table, "live", 8);
	table_column(&table, "", -7);
	table_column(&table, "blocks", 4);
	capture_begin();
	CHECK(!table_head(&table, "function"));
	CHECK(!table_row(&table, (const char *[]){ "1 B", "±5 %", "12" }, 0, &text));
	CHECK(!table_row(&table, (const char *[]){ "12345678.9", "", "1" }, 4, &text));
	capture_end();
	CHECK_STRING(captured_output(),
		     "    live         blocks  function\n"
		     "     1 B ±5 %      12  ? shop::Cache::put(int)  /src/shop/leak.cpp:18\n"
		     "12345678.9            1      ? shop::Cache::put(int)  /src/shop/leak.cpp:18\n");
}

int main(void)
{
	test_fits();
	test_columns();
	test_long();
	test_rows();
	return CHECK_RESULT();
}
