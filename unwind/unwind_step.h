// SPDX-License-Identifier: Apache-2.0
// Executes packed rules (unwind_rule.h). The two kinds that nearly every frame has are inline here: a walk of 13 frames
// runs them 13 times within each allocation. The others are a call.
#ifndef HEAPSNAP_UNWIND_UNWIND_STEP_H
#define HEAPSNAP_UNWIND_UNWIND_STEP_H

#include "unwind/arch/return_address.h"
#include "unwind/stack_word.h"
#include "unwind/unwind_rule.h"

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

#endif
