// SPDX-License-Identifier: Apache-2.0
#include "attach/branch_scan.h"

#include <string.h>

static void check_target(uint64_t target, struct branch_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (target >= ranges[i].low && target < ranges[i].high)
			ranges[i].hit = true;
	}
}

void branch_scan(const uint8_t *code, size_t size, uint64_t address, struct branch_range *ranges, size_t count)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < count; i++) {
		low = ranges[i].low < low ? ranges[i].low : low;
		high = ranges[i].high > high ? ranges[i].high : high;
	}
	for (size_t i = 0; i + 5 <= size; i++) {
		// e9 rel32, or 0f 80+cc rel32: what counts is the byte before the displacement.
		bool is_jump = code[i] == 0xe9;
		bool is_condition = (code[i] & 0xf0) == 0x80 && i > 0 && code[i - 1] == 0x0f;
		uint64_t target;
		int32_t distance;

		if (!is_jump && !is_condition)
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		target = address + i + 5 + (uint64_t)(int64_t)distance;
		if (target >= low && target < high)
			check_target(target, ranges, count);
	}
}
