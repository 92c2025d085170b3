// SPDX-License-Identifier: Apache-2.0
// Call frame information (.eh_frame): from a program counter to one row of rules. Pure: reads only the span that it is
// given, every read bounds-checked; no allocation, bounded time. Runs in hooks and in tests.
// Sources: DWARF 5 §6.4; Linux Standard Base, "Exception Frames" and ".eh_frame_hdr"; the psABI of the architecture.
#ifndef HEAPSNAP_UNWIND_CFI_H
#define HEAPSNAP_UNWIND_CFI_H

#include "unwind/arch/dwarf_registers.h"
#include "unwind/freestanding.h"
#include "unwind/memory_span.h"

// The registers that matter to a walk: their numbers in DWARF, and in a row.
#define X(name, number) DWARF_##name = (number),
enum { HS_CFI_REGISTERS(X) };
#undef X
#define X(name, number) CFI_##name,
enum { HS_CFI_REGISTERS(X) CFI_REGISTERS };
#undef X

enum cfi_rule_kind {
	CFI_SAME = 0,      // register keeps its value (also for registers that no instruction names)
	CFI_UNDEFINED,     // value lost; for the return address: outermost frame
	CFI_AT_OFFSET,     // *(CFA + offset)
	CFI_IS_OFFSET,     // CFA + offset
	CFI_IN_REGISTER,   // value of register `offset` (a CFI_* index)
	CFI_AT_EXPRESSION, // *(expression), CFA pushed first
	CFI_IS_EXPRESSION, // expression, CFA pushed first
};

struct cfi_rule {
	uint8_t kind;             // enum cfi_rule_kind
	uint16_t expression_size; // bytes
	int32_t offset;
	uint64_t expression; // address of its bytes, inside the span
};

struct cfi_row {
	bool cfa_is_expression;
	uint8_t cfa_register; // CFI_* index, when it is no expression
	int32_t cfa_offset;
	uint16_t cfa_expression_size;
	uint64_t cfa_expression;
	bool is_signal_frame;                     // augmentation 'S': this frame's pc, and so its caller's, is exact
	struct cfi_rule registers[CFI_REGISTERS]; // CFI_SP: CFI_SAME means "the CFA", as the ABI has it
};

enum cfi_result {
	CFI_OK,
	CFI_NO_ENTRY,    // no FDE covers the pc
	CFI_UNSUPPORTED, // valid, but not a form that this decoder knows
	CFI_MALFORMED,   // out of the span, or nonsense
};

// Finds the FDE for `pc` through the binary search table of .eh_frame_hdr at `hdr` (hdr_size bytes, inside span; a
// table of the form datarel|sdata4, as every linker writes), and by a linear scan of .eh_frame when there is no such
// table (bounded by the span); runs CIE and FDE instructions up to `pc`. The pc is the one to look up: for a return
// address, the caller has taken 1 from it. Uses less than 1 KiB of stack.
enum cfi_result cfi_decode(const struct memory_span *span, uint64_t hdr, uint64_t hdr_size, uint64_t pc,
			   struct cfi_row *ret);

// The same by a table that was made for a module without .eh_frame_hdr: `table` holds nothing but pairs {first pc,
// address of the FDE}, as signed 32-bit distances from the span's start, ascending.
enum cfi_result cfi_decode_by_table(const struct memory_span *span, const struct memory_span *table, uint64_t pc,
				    struct cfi_row *ret);

#endif
