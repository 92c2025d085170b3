// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/function_span.h"

#include <string.h>

static bool read_u32(const struct elf_view *view, uint64_t vaddr, uint32_t *ret)
{
	const uint8_t *bytes = elf_view_bytes(view, vaddr, sizeof(*ret));

	if (bytes)
		memcpy(ret, bytes, sizeof(*ret));
	return bytes;
}

// LSB, "Exception Frames": version 1, pc-relative sdata4 to .eh_frame, udata4 count, and pairs of sdata4 from the
// header's start; an FDE of pc-relative sdata4.
bool elf_view_function(const struct elf_view *view, uint64_t vaddr, uint64_t *low_ret, uint64_t *high_ret)
{
	enum { HEADER = 12, PAIR = 8 };
	static const uint8_t usual[] = { 1, 0x1b, 0x03, 0x3b };
	uint64_t header, size, segment_low, segment_high, low = 0, high, fde;
	uint32_t count, distance, length, range;
	const uint8_t *bytes;

	if (!elf_view_unwind(view, &header, &size, &segment_low, &segment_high) || size < HEADER)
		return false;
	bytes = elf_view_bytes(view, header, size);
	if (!bytes || memcmp(bytes, usual, sizeof(usual)) != 0)
		return false;
	memcpy(&count, bytes + 8, sizeof(count));
	high = count < (size - HEADER) / PAIR ? count : (size - HEADER) / PAIR;
	while (low < high) { // the first that begins behind vaddr
		uint64_t middle = (low + high) / 2;

		memcpy(&distance, bytes + HEADER + middle * PAIR, sizeof(distance));
		if (header + (uint64_t)(int64_t)(int32_t)distance <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	memcpy(&distance, bytes + HEADER + (low - 1) * PAIR, sizeof(distance));
	*low_ret = header + (uint64_t)(int64_t)(int32_t)distance;
	memcpy(&distance, bytes + HEADER + (low - 1) * PAIR + 4, sizeof(distance));
	fde = header + (uint64_t)(int64_t)(int32_t)distance;
	if (!read_u32(view, fde, &length) || length < 16 || length >= 0xfffffff0 ||
	    !read_u32(view, fde + 8, &distance) || !read_u32(view, fde + 12, &range))
		return false;
	*high_ret = *low_ret + range;
	return fde + 8 + (uint64_t)(int64_t)(int32_t)distance == *low_ret && vaddr < *high_ret;
}
