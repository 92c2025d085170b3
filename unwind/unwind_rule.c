// SPDX-License-Identifier: Apache-2.0
// Packs rows of call frame information into 64 bits, and executes the rarer kinds. Runs in hooks, on the target's
// stacks: no calls out, reads inside spans only.
#include "unwind/unwind_rule.h"
#include "unwind/arch/signal_frame.h"
#include "unwind/cfi.h"
#include "unwind/span_reader.h"

// Operations of the expressions that are known by sight (DWARF 5 §7.7.1).
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT3 = OP_LIT0 + 3,
	OP_LIT15 = OP_LIT0 + 15,
	OP_BREG0 = 0x70,
	OP_BREG_FP = OP_BREG0 + DWARF_FP,
	OP_BREG_SP = OP_BREG0 + DWARF_SP,
	OP_BREG_RA = OP_BREG0 + DWARF_RA,
};

#define OFFSET_BITS 22
#define SLOT_MAX    0xffff

static uint64_t pack(enum unwind_kind kind, uint32_t module, int64_t offset, uint64_t slot)
{
	uint64_t words = (uint64_t)(offset / 8) & ((UINT64_C(1) << OFFSET_BITS) - 1);

	return (uint64_t)kind << 60 | (uint64_t)(module & 0x3fff) << 46 | words << 24 | slot << 8;
}

static bool offset_fits(int64_t offset)
{
	int64_t limit = (int64_t)8 << (OFFSET_BITS - 1);

	return offset % 8 == 0 && offset >= -limit && offset < limit;
}

static struct span_reader expression_reader(const struct memory_span *code, uint64_t expression, uint64_t size)
{
	uint64_t begin = expression - code->address;

	return span_reader_make(code, begin, begin <= UINT64_MAX - size ? begin + size : begin);
}

// Passes over one operation "breg + offset"; false when something else is there.
static bool match_breg(struct span_reader *reader, uint8_t breg, int64_t *offset_ret)
{
	if (span_reader_u8(reader) != breg)
		return false;
	*offset_ret = span_reader_sleb(reader);
	return !reader->failed;
}

static bool match_end(const struct span_reader *reader) { return !reader->failed && reader->offset == reader->end; }

// The whole rule is *(register + offset), the register named by its breg operation.
static bool is_saved_at(const struct memory_span *code, const struct cfi_rule *rule, uint8_t breg, int64_t offset)
{
	struct span_reader reader = expression_reader(code, rule->expression, rule->expression_size);
	int64_t found;

	return rule->kind == CFI_AT_EXPRESSION && match_breg(&reader, breg, &found) && found == offset &&
	       match_end(&reader);
}

// The CFA is "breg offset; deref".
static bool match_deref_cfa(const struct memory_span *code, const struct cfi_row *row, uint8_t breg,
			    int64_t *offset_ret)
{
	struct span_reader reader = expression_reader(code, row->cfa_expression, row->cfa_expression_size);

	return match_breg(&reader, breg, offset_ret) && span_reader_u8(&reader) == OP_DEREF && match_end(&reader);
}

// The return address is where RETURN_ADDRESS_SLOT has it, and the caller's stack pointer is the CFA.
static bool is_plain(const struct cfi_row *row)
{
	const struct cfi_rule *ra = &row->registers[CFI_RA], *sp = &row->registers[CFI_SP];

	return RETURN_ADDRESS_SLOT(row_frame_pointer_slot(row)) && ra->kind == CFI_AT_OFFSET &&
	       ra->offset == -8 * RETURN_ADDRESS_SLOT(row_frame_pointer_slot(row)) &&
	       (sp->kind == CFI_SAME || (sp->kind == CFI_IS_OFFSET && sp->offset == 0));
}

// GCC's function that realigns its stack, on x86-64: the CFA was spilled below the new frame's fp, which points at the
// saved one.
static bool match_realigned(const struct memory_span *code, const struct cfi_row *row, int64_t *offset_ret)
{
	return is_plain(row) && match_deref_cfa(code, row, OP_BREG_FP, offset_ret) && offset_fits(*offset_ret) &&
	       is_saved_at(code, &row->registers[CFI_FP], OP_BREG_FP, 0);
}

// A linker's procedure linkage table on x86-64: entries of 16 bytes that push a word before their instruction at
// `threshold`. The linker writes sp + 8 + ((pc & 15) >= threshold) << 3; GNU ld 2.40 with 11 for plain entries, with 9
// for those that begin with a mark for indirect branches.
static bool match_plt(const struct memory_span *code, const struct cfi_row *row, int64_t *offset_ret,
		      uint64_t *threshold_ret)
{
	struct span_reader reader = expression_reader(code, row->cfa_expression, row->cfa_expression_size);
	int64_t pc_offset;
	uint8_t literal;

	if (!is_plain(row) || row->registers[CFI_FP].kind != CFI_SAME || !match_breg(&reader, OP_BREG_SP, offset_ret) ||
	    !match_breg(&reader, OP_BREG_RA, &pc_offset) || pc_offset != 0 || span_reader_u8(&reader) != OP_LIT15 ||
	    span_reader_u8(&reader) != OP_AND)
		return false;
	literal = span_reader_u8(&reader);
	*threshold_ret = (uint64_t)literal - OP_LIT0;
	return literal >= OP_LIT0 && literal <= OP_LIT15 && span_reader_u8(&reader) == OP_GE &&
	       span_reader_u8(&reader) == OP_LIT3 && span_reader_u8(&reader) == OP_SHL &&
	       span_reader_u8(&reader) == OP_PLUS && match_end(&reader) && offset_fits(*offset_ret);
}

// The C library's return trampoline of a signal handler: all registers in a ucontext at sp + offset.
static bool match_signal_frame(const struct memory_span *code, const struct cfi_row *row, int64_t *offset_ret)
{
	const struct cfi_rule *sp = &row->registers[CFI_SP];
	int64_t offset;

	if (!row->is_signal_frame || !match_deref_cfa(code, row, OP_BREG_SP, &offset) || !offset_fits(offset))
		return false;
	offset -= UCONTEXT_SP;
	*offset_ret = offset;
	return offset_fits(offset) && is_saved_at(code, &row->registers[CFI_RA], OP_BREG_SP, offset + UCONTEXT_PC) &&
	       is_saved_at(code, &row->registers[CFI_FP], OP_BREG_SP, offset + UCONTEXT_FP) &&
	       (sp->kind == CFI_SAME || is_saved_at(code, sp, OP_BREG_SP, offset + UCONTEXT_SP));
}

static uint64_t pack_expression_row(const struct cfi_row *row, const struct memory_span *code, uint32_t module)
{
	int64_t offset;
	uint64_t threshold;

	if (match_signal_frame(code, row, &offset))
		return pack(UNWIND_SIGNAL, module, offset, 0);
	if (row->is_signal_frame)
		return pack(UNWIND_SLOW, module, 0, 0);
	if (match_realigned(code, row, &offset))
		return pack(UNWIND_FP_DEREF, module, offset, 0);
	if (match_plt(code, row, &offset, &threshold))
		return pack(UNWIND_PLT, module, offset, threshold);
	return pack(UNWIND_SLOW, module, 0, 0);
}

uint64_t unwind_rule_pack(enum cfi_result result, const struct cfi_row *row, const struct memory_span *code,
			  uint32_t module)
{
	const struct cfi_rule *fp;
	uint64_t slot = 0;

	if (result == CFI_NO_ENTRY)
		return pack(UNWIND_FRAME_POINTER, module, 0, 0);
	if (result != CFI_OK || row->registers[CFI_RA].kind == CFI_SAME)
		return pack(UNWIND_BAD, module, 0, 0);
	if (row->registers[CFI_RA].kind == CFI_UNDEFINED)
		return pack(UNWIND_END, module, 0, 0);
	if (row->cfa_is_expression)
		return pack_expression_row(row, code, module);

	fp = &row->registers[CFI_FP];
	if (fp->kind == CFI_AT_OFFSET && fp->offset % 8 == 0 && fp->offset <= -16 && fp->offset >= -8 * SLOT_MAX)
		slot = (uint64_t)(-fp->offset / 8);
	else if (fp->kind != CFI_SAME)
		return pack(UNWIND_SLOW, module, 0, 0);
	if (row->is_signal_frame || !is_plain(row) || !offset_fits(row->cfa_offset))
		return pack(UNWIND_SLOW, module, 0, 0);
	if (row->cfa_register == CFI_SP)
		return pack(UNWIND_SP, module, row->cfa_offset, slot);
	if (row->cfa_register == CFI_FP)
		return pack(UNWIND_FP, module, row->cfa_offset, slot);
	return pack(UNWIND_SLOW, module, 0, 0);
}

uint64_t unwind_rule_signal(uint32_t module) { return pack(UNWIND_SIGNAL, module, UCONTEXT_FROM_SP, 0); }

static enum step_result step_realigned(uint64_t rule, const struct memory_span *stack, struct walk_registers *registers,
				       uint64_t *cfa, bool *caller_pc_is_exact)
{
	uint64_t frame, caller_fp;
	enum step_result result;

	if (!stack_read(stack, registers->fp + unwind_rule_offset(rule), &frame) ||
	    !stack_read(stack, registers->fp, &caller_fp))
		return STEP_OUT_OF_BOUNDS;
	result = unwind_to_cfa(frame, 0, stack, registers, cfa, caller_pc_is_exact);
	if (result == STEP_OK)
		registers->fp = caller_fp;
	return result;
}

static enum step_result step_signal(uint64_t rule, const struct memory_span *stack, struct walk_registers *registers,
				    uint64_t *cfa, bool *caller_pc_is_exact)
{
	uint64_t context = registers->sp + unwind_rule_offset(rule) - stack->address; // offset in the span
	struct walk_registers caller;

	if (context > stack->size || stack->size - context < UCONTEXT_USED)
		return STEP_OUT_OF_BOUNDS;
	caller.pc = stack_word(stack, context + UCONTEXT_PC);
	caller.sp = stack_word(stack, context + UCONTEXT_SP);
	caller.fp = stack_word(stack, context + UCONTEXT_FP);
	if (caller.sp - stack->address > stack->size)
		return STEP_OUT_OF_BOUNDS; // the handler ran on another stack
	if (caller.sp <= registers->sp)
		return STEP_NO_PROGRESS;
	if (caller.sp & 7)
		return STEP_BAD;
	if (caller.pc == 0)
		return STEP_END;
	*registers = caller;
	*cfa = caller.sp;
	*caller_pc_is_exact = true;
	return STEP_OK;
}

// A frame pointer of 0 marks the outermost frame (x86-64 psABI, "Initial Stack and
// Register State"; AAPCS64, "The Frame Pointer").
static enum step_result step_frame_pointer(const struct memory_span *stack, struct walk_registers *registers,
					   uint64_t *cfa, bool *caller_pc_is_exact)
{
	if (registers->fp == 0)
		return STEP_END;
	if (registers->fp < registers->sp || registers->fp > UINT64_MAX - 16)
		return STEP_OUT_OF_BOUNDS;
	return unwind_to_cfa(registers->fp + 16, 2, stack, registers, cfa, caller_pc_is_exact);
}

enum step_result unwind_step_rare(uint64_t rule, const struct memory_span *stack, struct walk_registers *registers,
				  uint64_t *cfa, bool *caller_pc_is_exact)
{
	uint64_t pushed;

	switch (UNWIND_KIND(rule)) {
	case UNWIND_END:
		return STEP_END;
	case UNWIND_FP_DEREF:
		return step_realigned(rule, stack, registers, cfa, caller_pc_is_exact);
	case UNWIND_PLT:
		pushed = (registers->pc & 15) >= unwind_rule_slot(rule) ? 8 : 0;
		return unwind_to_cfa(registers->sp + unwind_rule_offset(rule) + pushed, 0, stack, registers, cfa,
				     caller_pc_is_exact);
	case UNWIND_SIGNAL:
		return step_signal(rule, stack, registers, cfa, caller_pc_is_exact);
	case UNWIND_FRAME_POINTER:
		return step_frame_pointer(stack, registers, cfa, caller_pc_is_exact);
	case UNWIND_SLOW:
		return STEP_SLOW;
	default:
		return STEP_BAD;
	}
}
