// SPDX-License-Identifier: Apache-2.0
#include "base/byte_cursor.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "integers are read by copying their bytes");

bool byte_cursor_bytes(struct byte_cursor *cursor, void *ret, size_t size)
{
	if (size > byte_cursor_left(cursor))
		return false;
	if (size > 0)
		memcpy(ret, cursor->position, size);
	cursor->position += size;
	return true;
}

bool byte_cursor_u32(struct byte_cursor *cursor, uint32_t *ret) { return byte_cursor_bytes(cursor, ret, sizeof(*ret)); }

bool byte_cursor_u64(struct byte_cursor *cursor, uint64_t *ret) { return byte_cursor_bytes(cursor, ret, sizeof(*ret)); }

bool byte_cursor_skip(struct byte_cursor *cursor, size_t size)
{
	if (size > byte_cursor_left(cursor))
		return false;
	cursor->position += size;
	return true;
}

bool byte_cursor_sub(struct byte_cursor *cursor, size_t size, struct byte_cursor *ret)
{
	if (size > byte_cursor_left(cursor))
		return false;
	*ret = byte_cursor_make(cursor->position, size);
	cursor->position += size;
	return true;
}
