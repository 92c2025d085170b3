// SPDX-License-Identifier: Apache-2.0
// One step with all registers and expressions: for the few rows that do not pack. Runs in hooks, on the target's
// stacks: no calls out, reads of memory inside the stack span only.
#include "unwind/expression.h"
#include "unwind/stack_word.h"

// The rules need these; the caller's frame too.
struct frame {
	const struct memory_span *code, *stack;
	const struct full_registers *registers; // of the callee
	uint64_t cfa;
};

static enum step_result compute_cfa(const struct cfi_row *row, const struct frame *frame, uint64_t *ret)
{
	if (row->cfa_is_expression)
		return expression_evaluate(frame->code, row->cfa_expression, row->cfa_expression_size, frame->stack,
					   frame->registers, NULL, ret);
	if (row->cfa_register >= CFI_REGISTERS || !(frame->registers->known & 1u << row->cfa_register))
		return STEP_BAD;
	*ret = frame->registers->value[row->cfa_register] + (uint64_t)(int64_t)row->cfa_offset;
	return STEP_OK;
}

// The caller's value of register `index`; STEP_BAD when it cannot be known.
static enum step_result compute_register(const struct cfi_rule *rule, unsigned index, const struct frame *frame,
					 uint64_t *ret)
{
	uint64_t address = frame->cfa + (uint64_t)(int64_t)rule->offset;
	unsigned source = index;
	enum step_result result;

	switch (rule->kind) {
	case CFI_SAME:
		if (index == CFI_RA)
			return STEP_BAD; // the caller is not the callee
		if (index == CFI_SP) {
			*ret = frame->cfa;
			return STEP_OK;
		}
		break;
	case CFI_IN_REGISTER:
		source = (unsigned)rule->offset;
		break;
	case CFI_AT_OFFSET:
		return stack_read(frame->stack, address, ret) ? STEP_OK : STEP_OUT_OF_BOUNDS;
	case CFI_IS_OFFSET:
		*ret = address;
		return STEP_OK;
	case CFI_AT_EXPRESSION:
	case CFI_IS_EXPRESSION:
		result = expression_evaluate(frame->code, rule->expression, rule->expression_size, frame->stack,
					     frame->registers, &frame->cfa, &address);
		if (result != STEP_OK)
			return result;
		if (rule->kind == CFI_AT_EXPRESSION)
			return stack_read(frame->stack, address, ret) ? STEP_OK : STEP_OUT_OF_BOUNDS;
		*ret = address;
		return STEP_OK;
	default:
		return STEP_BAD;
	}
	if (source >= CFI_REGISTERS || !(frame->registers->known & 1u << source))
		return STEP_BAD;
	*ret = frame->registers->value[source];
	return STEP_OK;
}

enum step_result unwind_step_full(const struct cfi_row *row, const struct memory_span *code,
				  const struct memory_span *stack, struct full_registers *registers, uint64_t *cfa)
{
	struct frame frame = { code, stack, registers, 0 };
	struct full_registers caller = { .pc_is_exact = row->is_signal_frame };
	uint64_t sp;
	enum step_result result;

	if (row->registers[CFI_RA].kind == CFI_UNDEFINED)
		return STEP_END;
	if (!(registers->known & 1u << CFI_SP))
		return STEP_BAD;
	result = compute_cfa(row, &frame, &frame.cfa);
	if (result != STEP_OK)
		return result;
	if (frame.cfa & 7)
		return STEP_BAD;
	for (unsigned i = 0; i < CFI_REGISTERS; i++) {
		result = compute_register(&row->registers[i], i, &frame, &caller.value[i]);
		if (result == STEP_OK)
			caller.known |= 1u << i;
		else if (i == CFI_RA || i == CFI_SP || result != STEP_BAD)
			return result;
	}
	sp = caller.value[CFI_SP];
	if (sp - stack->address > stack->size)
		return STEP_OUT_OF_BOUNDS; // a signal handler's frame on another stack, for one
	if (sp <= registers->value[CFI_SP])
		return STEP_NO_PROGRESS;
	if (caller.value[CFI_RA] == 0)
		return STEP_END;
	*registers = caller;
	*cfa = frame.cfa;
	return STEP_OK;
}
