// SPDX-License-Identifier: Apache-2.0
// DWARF expressions as call frame information uses them (DWARF 5 §2.5, §6.4.2): a bounded stack machine. Pure.
#ifndef HEAPSNAP_UNWIND_EXPRESSION_H
#define HEAPSNAP_UNWIND_EXPRESSION_H

#include "unwind/unwind_rule.h"

// Evaluates the `size` bytes at address `expression` of `code`. `initial` NULL: the machine starts empty (a CFA); else
// with that value (the CFA). Memory operands come from `stack` only: elsewhere STEP_OUT_OF_BOUNDS. A register that is
// not known, an operation that has no place in CFI, an empty or full machine or too many operations: STEP_BAD.
enum step_result expression_evaluate(const struct memory_span *code, uint64_t expression, uint64_t size,
				     const struct memory_span *stack, const struct full_registers *registers,
				     const uint64_t *initial, uint64_t *ret);

#endif
