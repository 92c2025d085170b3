// SPDX-License-Identifier: Apache-2.0
// Text that the target chose (names of files, threads, functions, cgroups), made fit to be shown. Pure.
//
// A terminal acts on control characters, and shows text with direction marks in another order than it has. So bytes
// become visible escapes, "\x1b" for a byte and "\u202e" for a character, rather than one "?": different names stay
// different. What is left is valid UTF-8, whatever came in, and readable names in any script stay as they are. A
// backslash stays a backslash.
#ifndef HEAPSNAP_BASE_PRINTABLE_H
#define HEAPSNAP_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The character at text[0], of `size` bytes that are left, at least one. Returns its length in bytes, 0 when no
// well-formed UTF-8 begins there: an overlong form, a surrogate, a number above U+10FFFF, a lone or missing
// continuation (Unicode 15, table 3-7).
size_t hs_utf8_next(const char *text, size_t size, uint32_t *character_ret);

// Whether a character may reach a terminal as it is: no control (C0, DEL, C1), nothing that is invisible or changes the
// order of what is shown, no line or paragraph separator, no noncharacter.
bool hs_is_printable(uint32_t character);

// The text with escapes where they are needed; owned by the caller; NULL without memory. What is printable already
// stays as it is.
char *hs_printable(const char *text);

#endif
