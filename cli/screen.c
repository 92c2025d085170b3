// SPDX-License-Identifier: Apache-2.0
#include "cli/screen.h"

#include "base/cleanup.h"
#include "base/printable.h"
#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct hs_error *screen_init(unsigned lines, unsigned columns, struct screen *ret)
{
	*ret = (struct screen){ .lines = calloc((size_t)lines + 1, sizeof(*ret->lines)), .columns = columns };
	if (!ret->lines)
		return &hs_error_no_memory;
	for (; ret->count < lines; ret->count++) {
		ret->lines[ret->count].text = strdup("");
		if (!ret->lines[ret->count].text) {
			screen_deinit(ret);
			return &hs_error_no_memory;
		}
	}
	return NULL;
}

void screen_deinit(struct screen *screen)
{
	for (size_t i = 0; i < screen->count; i++)
		free(screen->lines[i].text);
	free(screen->lines);
	*screen = (struct screen){ 0 };
}

struct hs_error *screen_put(struct screen *screen, size_t line, enum screen_look look, const char *format, ...)
{
	HS_CLEANUP_FREE char *text = NULL;
	char *printable;
	va_list arguments;
	int length;

	if (line >= screen->count)
		return NULL;
	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		text = NULL;
		return &hs_error_no_memory;
	}
	printable = hs_printable(text);
	if (!printable)
		return &hs_error_no_memory;
	printable[table_beginning(printable, screen->columns)] = 0;
	free(screen->lines[line].text);
	screen->lines[line] = (struct screen_line){ printable, look };
	return NULL;
}
