// SPDX-License-Identifier: Apache-2.0
// One step of a walk. A cfi_row that fits is packed into 64 bits and executed on three registers (pc, stack pointer,
// frame pointer); the rest is executed in full, on all callee-saved registers. Pure: the stack is a span; a read
// outside it ends the walk.
//
// Packed rule:
//   63..60 kind
//   59..46 module (index + 1; 0 = none)
//   45..24 CFA offset / 8, signed
//   23..8  saved frame pointer (fp below): (CFA - address of its slot) / 8, 0 = fp unchanged; for UNWIND_PLT the
//   threshold 7..0   reserved, 0
#ifndef HEAPSNAP_UNWIND_UNWIND_RULE_H
#define HEAPSNAP_UNWIND_UNWIND_RULE_H

#include "unwind/cfi.h"

enum unwind_kind {
	UNWIND_INVALID = 0,   // so that an empty cache entry is no rule
	UNWIND_END,           // outermost frame: the return address is undefined
	UNWIND_SP,            // cfa = sp + offset;    pc = *(return address); sp = cfa; fp = *(cfa - slot) if saved
	UNWIND_FP,            // cfa = fp + offset;    the same
	UNWIND_FP_DEREF,      // cfa = *(fp + offset); pc = *(return address); sp = cfa; fp = *fp   (realigned stack)
	UNWIND_PLT,           // cfa = sp + offset + ((pc & 15) >= threshold ? 8 : 0); the same, fp unchanged
	UNWIND_SIGNAL,        // kernel signal frame: pc, sp, fp from the ucontext at sp + offset
	UNWIND_SLOW,          // needs more registers or expressions: unwind_step_full
	UNWIND_FRAME_POINTER, // no CFI: cfa = fp + 16; pc = *(fp + 8); fp = *fp, if fp >= sp; 0 = outermost frame
	UNWIND_NO_INFO,       // the walk ends: no CFI, and no frame pointer allowed
	UNWIND_BAD,           // the walk ends: CFI that cannot be used
};

#define UNWIND_KIND(rule)   ((enum unwind_kind)((rule) >> 60))
#define UNWIND_MODULE(rule) ((uint32_t)((rule) >> 46) & 0x3fffu)

struct walk_registers {
	uint64_t pc, sp, fp;
};

// All that a full step needs; `known` has bit 1 << CFI_* set for registers whose value is known.
struct full_registers {
	uint64_t value[CFI_REGISTERS]; // [CFI_SP] stack pointer, [CFI_RA] pc
	uint32_t known;
	bool pc_is_exact; // an interrupted instruction, not a return address
};

enum step_result {
	STEP_OK,
	STEP_END,           // outermost frame reached: complete
	STEP_OUT_OF_BOUNDS, // a read outside the stack span
	STEP_NO_PROGRESS,   // the stack pointer did not move up
	STEP_BAD,           // the rule cannot be executed
	STEP_SLOW,          // the packed rule says: use unwind_step_full
};

// Packs a row. `row` NULL with result CFI_NO_ENTRY gives FRAME_POINTER; UNSUPPORTED and MALFORMED give BAD. The row's
// expressions are read from `code` (the span that cfi_decode was given), to know the common ones. module: index + 1,
// or 0.
uint64_t unwind_rule_pack(enum cfi_result result, const struct cfi_row *row, const struct memory_span *code,
			  uint32_t module);

// The rule for the code that signal handlers return to, where it has no CFI (musl): the ucontext is at the stack
// pointer.
uint64_t unwind_rule_signal(uint32_t module);

// unwind_step, which executes a packed rule, is inline, in unwind_step.h.

// Executes a row in full. Expressions are read from `code`, memory operands from `stack` only. A callee-saved
// register that cannot be computed leaves `known`; a return address, stack pointer or CFA that cannot is STEP_BAD. On
// STEP_OK *registers is the caller's and *cfa the canonical frame address; otherwise nothing is changed. A pc of 0 is
// STEP_END.
enum step_result unwind_step_full(const struct cfi_row *row, const struct memory_span *code,
				  const struct memory_span *stack, struct full_registers *registers, uint64_t *cfa);

#endif
