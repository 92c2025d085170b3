// SPDX-License-Identifier: Apache-2.0
// A bounded reader over a memory_span, for bytes of DWARF. Little endian. A read that does not fit, or
// a LEB128 number of more than 64 bits, sets `failed`, gives 0 and moves to the end: so a loop "while (offset < end)"
// stops, and one test after it is enough.
#ifndef HEAPSNAP_UNWIND_SPAN_READER_H
#define HEAPSNAP_UNWIND_SPAN_READER_H

#include "unwind/memory_span.h"

struct span_reader {
	const struct memory_span *span;
	uint64_t offset, end; // from the span's start; offset <= end <= span->size
	bool failed;
};

// A reader of [offset, end), cut to the span. One that would begin outside has failed already.
static inline struct span_reader span_reader_make(const struct memory_span *span, uint64_t offset, uint64_t end)
{
	struct span_reader reader = { span, offset, end <= span->size ? end : span->size, false };

	if (offset > reader.end) {
		reader.offset = reader.end;
		reader.failed = true;
	}
	return reader;
}

static inline uint64_t span_reader_address(const struct span_reader *reader)
{
	return reader->span->address + reader->offset;
}

// The next `size` bytes, or NULL.
static inline const uint8_t *span_reader_take(struct span_reader *reader, uint64_t size)
{
	const uint8_t *bytes = reader->span->bytes + reader->offset;

	if (size > reader->end - reader->offset) {
		reader->failed = true;
		reader->offset = reader->end;
		return NULL;
	}
	reader->offset += size;
	return bytes;
}

// An unsigned number of `size` (1 to 8) bytes.
static inline uint64_t span_reader_unsigned(struct span_reader *reader, unsigned size)
{
	const uint8_t *bytes = span_reader_take(reader, size);
	uint64_t value = 0;

	if (!bytes)
		return 0;
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

static inline uint64_t span_reader_signed(struct span_reader *reader, unsigned size)
{
	unsigned unused_bits = 64 - 8 * size;

	return (uint64_t)((int64_t)(span_reader_unsigned(reader, size) << unused_bits) >> unused_bits);
}

static inline uint8_t span_reader_u8(struct span_reader *reader) { return (uint8_t)span_reader_unsigned(reader, 1); }

// Unsigned (ULEB128) or signed (SLEB128) as its 64-bit pattern. At most 10 bytes, and no bit beyond the 64th may be
// lost.
static inline uint64_t span_reader_leb128(struct span_reader *reader, bool is_signed)
{
	uint64_t value = 0;

	// Most have one byte.
	if (reader->offset < reader->end && !(reader->span->bytes[reader->offset] & 0x80)) {
		value = reader->span->bytes[reader->offset++];
		return is_signed && value & 0x40 ? value | ~UINT64_C(0) << 7 : value;
	}
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = span_reader_u8(reader);
		uint8_t bits = byte & 0x7f;

		if (reader->failed)
			return 0;
		// The tenth byte holds bit 63 and, for a signed number, six more copies of it.
		if (shift == 63 && bits > 1 && !(is_signed && bits == 0x7f))
			break;
		if (shift == 63 && is_signed && bits == 1)
			break;
		value |= (uint64_t)bits << shift;
		if (!(byte & 0x80)) {
			if (is_signed && shift < 57 && (byte & 0x40))
				value |= ~UINT64_C(0) << (shift + 7);
			return value;
		}
	}
	reader->failed = true;
	reader->offset = reader->end;
	return 0;
}

static inline uint64_t span_reader_uleb(struct span_reader *reader) { return span_reader_leb128(reader, false); }
static inline int64_t span_reader_sleb(struct span_reader *reader) { return (int64_t)span_reader_leb128(reader, true); }

#endif
