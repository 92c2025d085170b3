// SPDX-License-Identifier: Apache-2.0
// What is written to a terminal of some type to make it do something.
#ifndef HEAPSNAP_CLI_TERMINAL_CODES_H
#define HEAPSNAP_CLI_TERMINAL_CODES_H

#include "base/error.h"

#include <stddef.h>

// Texts of a terminal's type. "" = it cannot do that, and needs not. They point into the data base, and are there until
// the next call.
struct terminal_codes {
	const char *enter, *leave;             // another screen than the one with the shell's lines
	const char *hide_cursor, *show_cursor; //
	const char *keys_on, *keys_off;        // cursor keys as the data base has them
	const char *wrap_off, *wrap_on;        // what is too long goes no further
	const char *clear, *clear_to_end;      // the screen; to the end of the line
	const char *bold, *reversed, *plain;
};

// Of a type; NULL or "" = TERM is not set. The terminal `fd` is not written to. Where there is no entry in the data
// base of terminals, nor any such data base, as in small containers, types that are known to follow ECMA-48 have their
// codes all the same. HS_ERROR_REFUSED: the type is not known, or its terminals cannot be written to anywhere.
struct hs_error *terminal_codes_of(const char *type, int fd, struct terminal_codes *ret) HS_MUST_CHECK;

// The text that puts the cursor to the beginning of a line, 0 the first. NULL: there is none.
const char *terminal_line_code(unsigned line);

// Writes a code into `buffer` as it goes to the terminal, without the marks of delays in it; returns its length, at
// most `room`.
size_t terminal_code_bytes(const char *code, char *buffer, size_t room);

#endif
