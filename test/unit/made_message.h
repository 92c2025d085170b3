// SPDX-License-Identifier: Apache-2.0
// Protobuf messages from text, so that tests can be arrays of them:
//
//   1{1=2 2=-3}   field 1, a message of two numbers      6:text   field 6, a string up to the next blank
//   1[1 2 3]      field 1, packed numbers                6'a b'   the same up to the next quote
//   !0b12         these bytes
#ifndef HEAPSNAP_TEST_UNIT_MADE_MESSAGE_H
#define HEAPSNAP_TEST_UNIT_MADE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_MESSAGE_MAX = 1 << 16 };

struct made_message {
	uint8_t data[MADE_MESSAGE_MAX];
	size_t size;
};

static inline void made_bytes(struct made_message *to, const void *data, size_t size)
{
	if (size > sizeof(to->data) - to->size)
		abort();
	memcpy(to->data + to->size, data, size);
	to->size += size;
}

static inline void made_varint(struct made_message *to, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

		made_bytes(to, &byte, 1);
		value >>= 7;
	} while (value);
}

// Puts the length before what was written since `begin`.
static inline void made_close(struct made_message *to, size_t begin)
{
	static uint8_t inner[MADE_MESSAGE_MAX];
	size_t size = to->size - begin;

	memcpy(inner, to->data + begin, size);
	to->size = begin;
	made_varint(to, size);
	made_bytes(to, inner, size);
}

static inline const char *made_raw(struct made_message *to, const char *text)
{
	while (*text && *text != ' ') {
		const char digits[3] = { text[0], text[1], 0 };
		uint8_t byte = (uint8_t)strtoul(digits, NULL, 16);

		made_bytes(to, &byte, 1);
		text += 2;
	}
	return text;
}

// What is made goes behind what `to` holds already.
static inline void made_message_add(struct made_message *to, const char *text)
{
	size_t begins[8] = { 0 };
	int depth = 0;
	char *end;

	while (*text) {
		if (*text == ' ') {
			text++;
			continue;
		}
		if (*text == '!') {
			text = made_raw(to, text + 1);
			continue;
		}
		if (*text == '}' || *text == ']') {
			made_close(to, begins[--depth]);
			text++;
			continue;
		}

		uint64_t number = (uint64_t)strtoll(text, &end, 0);
		char kind = *end;

		if (end == text)
			abort();
		text = end + (kind && strchr("{[=:'", kind) != NULL);
		if (kind == '{' || kind == '[') {
			made_varint(to, number << 3 | 2);
			begins[depth++] = to->size;
		} else if (kind == '=') {
			made_varint(to, number << 3);
			made_varint(to, (uint64_t)strtoll(text, &end, 0));
			text = end;
		} else if (kind == ':' || kind == '\'') {
			size_t size = strcspn(text, kind == ':' ? " " : "'");

			made_varint(to, number << 3 | 2);
			made_varint(to, size);
			made_bytes(to, text, size);
			text += size + (kind == '\'');
		} else { // a packed number
			made_varint(to, number);
		}
	}
}

#endif
