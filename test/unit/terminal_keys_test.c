// SPDX-License-Identifier: Apache-2.0
// What terminals send for keys (cli/terminal_keys.h).
#include "check.h"
#include "cli/terminal_keys.h"

#include <stdbool.h>
#include <stdlib.h>

static const struct {
	const char *bytes;
	bool is_all;
	size_t taken;
	enum typed_key key;
	const char *text;
} cases[] = {
	{ "q", false, 1, TYPED_TEXT, "q" },
	{ "qs", false, 1, TYPED_TEXT, "q" },
	{ "\xc3\xa9x", false, 2, TYPED_TEXT, "\xc3\xa9" },
	{ "\xc3", false, 0, TYPED_NONE, "" }, // the rest may come
	{ "\xc3", true, 1, TYPED_NONE, "" },
	{ "\xe2\x86", false, 0, TYPED_NONE, "" },
	{ "\xe2\x86\x91", false, 3, TYPED_TEXT, "\xe2\x86\x91" },
	{ "\xf0\x9f\x92\xa1", false, 4, TYPED_TEXT, "\xf0\x9f\x92\xa1" },
	{ "\xff", false, 1, TYPED_NONE, "" },
	{ "\xc3(", false, 1, TYPED_NONE, "" },
	{ "\xe2\x80\xae", false, 3, TYPED_NONE, "" }, // a mark of direction
	{ "\r", false, 1, TYPED_ENTER, "" },
	{ "\n", false, 1, TYPED_ENTER, "" },
	{ "\x7f", false, 1, TYPED_BACKSPACE, "" },
	{ "\b", false, 1, TYPED_BACKSPACE, "" },
	{ "\x15", false, 1, TYPED_CLEAR, "" },
	{ "\x0c", false, 1, TYPED_REDRAW, "" },
	{ "\x1a", false, 1, TYPED_SUSPEND, "" },
	{ "\x02", false, 1, TYPED_PAGE_UP, "" },
	{ "\x06", false, 1, TYPED_PAGE_DOWN, "" },
	{ "\x01", false, 1, TYPED_NONE, "" },
	{ "\033", false, 0, TYPED_ESCAPE, "" },
	{ "\033", true, 1, TYPED_ESCAPE, "" },
	{ "\033q", false, 1, TYPED_ESCAPE, "" },
	{ "\033\033[A", false, 1, TYPED_ESCAPE, "" },
	{ "\033[", false, 0, TYPED_NONE, "" },
	{ "\033[", true, 2, TYPED_NONE, "" },
	{ "\033[A", false, 3, TYPED_UP, "" },
	{ "\033OA", false, 3, TYPED_UP, "" },
	{ "\033O", false, 0, TYPED_NONE, "" },
	{ "\033O", true, 2, TYPED_NONE, "" },
	{ "\033[Bx", false, 3, TYPED_DOWN, "" },
	{ "\033[C", false, 3, TYPED_RIGHT, "" },
	{ "\033[D", false, 3, TYPED_LEFT, "" },
	{ "\033[1;5A", false, 6, TYPED_UP, "" }, // with Ctrl
	{ "\033[H", false, 3, TYPED_HOME, "" },
	{ "\033[F", false, 3, TYPED_END, "" },
	{ "\033[1~", false, 4, TYPED_HOME, "" },
	{ "\033[4~", false, 4, TYPED_END, "" },
	{ "\033[5~", false, 4, TYPED_PAGE_UP, "" },
	{ "\033[6~", false, 4, TYPED_PAGE_DOWN, "" },
	{ "\033[6;2~", false, 6, TYPED_PAGE_DOWN, "" },
	{ "\033[6", false, 0, TYPED_NONE, "" },
	{ "\033[15~", false, 5, TYPED_NONE, "" }, // F5
	{ "\033[~", false, 3, TYPED_NONE, "" },
	{ "\033[M", false, 3, TYPED_NONE, "" },       // a mouse
	{ "\033OM", false, 3, TYPED_ENTER, "" },      // of the keypad
	{ "\033[1\033[A", false, 3, TYPED_NONE, "" }, // cut short
	{ "\033[1111111111111111111111111111111111111111A", false, 32, TYPED_NONE, "" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const size_t length = strlen(cases[i].bytes);
		char *bytes = malloc(length), got[60], expected[60]; // no byte behind them
		struct typed typed;
		size_t taken;

		CHECK(bytes);
		memcpy(bytes, cases[i].bytes, length);
		taken = typed_decode(bytes, length, cases[i].is_all, &typed);
		snprintf(got, sizeof(got), "%zu: %zu %d %s", i, taken, taken ? (int)typed.key : 0, typed.text);
		snprintf(expected, sizeof(expected), "%zu: %zu %d %s", i, cases[i].taken,
			 cases[i].taken ? (int)cases[i].key : 0, cases[i].text);
		CHECK_STRING(got, expected);
		free(bytes);
	}
	return CHECK_RESULT();
}
