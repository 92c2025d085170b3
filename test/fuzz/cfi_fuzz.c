// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness of the CFI decoder, the rule packer and both ways to execute a row.
// Input: pc distance (4 bytes), header size (2), two bytes that choose the stack's words; the rest is the span, whose
// first bytes are .eh_frame_hdr.
#include "fuzz.h"

#include "unwind/unwind_rule.h"

#include <string.h>

#define BASE  UINT64_C(0x400000)
#define STACK UINT64_C(0x7ffe0000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t words[64], cfa, rule, sp;
	struct memory_span stack = { (const uint8_t *)words, STACK, sizeof words }, span;
	struct full_registers full = { .known = (1u << CFI_REGISTERS) - 1 };
	struct walk_registers registers;
	struct cfi_row row;
	enum cfi_result result;
	uint32_t pc;
	uint16_t hdr_size;
	bool exact;

	if (size < 8)
		return 0;
	memcpy(&pc, data, sizeof pc);
	memcpy(&hdr_size, data + 4, sizeof hdr_size);
	for (size_t i = 0; i < 64; i++)
		words[i] = data[6] & 1 ? STACK + (i * (data[7] | 1u)) % 65 * 8 : i * data[7];
	for (size_t i = 0; i < CFI_REGISTERS; i++)
		full.value[i] = STACK + (i * data[7]) % 65 * 8;

	span = (struct memory_span){ data + 8, BASE, size - 8 };
	result = cfi_decode(&span, BASE, hdr_size, BASE + pc, &row);
	if (result == CFI_OK)
		REACHED();
	rule = unwind_rule_pack(result, result == CFI_OK ? &row : NULL, &span, 1);
	registers = (struct walk_registers){ BASE + pc, full.value[CFI_SP], full.value[CFI_FP] };
	sp = registers.sp;
	if (unwind_step(rule, &stack, &registers, &cfa, &exact) == STEP_OK)
		REQUIRE(registers.sp > sp);
	if (result == CFI_OK && unwind_step_full(&row, &span, &stack, &full, &cfa) == STEP_OK)
		REQUIRE(full.value[CFI_SP] > sp);
	return 0;
}
