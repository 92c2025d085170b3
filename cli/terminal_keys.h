// SPDX-License-Identifier: Apache-2.0
// What a terminal sends for keys. Pure.
#ifndef HEAPSNAP_CLI_TERMINAL_KEYS_H
#define HEAPSNAP_CLI_TERMINAL_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum typed_key {
	TYPED_NONE, // nothing that is known
	TYPED_TEXT, // a character
	TYPED_UP,
	TYPED_DOWN,
	TYPED_LEFT,
	TYPED_RIGHT,
	TYPED_PAGE_UP,
	TYPED_PAGE_DOWN,
	TYPED_HOME,
	TYPED_END,
	TYPED_ENTER,
	TYPED_ESCAPE,
	TYPED_BACKSPACE,
	TYPED_CLEAR,   // ^U
	TYPED_REDRAW,  // ^L
	TYPED_SUSPEND, // ^Z
};

struct typed {
	enum typed_key key;
	char text[5]; // of TYPED_TEXT: one printable character, UTF-8
};

// The key that `bytes` begins with. Returns how many bytes it has; 0: these are the beginning of one, and more may
// come. `is_all`: they do not, so that an escape character is the key of that name. pre: count > 0. Sequences are those
// of ECMA-48 as xterm, the Linux console and their likes use them; one that is not known is TYPED_NONE as a whole.
size_t typed_decode(const char *bytes, size_t count, bool is_all, struct typed *ret);

#endif
