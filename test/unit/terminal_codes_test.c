// SPDX-License-Identifier: Apache-2.0
// Codes of terminals (cli/terminal_codes.h), with the data base of this machine and without any.
#include "check.h"
#include "cli/terminal_codes.h"

#include <stdlib.h>
#include <unistd.h>

static const struct {
	const char *type;
	const char *error; // "" = none
} cases[] = {
	{ "xterm", "" },
	{ "screen", "" },
	{ "linux", "" },
	{ "vt100", "" },
	{ "dumb", "a terminal of the type 'dumb' (TERM) cannot be written to anywhere" },
	{ NULL, "the type of the terminal is not known: TERM is not set" },
	{ "", "the type of the terminal is not known: TERM is not set" },
	{ "no-such-terminal",
	  "a terminal of the type 'no-such-terminal' (TERM) is not known here; try TERM=xterm or vt100" },
	{ "../../etc/passwd",
	  "a terminal of the type '../../etc/passwd' (TERM) is not known here; try TERM=xterm or vt100" },
	{ "xterm-of-tomorrow", "" }, // by its beginning
};

static void test_types(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct terminal_codes codes;
		struct hs_error *error = terminal_codes_of(cases[i].type, STDOUT_FILENO, &codes);

		CHECK_STRING(error ? error->message : "", cases[i].error);
		if (!error)
			CHECK(*codes.clear && *codes.clear_to_end && *codes.reversed && *terminal_line_code(3));
		hs_error_destroy(error);
	}
}

// The same codes, with an entry and without.
static void test_builtin(void)
{
	struct terminal_codes entry, builtin;
	char with[8], without[8];

	CHECK(!terminal_codes_of("xterm-of-tomorrow", STDOUT_FILENO, &builtin)); // static, so it outlives the next call
	CHECK_STRING(terminal_line_code(11), "\033[12;1H");
	CHECK(!terminal_codes_of("xterm", STDOUT_FILENO, &entry));
	CHECK_STRING(terminal_line_code(11), "\033[12;1H");
	CHECK_STRING(builtin.clear, entry.clear);
	CHECK_STRING(builtin.clear_to_end, entry.clear_to_end);
	CHECK_STRING(builtin.bold, entry.bold);
	CHECK_STRING(builtin.reversed, entry.reversed);
	CHECK_STRING(builtin.wrap_off, entry.wrap_off);
	CHECK(strstr(entry.enter, builtin.enter) && strstr(entry.leave, builtin.leave));
	memset(with, 0, sizeof(with));
	memset(without, 0, sizeof(without));
	CHECK_EQUAL(terminal_code_bytes("a$<5>b$<10*/>c", with, sizeof(with)), 3);
	CHECK_STRING(with, "abc");
	CHECK_EQUAL(terminal_code_bytes("0123456789", without, 4), 4);
	CHECK_STRING(without, "0123");
	CHECK_EQUAL(terminal_code_bytes("$<5", with, sizeof(with)), 3);
}

int main(void)
{
	test_types();
	test_builtin();
	return CHECK_RESULT();
}
