// SPDX-License-Identifier: Apache-2.0
// What of a text from the target may reach a terminal.
#include "base/printable.h"
#include "check.h"

#include <stdlib.h>

static const struct {
	const char *text, *printable;
} cases[] = {
	{ "", "" },
	{ "plain /path with spaces ~!\"'\\x", "plain /path with spaces ~!\"'\\x" },
	// Names in any script stay as they are: accents, Greek, Hebrew, Chinese, a combining mark, an emoji with its
	// selector, no-break space.
	{ "h\xc3\xa9 \xce\xb1 \xd7\xa9 \xe4\xb8\xad e\xcc\x81 \xe2\x9d\xa4\xef\xb8\x8f \xf0\x9f\x98\x80 \xc2\xa0",
	  "h\xc3\xa9 \xce\xb1 \xd7\xa9 \xe4\xb8\xad e\xcc\x81 \xe2\x9d\xa4\xef\xb8\x8f \xf0\x9f\x98\x80 \xc2\xa0" },
	// C0 and DEL.
	{ "\x1b]0;P\a", "\\x1b]0;P\\x07" },
	{ "a\nb\tc\rd\x7f"
	  "e\x01",
	  "a\\x0ab\\x09c\\x0dd\\x7fe\\x01" },
	// C1: as bytes, and as characters.
	{ "\x9b"
	  "31m",
	  "\\x9b31m" },
	{ "\xc2\x9b"
	  "31m\xc2\x80\xc2\x9f\xc2\xa1",
	  "\\u009b31m\\u0080\\u009f\xc2\xa1" },
	// Direction: marks, embeddings and overrides, isolates, the Arabic mark.
	{ "\xe2\x80\x8e\xe2\x80\x8f", "\\u200e\\u200f" },
	{ "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae", "\\u202a\\u202b\\u202c\\u202d\\u202e" },
	{ "\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "\\u2066\\u2067\\u2068\\u2069" },
	{ "\xd8\x9c", "\\u061c" },
	// Invisible: zero width, word joiner, byte order mark, soft hyphen, fillers, tags.
	{ "a\xe2\x80\x8b"
	  "b\xe2\x80\x8d\xe2\x81\xa0\xef\xbb\xbf\xc2\xad\xe3\x85\xa4",
	  "a\\u200bb\\u200d\\u2060\\ufeff\\u00ad\\u3164" },
	{ "\xf3\xa0\x80\x81\xf3\xa0\x84\x80", "\\U000e0001\\U000e0100" },
	// Line and paragraph separators.
	{ "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029" },
	// Noncharacters.
	{ "\xef\xb7\x90\xef\xbf\xbe\xef\xbf\xbf\xf4\x8f\xbf\xbf", "\\ufdd0\\ufffe\\uffff\\U0010ffff" },
	// The first and last of each length (RFC 3629) that are characters.
	{ "\xdf\xbf\xe0\xa0\x80\xef\xbf\xbd\xf0\x90\x80\x80\xf4\x8f\xbf\xbd",
	  "\xdf\xbf\xe0\xa0\x80\xef\xbf\xbd\xf0\x90\x80\x80\xf4\x8f\xbf\xbd" },
	{ "\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80" },
	// No UTF-8: lone bytes, longer forms, surrogates, too high, cut, a start in the middle.
	{ "\x80\xbf\xff\xfe", "\\x80\\xbf\\xff\\xfe" },
	{ "\xc0\x80\xc1\xbf", "\\xc0\\x80\\xc1\\xbf" },
	{ "\xc0\x9b"
	  "31m \xe0\x80\x9b",
	  "\\xc0\\x9b31m \\xe0\\x80\\x9b" }, // an escape sequence's begin in longer forms
	{ "\xe0\x9f\xbf\xf0\x8f\xbf\xbf", "\\xe0\\x9f\\xbf\\xf0\\x8f\\xbf\\xbf" },
	{ "\xed\xa0\x80\xed\xbf\xbf", "\\xed\\xa0\\x80\\xed\\xbf\\xbf" },
	{ "\xf4\x90\x80\x80\xf5\x80\x80\x80", "\\xf4\\x90\\x80\\x80\\xf5\\x80\\x80\\x80" },
	{ "\xc3", "\\xc3" },
	{ "\xf0\x9f\x98", "\\xf0\\x9f\\x98" },
	{ "a\xc3(\xe2\x82\xc3\xa9", "a\\xc3(\\xe2\\x82\xc3\xa9" },
	{ "\xe2\x80\x1b[31m", "\\xe2\\x80\\x1b[31m" }, // a cut character does not hide what follows
};

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *once = hs_printable(cases[i].text), *twice = once ? hs_printable(once) : NULL;

		CHECK_STRING(once, cases[i].printable);
		CHECK_STRING(twice, cases[i].printable); // printable text stays
		free(once);
		free(twice);
	}
}

// Every two bytes: what comes out is UTF-8 without anything hidden, and two texts never become one.
static void test_all_pairs(void)
{
	size_t bad = 0, same = 0;
	char *before = strdup("");

	for (unsigned pair = 0x0101; pair <= 0xffff; pair++) {
		const char text[] = { (char)(pair >> 8), (char)pair, 0 };
		char *printable;

		if ((pair & 0xff) == 0)
			continue;
		printable = hs_printable(text);
		for (size_t at = 0, size = strlen(printable); at < size;) {
			uint32_t character;
			size_t length = hs_utf8_next(printable + at, size - at, &character);

			bad += length == 0 || !hs_is_printable(character);
			at += length ? length : size;
		}
		same += strcmp(printable, before) == 0;
		free(before);
		before = printable;
	}
	free(before);
	CHECK_EQUAL(bad, 0);
	CHECK_EQUAL(same, 0);
}

static void test_end(void)
{
	uint32_t character;

	// What is behind the end does not count.
	CHECK_EQUAL(hs_utf8_next("\xc3\xa9", 1, &character), 0);
	CHECK_EQUAL(hs_utf8_next("\xc3\xa9", 2, &character), 2);
	CHECK_EQUAL(character, 0xe9);
	CHECK_EQUAL(hs_utf8_next("\xf0\x9f\x98\x80", 4, &character), 4);
	CHECK_EQUAL(character, 0x1f600);
	CHECK(!hs_is_printable(0xd800) && !hs_is_printable(0x110000) && !hs_is_printable(UINT32_MAX));
}

int main(void)
{
	test_cases();
	test_all_pairs();
	test_end();
	return CHECK_RESULT();
}
