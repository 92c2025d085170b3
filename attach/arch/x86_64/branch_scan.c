// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/branch_scan.h"

#include "attach/arch/code_step.h"

#include <string.h>

static void check_target(uint64_t target, bool is_jump, struct branch_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (target >= (is_jump ? ranges[i].low : ranges[i].call_low) && target < ranges[i].high)
			ranges[i].hit = true;
	}
}

// `last`: the byte before a displacement of 32 bits that ends the instruction; `before` it there are others. Intel SDM
// volume 2: E9, 0F 80+cc; E8, REX.W 8D with mod 00 and r/m 101.
static bool is_far_jump(const uint8_t *last, size_t before)
{
	return *last == 0xe9 || ((*last & 0xf0) == 0x80 && before > 0 && last[-1] == 0x0f);
}

static bool is_call_or_lea(const uint8_t *last, size_t before)
{
	return *last == 0xe8 || ((*last & 0xc7) == 0x05 && before > 1 && last[-1] == 0x8d && (last[-2] & 0xf8) == 0x48);
}

void branch_scan(const uint8_t *code, size_t size, uint64_t address, struct branch_range *ranges, size_t count)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < count; i++) {
		low = ranges[i].low < low ? ranges[i].low : low;
		low = ranges[i].call_low < low ? ranges[i].call_low : low;
		high = ranges[i].high > high ? ranges[i].high : high;
	}
	for (size_t i = 0; i + 5 <= size; i++) {
		bool is_jump = is_far_jump(code + i, i);
		uint64_t target;
		int32_t distance;

		if (!is_jump && !is_call_or_lea(code + i, i))
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		target = address + i + 5 + (uint64_t)(int64_t)distance;
		if (target >= low && target < high)
			check_target(target, is_jump, ranges, count);
	}
}

// movabs $imm64 (Intel SDM volume 2, REX.W B8+rd io).
void branch_scan_constants(const uint8_t *code, size_t size, uint64_t table, struct branch_range *ranges, size_t count)
{
	for (size_t at = 0; at + 10 <= size; at++) {
		uint64_t value;

		if ((code[at] & 0xfe) != 0x48 || (code[at + 1] & 0xf8) != 0xb8)
			continue;
		memcpy(&value, code + at + 2, sizeof(value));
		for (size_t i = 0; i < count; i++)
			ranges[i].hit |= ranges[i].high && (value == ranges[i].low || value + table == ranges[i].low);
	}
}

void branch_scan_decoded(const uint8_t *code, size_t size, uint64_t address, struct branch_range *range)
{
	for (size_t offset = 0; offset < size;) {
		struct code_step step;

		arch_decode_step(code + offset, size - offset, address + offset, &step);
		if (step.flow == FLOW_JUMP || step.flow == FLOW_CONDITION || step.flow == FLOW_CALL)
			check_target(step.target, step.flow != FLOW_CALL, range, 1);
		offset += step.size ? step.size : 1;
	}
}
