// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/line_rows.h"

#include "base/array.h"
#include "snapshot/dwarf/constants.h"

#include <stdlib.h>

struct line_sequence {
	size_t first, count; // index into items; the last one is where it ends
};

// The state machine. Columns, statements, blocks and discriminators are of no use here.
struct machine {
	const struct line_program *program;
	struct span_reader reader;
	struct line_rows *rows;
	uint64_t address, file, line;
	size_t first; // row of the present sequence
};

static void begin_sequence(struct machine *machine)
{
	machine->address = 0;
	machine->file = 1;
	machine->line = 1;
	machine->first = machine->rows->count;
}

static struct hs_error *end_sequence(struct machine *machine)
{
	struct line_rows *rows = machine->rows;
	const size_t count = rows->count - machine->first;
	const uint64_t begin = count > 0 ? rows->items[machine->first].address : 0;

	// At 0 and 1 is what the linker dropped.
	if (begin <= 1 || count < 2) {
		rows->count = machine->first;
		return NULL;
	}
	if (ARRAY_RESERVE(rows->sequences, rows->sequence_count + 1, &rows->sequence_room))
		return &hs_error_no_memory;
	rows->sequences[rows->sequence_count] = (struct line_sequence){ machine->first, count };
	machine->first = rows->count;
	return range_index_add(&rows->ranges, begin, rows->items[rows->count - 1].address, rows->sequence_count++);
}

static struct hs_error *add_row(struct machine *machine, bool is_end)
{
	struct line_rows *rows = machine->rows;
	struct line_row row = { machine->address, (uint32_t)machine->file, (uint32_t)machine->line };

	if (rows->count > machine->first) {
		struct line_row *last = &rows->items[rows->count - 1];

		if (row.address == last->address && !is_end) {
			*last = row;
			return NULL;
		}
		if (row.file == last->file && row.line == last->line && row.address > last->address && !is_end)
			return NULL;
		// Addresses only rise in a sequence. Where they do not, what came before is one of its own.
		if (row.address < last->address) {
			struct hs_error *error = end_sequence(machine);

			if (error)
				return error;
		}
	}
	if (ARRAY_RESERVE(rows->items, rows->count + 1, &rows->room))
		return &hs_error_no_memory;
	rows->items[rows->count++] = row;
	return NULL;
}

static void advance(struct machine *machine, uint64_t operations)
{
	machine->address += operations * machine->program->instruction_size;
}

static struct hs_error *extended(struct machine *machine)
{
	const uint64_t size = span_reader_uleb(&machine->reader);
	struct span_reader operands = machine->reader;
	struct hs_error *error = NULL;

	if (!span_reader_take(&machine->reader, size) || size == 0)
		return NULL;
	operands.end = machine->reader.offset;
	switch (span_reader_u8(&operands)) {
	case DW_LNE_end_sequence:
		error = add_row(machine, true);
		if (!error)
			error = end_sequence(machine);
		begin_sequence(machine);
		break;
	case DW_LNE_set_address:
		if (operands.end - operands.offset == sizeof(machine->address))
			machine->address = span_reader_unsigned(&operands, sizeof(machine->address));
		break;
	default: // DW_LNE_define_file is of compilers long gone
		break;
	}
	return error;
}

static struct hs_error *standard(struct machine *machine, uint8_t opcode)
{
	const struct line_program *program = machine->program;
	struct span_reader *reader = &machine->reader;

	switch (opcode) {
	case DW_LNS_copy:
		return add_row(machine, false);
	case DW_LNS_advance_pc:
		advance(machine, span_reader_uleb(reader));
		break;
	case DW_LNS_advance_line:
		machine->line += (uint64_t)span_reader_sleb(reader);
		break;
	case DW_LNS_set_file:
		machine->file = span_reader_uleb(reader);
		break;
	case DW_LNS_const_add_pc:
		advance(machine, (255u - program->opcode_base) / program->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += span_reader_unsigned(reader, 2);
		break;
	default:
		for (unsigned i = 0; i < program->operand_counts[opcode]; i++)
			span_reader_uleb(reader);
	}
	return NULL;
}

struct hs_error *line_rows_read(const struct line_program *program, struct line_rows *ret)
{
	struct machine machine = { .program = program, .reader = program->bytes, .rows = ret };
	// A row that is kept takes seven to fourteen bytes of a program.
	struct hs_error *error =
		ARRAY_RESERVE(ret->items, (program->bytes.end - program->bytes.offset) / 8, &ret->room);

	begin_sequence(&machine);
	while (!error && machine.reader.offset < machine.reader.end) {
		const uint8_t opcode = span_reader_u8(&machine.reader);

		if (opcode == 0) {
			error = extended(&machine);
		} else if (opcode < program->opcode_base) {
			error = standard(&machine, opcode);
		} else {
			const unsigned special = (unsigned)opcode - program->opcode_base;

			advance(&machine, special / program->line_range);
			machine.line += (uint64_t)(program->line_base + (int)(special % program->line_range));
			error = add_row(&machine, false);
		}
	}
	ret->count = machine.first; // a sequence that does not end has no last address
	range_index_sort(&ret->ranges);
	return error;
}

void line_rows_deinit(struct line_rows *rows)
{
	free(rows->items);
	free(rows->sequences);
	range_index_deinit(&rows->ranges);
	*rows = (struct line_rows){ 0 };
}

const struct line_row *line_rows_find(const struct line_rows *rows, uint64_t address)
{
	size_t number;

	if (!range_index_find(&rows->ranges, address, &number))
		return NULL;

	const struct line_sequence *sequence = &rows->sequences[number];
	const struct line_row *first = &rows->items[sequence->first];

	// The range holds the address, so a row begins at it or before.
	return &first[ARRAY_COUNT_UP_TO(first, sequence->count, address, address) - 1];
}
