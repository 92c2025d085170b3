// SPDX-License-Identifier: Apache-2.0
// Fields of a protobuf message, one after the other, as they stand in its bytes. Pure, and bounded by them: nothing is
// copied, and a message in a field is a cursor of its own. (protobuf.dev/programming-guides/encoding)
#ifndef HEAPSNAP_PROTO_PPROF_WIRE_READER_H
#define HEAPSNAP_PROTO_PPROF_WIRE_READER_H

#include "base/byte_cursor.h"

#include <stdbool.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
	uint32_t number; // 1 to 2^29 - 1
	enum wire_type type;
	uint64_t value;           // of all types but WIRE_BYTES
	struct byte_cursor bytes; // what WIRE_BYTES holds; else the bytes of the value
};

enum wire_step {
	WIRE_FIELD,
	WIRE_END, // of the message
	WIRE_BAD, // no field: cut short, a group, a number that is none
};

// After WIRE_BAD the cursor stands where that field begins.
enum wire_step wire_next(struct byte_cursor *message, struct wire_field *ret);

// At most ten bytes, of which the last has a bit at most. false: cut short or longer, and nothing is moved.
bool wire_varint(struct byte_cursor *cursor, uint64_t *ret);

// How many numbers a field of a repeated number holds: one, or many that are packed. WIRE_BAD numbers are found when
// they are read, with wire_varint from field->bytes. pre: WIRE_VARINT or WIRE_BYTES
uint64_t wire_count(const struct wire_field *field);

// Whether a string is this one.
bool wire_text_is(const struct byte_cursor *text, const char *wanted);

#endif
