// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "\x1b" for a byte is the longest of all escapes per byte of input: 4 for 1; "\u0080" is 6 for 2, "\u202e" 6 for 3,
// "\U000e0001" 10 for 4.
enum { ESCAPE_MAX = 4 };

size_t hs_utf8_next(const char *text, size_t size, uint32_t *character_ret)
{
	const unsigned char *bytes = (const unsigned char *)text;
	unsigned char first = bytes[0], low = 0x80, high = 0xbf;
	uint32_t character;
	size_t length;

	*character_ret = first;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		length = 2;
	else if (first >= 0xe0 && first <= 0xef)
		length = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		length = 4;
	else
		return 0;
	if (first == 0xe0)
		low = 0xa0; // else a longer form of a two-byte character
	else if (first == 0xed)
		high = 0x9f; // else a surrogate
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f; // else above U+10FFFF
	if (length > size || bytes[1] < low || bytes[1] > high)
		return 0;
	character = first & (0x7fu >> length);
	character = character << 6 | (bytes[1] & 0x3f);
	for (size_t i = 2; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (bytes[i] & 0x3f);
	}
	*character_ret = character;
	return length;
}

bool hs_is_printable(uint32_t character)
{
	// Controls, separators of lines and paragraphs, surrogates, private use for tags, and the format characters
	// (general category Cf) that hide text or change its order. Unicode 15.
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{ 0x0000, 0x001f },   // C0
		{ 0x007f, 0x009f },   // DEL, C1
		{ 0x00ad, 0x00ad },   // soft hyphen
		{ 0x034f, 0x034f },   // combining grapheme joiner
		{ 0x061c, 0x061c },   // Arabic letter mark
		{ 0x115f, 0x1160 },   // Hangul fillers
		{ 0x17b4, 0x17b5 },   // Khmer inherent vowels
		{ 0x180b, 0x180f },   // Mongolian selectors and vowel separator
		{ 0x200b, 0x200f },   // zero width; left-to-right and right-to-left marks
		{ 0x2028, 0x202e },   // separators; embeddings and overrides of direction
		{ 0x2060, 0x206f },   // word joiner, invisible operators, isolates, deprecated format characters
		{ 0x3164, 0x3164 },   // Hangul filler
		{ 0xd800, 0xdfff },   // surrogates
		{ 0xfdd0, 0xfdef },   // noncharacters
		{ 0xfeff, 0xfeff },   // byte order mark
		{ 0xffa0, 0xffa0 },   // halfwidth Hangul filler
		{ 0xfff0, 0xfffb },   // unassigned specials; interlinear annotation
		{ 0x1bca0, 0x1bca3 }, // shorthand format controls
		{ 0x1d173, 0x1d17a }, // musical format controls
		{ 0xe0000, 0xe0fff }, // tags, variation selectors supplement
	};

	if (character > 0x10ffff || (character & 0xfffe) == 0xfffe)
		return false;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return false;
	return true;
}

char *hs_printable(const char *text)
{
	size_t left = strlen(text), at = 0;
	char *result = left < SIZE_MAX / ESCAPE_MAX ? malloc(left * ESCAPE_MAX + 1) : NULL, *shorter;

	if (!result)
		return NULL;
	while (left > 0) {
		uint32_t character;
		size_t length = hs_utf8_next(text, left, &character);

		if (length > 0 && hs_is_printable(character)) {
			memcpy(result + at, text, length);
			at += length;
		} else if (length <= 1) {
			at += (size_t)sprintf(result + at, "\\x%02x", (unsigned)(unsigned char)*text);
		} else {
			at += (size_t)sprintf(result + at, character > 0xffff ? "\\U%08x" : "\\u%04x",
					      (unsigned)character);
		}
		length += length == 0;
		text += length;
		left -= length;
	}
	result[at] = 0;
	shorter = realloc(result, at + 1);
	return shorter ? shorter : result;
}
