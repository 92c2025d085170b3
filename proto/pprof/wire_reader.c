// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/wire_reader.h"

#include <string.h>

enum { TYPE_BITS = 3, TYPE_MASK = 7, VARINT_BYTES_MAX = 10 };

#define TAG_MAX UINT32_MAX // a number of 29 bits and a type of 3

bool wire_varint(struct byte_cursor *cursor, uint64_t *ret)
{
	const size_t left = byte_cursor_left(cursor);
	uint64_t value = 0;

	for (unsigned i = 0; i < VARINT_BYTES_MAX && i < left; i++) {
		const uint8_t byte = cursor->position[i];

		if (i == VARINT_BYTES_MAX - 1 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80) {
			cursor->position += i + 1;
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool read_value(struct byte_cursor *message, struct wire_field *ret)
{
	const uint8_t *begin = message->position;
	uint32_t narrow;
	uint64_t size;

	switch (ret->type) {
	case WIRE_VARINT:
		if (!wire_varint(message, &ret->value))
			return false;
		break;
	case WIRE_FIXED64:
		if (!byte_cursor_u64(message, &ret->value))
			return false;
		break;
	case WIRE_FIXED32:
		if (!byte_cursor_u32(message, &narrow))
			return false;
		ret->value = narrow;
		break;
	case WIRE_BYTES:
		return wire_varint(message, &size) && size <= byte_cursor_left(message) &&
		       byte_cursor_sub(message, size, &ret->bytes);
	default:
		return false;
	}
	ret->bytes = byte_cursor_make(begin, (size_t)(message->position - begin));
	return true;
}

enum wire_step wire_next(struct byte_cursor *message, struct wire_field *ret)
{
	const struct byte_cursor before = *message;
	uint64_t tag;

	if (byte_cursor_left(message) == 0)
		return WIRE_END;
	if (wire_varint(message, &tag) && tag <= TAG_MAX && tag >> TYPE_BITS > 0) {
		ret->number = (uint32_t)(tag >> TYPE_BITS);
		ret->type = (enum wire_type)(tag & TYPE_MASK);
		if (read_value(message, ret))
			return WIRE_FIELD;
	}
	*message = before;
	return WIRE_BAD;
}

uint64_t wire_count(const struct wire_field *field)
{
	uint64_t count = 0;

	if (field->type == WIRE_VARINT)
		return 1;
	for (const uint8_t *at = field->bytes.position; at < field->bytes.end; at++)
		count += *at < 0x80; // the last byte of a number
	return count;
}

bool wire_text_is(const struct byte_cursor *text, const char *wanted)
{
	return byte_cursor_left(text) == strlen(wanted) && memcmp(text->position, wanted, strlen(wanted)) == 0;
}
