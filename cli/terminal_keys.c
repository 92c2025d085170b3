// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_keys.h"

#include "base/printable.h"

#include <stdint.h>
#include <string.h>

enum { SEQUENCE_MOST = 32 }; // bytes of one that is waited for to its end

// Of the final byte of "ESC [ x" and "ESC O x".
static enum typed_key key_of_final(char final)
{
	switch (final) {
	case 'A':
		return TYPED_UP;
	case 'B':
		return TYPED_DOWN;
	case 'C':
		return TYPED_RIGHT;
	case 'D':
		return TYPED_LEFT;
	case 'H':
		return TYPED_HOME;
	case 'F':
		return TYPED_END;
	case 'M': // Enter of the keypad, after ESC O
		return TYPED_ENTER;
	default:
		return TYPED_NONE;
	}
}

// Of "ESC [ number ~".
static enum typed_key key_of_number(char digit)
{
	switch (digit) {
	case '1':
	case '7':
		return TYPED_HOME;
	case '4':
	case '8':
		return TYPED_END;
	case '5':
		return TYPED_PAGE_UP;
	case '6':
		return TYPED_PAGE_DOWN;
	default:
		return TYPED_NONE;
	}
}

// ECMA-48, 5.4: parameter bytes 0x30 to 0x3f, intermediate bytes 0x20 to 0x2f, one final byte 0x40 to 0x7e.
static size_t decode_control_sequence(const char *bytes, size_t count, bool is_all, struct typed *ret)
{
	size_t at = 2;

	while (at < count && at < SEQUENCE_MOST && bytes[at] >= 0x20 && bytes[at] <= 0x3f)
		at++;
	if (at == count && at < SEQUENCE_MOST && !is_all)
		return 0;
	if (at == count || at == SEQUENCE_MOST || bytes[at] < 0x40 || bytes[at] > 0x7e)
		return at; // cut short: what comes next is looked at by itself
	if (bytes[at] == '~' && at >= 3 && (at == 3 || bytes[3] == ';'))
		ret->key = key_of_number(bytes[2]);
	else if (bytes[1] == '[' && bytes[at] != 'M')
		ret->key = key_of_final(bytes[at]);
	return at + 1;
}

static size_t decode_escape(const char *bytes, size_t count, bool is_all, struct typed *ret)
{
	if (count == 1) {
		ret->key = TYPED_ESCAPE;
		return is_all ? 1 : 0;
	}
	if (bytes[1] == '[')
		return decode_control_sequence(bytes, count, is_all, ret);
	if (bytes[1] == 'O') {
		if (count == 2)
			return is_all ? 2 : 0;
		ret->key = key_of_final(bytes[2]);
		return 3;
	}
	ret->key = TYPED_ESCAPE; // and then another key
	return 1;
}

static enum typed_key key_of_control(char byte)
{
	switch (byte) {
	case '\r':
	case '\n':
		return TYPED_ENTER;
	case '\b':
	case 0x7f:
		return TYPED_BACKSPACE;
	case 'B' - '@':
		return TYPED_PAGE_UP;
	case 'F' - '@':
		return TYPED_PAGE_DOWN;
	case 'L' - '@':
		return TYPED_REDRAW;
	case 'U' - '@':
		return TYPED_CLEAR;
	case 'Z' - '@':
		return TYPED_SUSPEND;
	default:
		return TYPED_NONE;
	}
}

// How many bytes a character has that begins so; 0 = none does.
static size_t length_of_first(unsigned char byte)
{
	return byte < 0x80 ? 1 : byte >= 0xf5 ? 0 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
}

size_t typed_decode(const char *bytes, size_t count, bool is_all, struct typed *ret)
{
	const unsigned char first = (unsigned char)bytes[0];
	uint32_t character;
	size_t length;

	*ret = (struct typed){ .key = TYPED_NONE };
	if (first == 0x1b)
		return decode_escape(bytes, count, is_all, ret);
	if (first < 0x20 || first == 0x7f) {
		ret->key = key_of_control((char)first);
		return 1;
	}
	if (count < length_of_first(first) && !is_all)
		return 0;
	length = hs_utf8_next(bytes, count, &character);
	if (!length)
		return 1;
	if (hs_is_printable(character)) {
		ret->key = TYPED_TEXT;
		memcpy(ret->text, bytes, length);
	}
	return length;
}
