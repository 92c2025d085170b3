// SPDX-License-Identifier: Apache-2.0
// DWARF expressions of call frame information. Input: two bytes that choose registers and stack; the rest is the
// expression.
#include "fuzz.h"

#include "unwind/expression.h"

#define CODE  UINT64_C(0x400000)
#define STACK UINT64_C(0x7ffe0000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct full_registers registers = { .known = 0 };
	struct memory_span code, stack;
	uint64_t words[32], value, initial = STACK + 64;

	if (size < 2)
		return 0;
	for (size_t i = 0; i < 32; i++)
		words[i] = STACK + i * data[0];
	for (size_t i = 0; i < CFI_REGISTERS; i++) {
		registers.value[i] = STACK + i * data[1] % 256;
		registers.known |= (uint32_t)(data[1] >> (i % 8) & 1) << i;
	}
	code = (struct memory_span){ data + 2, CODE, size - 2 };
	stack = (struct memory_span){ (const uint8_t *)words, STACK, sizeof(words) };
	for (int with_initial = 0; with_initial < 2; with_initial++) {
		enum step_result result = expression_evaluate(&code, CODE, size - 2, &stack, &registers,
							      with_initial ? &initial : NULL, &value);

		if (result == STEP_OK)
			REACHED();
		REQUIRE(result == STEP_OK || result == STEP_BAD || result == STEP_OUT_OF_BOUNDS);
		// Beyond its span there is nothing to be read.
		expression_evaluate(&code, CODE + 1, size, &stack, &registers, with_initial ? &initial : NULL, &value);
	}
	return 0;
}
