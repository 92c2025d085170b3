// SPDX-License-Identifier: Apache-2.0
// The writer of JSON. With --print the whole object goes to standard output, for a real parser (json_check.py).
#include "base/json.h"
#include "check.h"

#include <stdlib.h>

static const struct {
	const char *text, *written;
} strings[] = {
	{ "", "" },
	{ "plain /path", "plain /path" },
	{ "\"quoted\\\"", "\\\"quoted\\\\\\\"" },
	{ "\n\t\r\b\x01\x1f\x7f", "\\u000a\\u0009\\u000d\\u0008\\u0001\\u001f\\u007f" },
	{ "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
	// The first and last of each length (RFC 3629).
	{ "\xc2\x80\xc2\xa0\xdf\xbf", "\\u0080\xc2\xa0\xdf\xbf" },
	{ "\xe0\xa0\x80\xef\xbf\xbf\xef\xbf\xbd", "\xe0\xa0\x80\\uffff\xef\xbf\xbd" },
	{ "\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80" },
	{ "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xf3\xa0\x80\x81", "\xf0\x90\x80\x80\\udbff\\udfff\\udb40\\udc01" },
	// What a terminal acts on: an 8-bit CSI as a character, an override of direction, a line separator.
	{ "\xc2\x9b"
	  "31m \xe2\x80\xae \xe2\x80\xa8",
	  "\\u009b31m \\u202e \\u2028" },
	// Each byte that begins nothing, as text.
	{ "\x80", "\\\\x80" },
	{ "\xc3", "\\\\xc3" },
	{ "a\xc3(", "a\\\\xc3(" },
	{ "\xff\xfe", "\\\\xff\\\\xfe" },
	{ "\xc0\x80", "\\\\xc0\\\\x80" }, // longer forms
	{ "\xe0\x9f\xbf", "\\\\xe0\\\\x9f\\\\xbf" },
	{ "\xed\xa0\x80", "\\\\xed\\\\xa0\\\\x80" },            // a surrogate
	{ "\xf4\x90\x80\x80", "\\\\xf4\\\\x90\\\\x80\\\\x80" }, // above U+10FFFF
	{ "\xf0\x9f\x98", "\\\\xf0\\\\x9f\\\\x98" },            // cut by the end
	{ "\xe2\x82\xc3\xa9", "\\\\xe2\\\\x82\xc3\xa9" },
	{ "\xe2\"", "\\\\xe2\\\"" }, // a quote is never taken for a part of a character
};
enum { STRINGS = sizeof(strings) / sizeof(strings[0]) };

static void write_all(FILE *file)
{
	struct json json;

	json_begin(&json, file);
	json_open(&json, "strings", '[');
	for (size_t i = 0; i < STRINGS; i++)
		json_string(&json, NULL, strings[i].text);
	json_close(&json, ']');
	json_open(&json, "empty", '{');
	json_close(&json, '}');
	json_open(&json, "none", '[');
	json_close(&json, ']');
	json_open(&json, "nested", '[');
	for (uint64_t i = 0; i < 3; i++) {
		json_open(&json, NULL, '{');
		json_number(&json, "n", i);
		json_open(&json, "l", '[');
		json_number(&json, NULL, i);
		json_number(&json, NULL, UINT64_MAX);
		json_close(&json, ']');
		json_bool(&json, "b", i == 1);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_string(&json, "key \"\n", "after");
	CHECK(json_end(&json));
}

static void test_text(void)
{
	char *written = NULL, expected[200];
	size_t size;
	FILE *file = open_memstream(&written, &size);
	char *place;

	CHECK(file != NULL);
	write_all(file);
	fclose(file);
	place = written;
	CHECK(strncmp(place, "{\"strings\":[", 12) == 0);
	place += 12;
	for (size_t i = 0; i < STRINGS; i++) {
		int length = snprintf(expected, sizeof(expected), "%s\"%s\"", i ? "," : "", strings[i].written);
		bool same = strncmp(place, expected, (size_t)length) == 0;

		CHECK(same);
		if (!same) {
			fprintf(stderr, "string %zu: %.*s, not %s\n", i, length, place, expected);
			break;
		}
		place += length;
	}
	CHECK_STRING(place, "],\"empty\":{},\"none\":[],\"nested\":["
			    "{\"n\":0,\"l\":[0,18446744073709551615],\"b\":false},"
			    "{\"n\":1,\"l\":[1,18446744073709551615],\"b\":true},"
			    "{\"n\":2,\"l\":[2,18446744073709551615],\"b\":false}],"
			    "\"key \\\"\\u000a\":\"after\"}\n");
	free(written);
}

static void test_failing_stream(void)
{
	FILE *file = fopen("/dev/full", "w");
	struct json json;

	CHECK(file != NULL);
	json_begin(&json, file);
	json_number(&json, "n", 1);
	CHECK(!json_end(&json));
	fclose(file);

	file = fopen("/dev/full", "w");
	setvbuf(file, NULL, _IONBF, 0); // nothing is left for the end to fail on
	json_begin(&json, file);
	CHECK(!json_end(&json));
	fclose(file);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--print") == 0) {
		write_all(stdout);
		return check_failures;
	}
	test_text();
	test_failing_stream();
	return CHECK_RESULT();
}
