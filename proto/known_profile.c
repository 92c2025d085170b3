// SPDX-License-Identifier: Apache-2.0
#include "proto/known_profile.h"

#include "proto/gzip_file.h"

#include <stdint.h>
#include <string.h>

enum { EXPANDED_BYTES = 256, FIELDS_MAX = 8, VALUE_TYPE_MOST = 24, VARINT_BYTES = 10 };

// proto/page/page.html
static const char page_beginning[] = "<!DOCTYPE html>", page_title[] = "<title>heapsnap</title>";

// A varint of Protocol Buffers (wire type 0). False: there is none.
static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < VARINT_BYTES && *at < end; i++) {
		const uint8_t byte = *(*at)++;

		*ret |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

// A message ValueType, behind its tag: a length, then the numbers of two strings, "type" and "unit" (profile.proto).
static bool skip_value_type(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *stop;
	uint64_t size, tag, number;

	if (!read_varint(at, end, &size) || size < 2 || size > VALUE_TYPE_MOST || size > (size_t)(end - *at))
		return false;
	for (stop = *at + size; *at < stop;)
		if (!read_varint(at, stop, &tag) || (tag != (1 << 3) && tag != (2 << 3)) ||
		    !read_varint(at, stop, &number))
			return false;
	return true;
}

// The first field that is not a plain number is a sample_type (1), or the period_type (11), which Go writes first.
static bool begins_as_pprof(const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;
	uint64_t tag, number;

	for (unsigned i = 0; i < FIELDS_MAX && read_varint(&at, end, &tag); i++) {
		if (tag == (1 << 3 | 2))
			return skip_value_type(&at, end);
		if (tag == (11 << 3 | 2)
			    ? !skip_value_type(&at, end)
			    : (tag & 7) != 0 || tag >> 3 < 7 || tag >> 3 > 15 || !read_varint(&at, end, &number))
			return false;
	}
	return false;
}

bool profile_is_known(const void *beginning, size_t size)
{
	uint8_t expanded[EXPANDED_BYTES];

	if (size == 0)
		return true;
	if (gzip_is(beginning, size))
		return begins_as_pprof(expanded, gzip_expand_beginning(beginning, size, expanded, sizeof(expanded)));
	if (size >= sizeof(page_beginning) - 1 && memcmp(beginning, page_beginning, sizeof(page_beginning) - 1) == 0)
		return memmem(beginning, size < KNOWN_PROFILE_BYTES ? size : KNOWN_PROFILE_BYTES, page_title,
			      sizeof(page_title) - 1);
	return begins_as_pprof(beginning, size);
}
