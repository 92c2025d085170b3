// SPDX-License-Identifier: Apache-2.0
// The one way to parse bytes that a target may have chosen: each read is compared with what is left, and a failed
// read moves nothing. Little endian.
#ifndef HEAPSNAP_BASE_BYTE_CURSOR_H
#define HEAPSNAP_BASE_BYTE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_cursor {
	const uint8_t *position;
	const uint8_t *end; // position <= end
};

static inline struct byte_cursor byte_cursor_make(const void *data, size_t size)
{
	return (struct byte_cursor){ (const uint8_t *)data, (const uint8_t *)data + size };
}

static inline size_t byte_cursor_left(const struct byte_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->position);
}

// Each returns false, and changes neither cursor nor *ret, when too few bytes are left.
bool byte_cursor_u32(struct byte_cursor *cursor, uint32_t *ret);
bool byte_cursor_u64(struct byte_cursor *cursor, uint64_t *ret);
bool byte_cursor_skip(struct byte_cursor *cursor, size_t size);
bool byte_cursor_bytes(struct byte_cursor *cursor, void *ret, size_t size);
// The next `size` bytes as a cursor of their own.
bool byte_cursor_sub(struct byte_cursor *cursor, size_t size, struct byte_cursor *ret);

#endif
