// SPDX-License-Identifier: Apache-2.0
// What stands on a terminal: lines of text, from the top.
#ifndef HEAPSNAP_CLI_SCREEN_H
#define HEAPSNAP_CLI_SCREEN_H

#include "base/error.h"

#include <stddef.h>

enum screen_look {
	LOOK_PLAIN,
	LOOK_BOLD,
	LOOK_REVERSED,
};

struct screen_line {
	char *text; // owned; printable (base/printable.h), and as many columns as there are at most
	enum screen_look look;
};

struct screen {
	struct screen_line *lines; // owned
	size_t count;
	unsigned columns;
};

// Empty lines. HS_ERROR_NO_MEMORY.
struct hs_error *screen_init(unsigned lines, unsigned columns, struct screen *ret) HS_MUST_CHECK;
void screen_deinit(struct screen *screen);

// Puts a text there, made printable and cut off at the screen's edge, over what was there. Beyond the last line nothing
// is put. HS_ERROR_NO_MEMORY.
struct hs_error *screen_put(struct screen *screen, size_t line, enum screen_look look, const char *format, ...)
	HS_PRINTF(4, 5) HS_MUST_CHECK;

#endif
