// SPDX-License-Identifier: Apache-2.0
// Making the first instructions of a function movable. Input: distance of the trampoline (4 bytes, signed, in 16
// bytes), size of the function (1); the rest is the code.
#include "fuzz.h"

#include "attach/arch/code_step.h"
#include "attach/arch/island_code.h"
#include "attach/arch/relocate.h"

#include <string.h>

#define ADDRESS UINT64_C(0x555555555000)

static bool look_at(const struct code_branch *branch, void *context)
{
	(void)branch;
	return ++*(size_t *)context < 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct relocation_request request = { .jump_size = HS_JUMP_SIZE };
	struct relocation_result result;
	struct hook_island island;
	size_t pad, branches = 0;
	int32_t distance;

	if (size < 6)
		return 0;
	memcpy(&distance, data, sizeof(distance));
	request.function_code = data + 5;
	request.function_size = data[4] < size - 5 ? data[4] : size - 5;
	request.function_start = ADDRESS;
	pad = arch_landing_pad(data + 5, size - 5);
	REQUIRE(pad <= size - 5);
	request.code = data + 5 + pad;
	request.code_size = size - 5 - pad;
	request.address = ADDRESS + pad;
	request.trampoline = ADDRESS + (uint64_t)((int64_t)distance * 16);
	arch_scan_branches(data + 5, size - 5, ADDRESS, data[4] & 1, look_at, &branches);
	REQUIRE(branches <= size);
	arch_relocate(&request, &result);
	if (result.verdict != VERDICT_ok)
		return 0;
	REACHED();
	REQUIRE(result.size > 0 && result.size <= sizeof(result.bytes));
	REQUIRE(result.covered >= HS_JUMP_SIZE && result.covered <= request.code_size);
	REQUIRE(result.instruction_count > 0 && result.instruction_count <= sizeof(result.from));
	for (size_t i = 0; i < result.instruction_count; i++) {
		REQUIRE(result.from[i] < result.covered && result.to[i] < result.size);
		REQUIRE(i == 0 ? result.from[i] == 0 && result.to[i] == 0
			       : result.from[i] > result.from[i - 1] && result.to[i] > result.to[i - 1]);
	}
	REQUIRE(result.reach_low <= request.address && result.reach_high >= request.address + result.covered - 1);
	(void)arch_is_bare_return(&result);
	arch_fill_island(ADDRESS + 0x20000, 3, HOOK_malloc, &result, &island);
	return 0;
}
