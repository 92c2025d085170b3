// SPDX-License-Identifier: Apache-2.0
// The program of a line table (DWARF 5 §6.2.5), executed: rows by address.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_LINE_ROWS_H
#define HEAPSNAP_SNAPSHOT_DWARF_LINE_ROWS_H

#include "base/error.h"
#include "base/range_index.h"
#include "unwind/span_reader.h"

#include <stddef.h>

struct line_program {
	struct span_reader bytes;
	uint8_t instruction_size; // the smallest one's bytes
	int8_t line_base;         // of special opcodes, with the next two
	uint8_t line_range;       // > 0
	uint8_t opcode_base;      // > 0
	uint8_t operand_counts[256];
};

// Where code of a line begins; it goes to the next row.
struct line_row {
	uint64_t address;
	uint32_t file, line;
};

// The rows of a sequence (a range of code without a gap) stand together, and the last one is where it ends. Rows that
// say what the one before says are left out, and of those of one address all but the last.
struct line_rows {
	struct line_row *items; // owned
	size_t count, room;
	struct line_sequence *sequences; // owned
	size_t sequence_count, sequence_room;
	struct range_index ranges; // value: index into sequences
};

// Reads up to the end, or to what makes no sense. pre: *ret is zeroed; it is deinitialized by the caller, also after an
// error. HS_ERROR_NO_MEMORY.
struct hs_error *line_rows_read(const struct line_program *program, struct line_rows *ret) HS_MUST_CHECK;
void line_rows_deinit(struct line_rows *rows);

// The row that covers an address; NULL = none.
const struct line_row *line_rows_find(const struct line_rows *rows, uint64_t address);

#endif
