// SPDX-License-Identifier: Apache-2.0
#include "views/line_wrap.h"

#include <string.h>

size_t line_indent(const char *text, size_t width)
{
	const size_t begin = strspn(text, " ");
	size_t indent = begin + 2;

	for (size_t i = begin; text[i] && i < width / 2; i++)
		if (i >= begin + 2 && text[i] != ' ' && text[i - 1] == ' ' && text[i - 2] == ' ')
			indent = i;
	return indent < width / 2 ? indent : width / 2;
}

size_t line_fit(const char *text, size_t columns)
{
	size_t last = 0, column = 0;

	for (size_t i = 0; text[i]; i++) {
		if (i > 0 && text[i] == ' ')
			last = i;
		column += ((unsigned char)text[i] & 0xc0) != 0x80; // bytes that go on a character of UTF-8
		if (column > columns && last > 0)
			return last;
	}
	return strlen(text);
}
