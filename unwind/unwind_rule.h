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

#include "unwind/arch/return_address.h"
#include "unwind/cfi.h"
#include "unwind/stack_word.h"

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

// Executes a row in full. Expressions are read from `code`, memory operands from `stack` only. A callee-saved
// register that cannot be computed leaves `known`; a return address, stack pointer or CFA that cannot is STEP_BAD. On
// STEP_OK *registers is the caller's and *cfa the canonical frame address; otherwise nothing is changed. A pc of 0 is
// STEP_END.
enum step_result unwind_step_full(const struct cfi_row *row, const struct memory_span *code,
				  const struct memory_span *stack, struct full_registers *registers, uint64_t *cfa);

// Executing packed rules. The two kinds that nearly every frame has are inline here: a walk of 13 frames runs them 13
// times within each allocation. The others are a call.

// What the C library's start code takes at most of the stack's outer end, bytes; musl 1.2.3: 100 before main, 64 before
// a thread's function.
#define UNWIND_START_CODE_MAX 256u

// CFA offset in bytes: bits 45..24, signed, times 8.
static inline uint64_t unwind_rule_offset(uint64_t rule) { return (uint64_t)((int64_t)(rule << 18) >> 42) * 8; }

// Bits 23..8: how many words below the CFA fp was saved, 0 = it was not. For UNWIND_PLT, the threshold.
static inline uint64_t unwind_rule_slot(uint64_t rule) { return rule >> 8 & 0xffff; }

// How many words below the CFA a row has saved the frame pointer; 0 = not, or in no such place.
static inline int32_t row_frame_pointer_slot(const struct cfi_row *row)
{
	const struct cfi_rule *fp = &row->registers[CFI_FP];

	return fp->kind == CFI_AT_OFFSET && fp->offset < 0 ? -(fp->offset / 8) : 0;
}

// unwind_step for the kinds other than UNWIND_SP and UNWIND_FP.
enum step_result unwind_step_rare(uint64_t rule, const struct memory_span *stack, struct walk_registers *registers,
				  uint64_t *cfa, bool *caller_pc_is_exact);

// Moves to the caller of a frame with this CFA and, unless `slot` is 0, frame pointer saved so many words below it.
// Shared by all kinds but signal frames. pre: RETURN_ADDRESS_SLOT(slot) is not 0
static inline enum step_result unwind_to_cfa(uint64_t frame, uint64_t slot, const struct memory_span *stack,
					     struct walk_registers *registers, uint64_t *cfa, bool *caller_pc_is_exact)
{
	uint64_t top = frame - stack->address; // wraps to a large number below the span
	uint64_t place = RETURN_ADDRESS_SLOT(slot) * 8, pc;

	if (HS_UNLIKELY(frame & 7))
		return STEP_BAD;
	if (HS_UNLIKELY(top > stack->size || top < place || top < slot * 8))
		return STEP_OUT_OF_BOUNDS;
	if (HS_UNLIKELY(frame <= registers->sp))
		return STEP_NO_PROGRESS;
	pc = stack_word(stack, top - place);
	if (HS_UNLIKELY(pc == 0))
		return STEP_END;
	if (slot)
		registers->fp = stack_word(stack, top - slot * 8);
	registers->pc = pc;
	registers->sp = frame;
	*cfa = frame;
	*caller_pc_is_exact = false;
	return STEP_OK;
}

// Executes a packed rule. On STEP_OK *registers is the caller's, *cfa the canonical frame address, and
// *caller_pc_is_exact true when the caller was interrupted by a signal. Otherwise nothing is changed. A pc of 0 read
// from the stack is STEP_END.
static inline enum step_result unwind_step(uint64_t rule, const struct memory_span *stack,
					   struct walk_registers *registers, uint64_t *cfa, bool *caller_pc_is_exact)
{
	unsigned kind = UNWIND_KIND(rule);
	uint64_t base = kind == UNWIND_SP ? registers->sp : registers->fp;

	if (HS_UNLIKELY(kind - UNWIND_SP > UNWIND_FP - UNWIND_SP))
		return unwind_step_rare(rule, stack, registers, cfa, caller_pc_is_exact);
	return unwind_to_cfa(base + unwind_rule_offset(rule), unwind_rule_slot(rule), stack, registers, cfa,
			     caller_pc_is_exact);
}

// One step by three registers, in a walk in full, for a frame without unwind information. What a frame pointer has led
// to need not be a caller. pre: `rule` is UNWIND_FRAME_POINTER or UNWIND_SIGNAL. Otherwise as unwind_step.
HS_ALWAYS_INLINE enum step_result unwind_step_without_info(uint64_t rule, const struct memory_span *stack,
							   struct full_registers *registers)
{
	struct walk_registers three = { registers->value[CFI_RA], registers->value[CFI_SP], registers->value[CFI_FP] };
	bool exact, is_signal = UNWIND_KIND(rule) == UNWIND_SIGNAL;
	enum step_result result;
	uint64_t cfa;

	if (!is_signal && !(registers->known & 1u << CFI_FP))
		return STEP_BAD;
	result = unwind_step(rule, stack, &three, &cfa, &exact);
	if (result != STEP_OK)
		return result;
	registers->value[CFI_RA] = three.pc;
	registers->value[CFI_SP] = three.sp;
	registers->value[CFI_FP] = three.fp;
	registers->known = 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_FP;
	registers->pc_is_exact = exact;
	return STEP_OK;
}

#endif
