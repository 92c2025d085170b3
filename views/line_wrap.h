// SPDX-License-Identifier: Apache-2.0
// A line of text in several, where it is too long for the terminal. Pure.
#ifndef HEAPSNAP_VIEWS_LINE_WRAP_H
#define HEAPSNAP_VIEWS_LINE_WRAP_H

#include <stddef.h>

// How far in the lines that go on begin: as the last column of the text, where it has columns in its first half, or
// else a little further than it does.
size_t line_indent(const char *text, size_t width);

// The bytes of `text` that go into so many columns, up to a space; at least a word, however long.
size_t line_fit(const char *text, size_t columns);

#endif
