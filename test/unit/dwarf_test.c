// SPDX-License-Identifier: Apache-2.0
// The parts of the reader of debug information, each on bytes made by hand: what compilers rarely write, and what none
// would.
#include "base/range_index.h"
#include "snapshot/dwarf/abbreviations.h"
#include "snapshot/dwarf/constants.h"
#include "snapshot/dwarf/die.h"
#include "snapshot/dwarf/line_rows.h"
#include "snapshot/dwarf/pc_ranges.h"

#include "check.h"
#include "error_check.h"

#define SPAN(...)                                                                                                      \
	(struct memory_span) { (const uint8_t[]){ __VA_ARGS__ }, 0, sizeof((const uint8_t[]){ __VA_ARGS__ }) }
#define ADDRESS(value) (value) & 0xff, (value) >> 8 & 0xff, (value) >> 16 & 0xff, 0, 0, 0, 0, 0
#define LAST_ADDRESS   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff

static const struct form_format dwarf_4 = { 4, 4 }, dwarf_5 = { 5, 4 };

static void read_abbreviations(void)
{
	// 7 and 3 stand in the wrong order; behind 9 are a tag without attributes and the end.
	const struct memory_span section =
		SPAN(7, DW_TAG_variable, 0, DW_AT_sibling, DW_FORM_ref4, DW_AT_name, DW_FORM_strp, 0, 0,     //
		     3, DW_TAG_subprogram, 1, DW_AT_name, DW_FORM_string, DW_AT_sibling, DW_FORM_ref4, 0, 0, //
		     9, DW_TAG_label, 0, DW_AT_decl_line, DW_FORM_implicit_const, 0x7f, 0, 0, 0);
	struct abbreviations table;
	const struct abbreviation *item;

	must(abbreviations_read(&section, 0, 0, &dwarf_5, &table));
	CHECK_EQUAL(table.count, 3);
	item = abbreviations_find(&table, 7);
	CHECK(item && item->tag == DW_TAG_variable && !item->has_children && item->size == 8 && item->sibling == 0);
	item = abbreviations_find(&table, 3);
	CHECK(item && item->tag == DW_TAG_subprogram && item->has_children && item->size == FORM_SIZE_VARIES &&
	      item->sibling == -1);
	item = abbreviations_find(&table, 9);
	CHECK(item && item->size == 0 && table.attributes[item->first_attribute].implicit == -1);
	CHECK(!abbreviations_find(&table, 1) && !abbreviations_find(&table, 0) && !abbreviations_find(&table, 8));
	abbreviations_deinit(&table);

	must(abbreviations_read(&section, 0, 7, &dwarf_5, &table));
	CHECK_EQUAL(table.count, 1);
	abbreviations_deinit(&table);

	// cut off inside the second one
	const struct memory_span cut = { section.bytes, 0, 13 };

	must(abbreviations_read(&cut, 0, 0, &dwarf_5, &table));
	CHECK_EQUAL(table.count, 1);
	abbreviations_deinit(&table);
	must(abbreviations_read(&cut, 14, 0, &dwarf_5, &table));
	CHECK_EQUAL(table.count, 0);
	abbreviations_deinit(&table);
}

static void skip_forms(void)
{
	static const struct {
		struct memory_span bytes;
		uint64_t form, size; // size 0: fails
	} cases[] = {
		{ { (const uint8_t *)"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 0, 10 }, DW_FORM_sdata, 10 },
		{ { (const uint8_t *)"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 0, 10 }, DW_FORM_udata, 0 },
		{ { (const uint8_t *)"\x03xyz", 0, 4 }, DW_FORM_exprloc, 4 },
		{ { (const uint8_t *)"\x04xyz", 0, 4 }, DW_FORM_exprloc, 0 },
		{ { (const uint8_t *)"\x02\x00xyz", 0, 5 }, DW_FORM_block2, 4 },
		{ { (const uint8_t *)"ab\0c", 0, 4 }, DW_FORM_string, 3 },
		{ { (const uint8_t *)"abcd", 0, 4 }, DW_FORM_string, 0 },
		{ { (const uint8_t *)"\x0b\x01", 0, 2 }, DW_FORM_indirect, 2 },     // DW_FORM_data1
		{ { (const uint8_t *)"\x16\x0b\x01", 0, 3 }, DW_FORM_indirect, 0 }, // indirect once more
		{ { (const uint8_t *)"abcd", 0, 4 }, 0x3f, 0 },                     // unknown
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span_reader reader = span_reader_make(&cases[i].bytes, 0, cases[i].bytes.size);

		form_skip(&reader, cases[i].form, &dwarf_5);
		CHECK_EQUAL(reader.failed, cases[i].size == 0);
		if (!reader.failed)
			CHECK_EQUAL(reader.offset, cases[i].size);
	}
}

// The ranges of a list as pairs; returns how many.
static size_t read_ranges(const struct memory_span *list, const struct form_format *format, uint64_t base,
			  uint64_t ranges[][2])
{
	struct debug_file file = { .sections = { .ranges = *list, .rnglists = *list } };
	const struct debug_unit unit = { .file = &file, .low_pc = base, .forms = { .format = *format } };
	const struct pc_attributes code = { .ranges = { .class = FORM_SECTION_OFFSET } };
	struct range_index index = { 0 };
	size_t count;

	must(pc_ranges_add(&unit, &code, &index, 0));
	count = index.count;
	for (size_t i = 0; i < count; i++) {
		ranges[i][0] = index.items[i].low;
		ranges[i][1] = index.items[i].high;
	}
	range_index_deinit(&index);
	return count;
}

static void read_range_lists(void)
{
	uint64_t ranges[8][2];
	// an empty pair first, as gcc writes it; then a base, a pair, one the linker dropped, and the end
	const struct memory_span new_list =
		SPAN(DW_RLE_offset_pair, 0, 0, DW_RLE_base_address, ADDRESS(0x2000), DW_RLE_offset_pair, 0x10, 0x20,
		     DW_RLE_base_address, LAST_ADDRESS, DW_RLE_offset_pair, 1, 5, DW_RLE_start_length, ADDRESS(0x3000),
		     4, DW_RLE_start_end, ADDRESS(0x4000), ADDRESS(0x4001), DW_RLE_start_length, ADDRESS(0), 4,
		     DW_RLE_start_length, ADDRESS(1), 4, DW_RLE_end_of_list, DW_RLE_start_length, ADDRESS(0x5000), 4);
	const struct memory_span old_list =
		SPAN(ADDRESS(0x10), ADDRESS(0x20), LAST_ADDRESS, ADDRESS(0x7000), ADDRESS(0), ADDRESS(8), ADDRESS(0x30),
		     ADDRESS(0x30), ADDRESS(0), ADDRESS(0), ADDRESS(1), ADDRESS(2));
	const struct memory_span cut = { new_list.bytes, 0, 20 };

	CHECK_EQUAL(read_ranges(&new_list, &dwarf_5, 0x1000, ranges), 3);
	CHECK(ranges[0][0] == 0x2010 && ranges[0][1] == 0x2020);
	CHECK(ranges[1][0] == 0x3000 && ranges[1][1] == 0x3004);
	CHECK(ranges[2][0] == 0x4000 && ranges[2][1] == 0x4001);
	CHECK_EQUAL(read_ranges(&old_list, &dwarf_4, 0x1000, ranges), 2);
	CHECK(ranges[0][0] == 0x1010 && ranges[0][1] == 0x1020);
	CHECK(ranges[1][0] == 0x7000 && ranges[1][1] == 0x7008);
	CHECK_EQUAL(read_ranges(&cut, &dwarf_5, 0x1000, ranges), 1);
}

static struct line_rows read_rows(const struct memory_span *bytes)
{
	struct line_program program = {
		.bytes = span_reader_make(bytes, 0, bytes->size),
		.instruction_size = 1,
		.line_base = -5,
		.line_range = 14,
		.opcode_base = 13,
		.operand_counts = { 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 },
	};
	struct line_rows rows = { 0 };

	must(line_rows_read(&program, &rows));
	return rows;
}

#define SET_ADDRESS(value) 0, 9, DW_LNE_set_address, ADDRESS(value)
#define END_SEQUENCE       0, 1, DW_LNE_end_sequence
#define SPECIAL(pc, line)  (13 + (line) + 5 + 14 * (pc)) // the row that comes `pc` bytes and `line` lines later

static void check_row(const struct line_rows *rows, uint64_t address, uint32_t file, uint32_t line)
{
	const struct line_row *row = line_rows_find(rows, address);

	CHECK_EQUAL(row ? row->line : 0, line);
	if (line)
		CHECK_EQUAL(row ? row->file : 0, file);
}

static void read_line_programs(void)
{
	const struct memory_span program =
		SPAN(SET_ADDRESS(0x2000), DW_LNS_advance_line, 9, DW_LNS_copy, // 0x2000: line 10
		     SPECIAL(0, 1),                                            // the same place: line 11
		     SPECIAL(2, 0),                                            // 0x2002: line 11 still
		     DW_LNS_set_file, 3, SPECIAL(2, 4),                        // 0x2004: file 3, line 15
		     DW_LNS_const_add_pc, DW_LNS_copy,                         // 0x2015, which changes nothing
		     DW_LNS_set_column, 5, 0, 2, DW_LNE_set_discriminator, 1,  // without effect
		     DW_LNS_fixed_advance_pc, 0x00, 0x01, SPECIAL(0, -1),      // 0x2115: line 14
		     DW_LNS_advance_pc, 4, END_SEQUENCE,                       // 0x2119
		     SET_ADDRESS(0x1000), DW_LNS_copy, DW_LNS_advance_pc, 8, END_SEQUENCE, // before it
		     SET_ADDRESS(0), DW_LNS_copy, DW_LNS_advance_pc, 8, END_SEQUENCE,      // dropped by the linker
		     SET_ADDRESS(0x3000), DW_LNS_copy);                                    // without an end
	struct line_rows rows = read_rows(&program);

	check_row(&rows, 0x1fff, 0, 0);
	check_row(&rows, 0x2000, 1, 11);
	check_row(&rows, 0x2003, 1, 11);
	check_row(&rows, 0x2004, 3, 15);
	check_row(&rows, 0x2114, 3, 15);
	check_row(&rows, 0x2115, 3, 14);
	check_row(&rows, 0x2118, 3, 14);
	check_row(&rows, 0x2119, 0, 0);
	check_row(&rows, 0x1000, 1, 1);
	check_row(&rows, 0x1008, 0, 0);
	check_row(&rows, 4, 0, 0);
	check_row(&rows, 0x3000, 0, 0);
	CHECK_EQUAL(rows.count, 6);
	line_rows_deinit(&rows);
}

static void read_bad_line_programs(void)
{
	// backwards inside a sequence: what came before ends there
	const struct memory_span backwards =
		SPAN(SET_ADDRESS(0x2000), DW_LNS_copy, SPECIAL(4, 1), SPECIAL(4, 1), SET_ADDRESS(0x1000), SPECIAL(0, 1),
		     DW_LNS_advance_pc, 4, END_SEQUENCE);
	const struct memory_span cut = SPAN(SET_ADDRESS(0x2000), DW_LNS_copy, 0, 0x7f, DW_LNE_end_sequence);
	struct line_rows rows = read_rows(&backwards);

	check_row(&rows, 0x2000, 1, 1);
	check_row(&rows, 0x2004, 1, 2);
	check_row(&rows, 0x2008, 0, 0);
	check_row(&rows, 0x1000, 1, 4);
	line_rows_deinit(&rows);
	rows = read_rows(&cut);
	check_row(&rows, 0x2000, 0, 0);
	line_rows_deinit(&rows);
}

// A unit with: a type that holds a function, whose sibling is given; a function whose sibling lies; the end.
static void walk(void)
{
	const struct memory_span abbrev = SPAN(1, DW_TAG_compile_unit, 1, 0, 0,                                //
					       2, DW_TAG_structure_type, 1, DW_AT_sibling, DW_FORM_ref4, 0, 0, //
					       3, DW_TAG_subprogram, 1, DW_AT_sibling, DW_FORM_ref4, 0, 0,     //
					       4, DW_TAG_variable, 0, 0, 0, 0);
	const struct memory_span info = SPAN(34, 0, 0, 0, 5, 0, DW_UT_compile, 8, 0, 0, 0, 0, 1, // 12: the unit
					     2, 26, 0, 0, 0,          // 13: the type, sibling at 26
					     3, 25, 0, 0, 0, 4, 0,    // 18: its function, with a variable
					     0,                       // 25: the end of the type
					     3, 12, 0, 0, 0, 4, 4, 0, // 26: a function that goes back for a sibling
					     4, 0, 0, 0);             // 34: a variable, the end, and more than that
	const struct debug_sections sections = { .info = info, .abbrev = abbrev };
	static const uint64_t all[] = { 13, 18, 23, 26, 31, 32, 34 }, outer[] = { 13, 26, 34 };
	struct debug_file file;
	const struct die *entry;
	struct die unit, die;
	size_t count = 0;

	must(debug_file_init(&sections, NULL, &file));
	CHECK_EQUAL(file.unit_count, 1);
	must(debug_unit_open(&file.units[0]));
	CHECK(die_at(&file.units[0], 12, &unit) && !die_at(&file.units[0], 25, &die) &&
	      !die_at(&file.units[0], 500, &die) && !die_at(&file.units[0], 4, &die));
	for (struct die_walk below = die_walk_below(&unit); (entry = die_walk_next(&below)) && count < 20; count++)
		CHECK_EQUAL(entry->offset, count < 7 ? all[count] : 0);
	CHECK_EQUAL(count, 7);
	count = 0;
	for (struct die_walk below = die_walk_below(&unit); (entry = die_walk_next(&below)) && count < 20; count++) {
		CHECK_EQUAL(below.depth, 1);
		CHECK_EQUAL(entry->offset, count < 3 ? outer[count] : 0);
		die_walk_leave(&below);
	}
	CHECK_EQUAL(count, 3);
	CHECK(debug_file_unit(&file, 20) == &file.units[0] && !debug_file_unit(&file, 38));
	debug_file_deinit(&file);
}

// An entry whose sibling is said to be beyond the unit: what is below it is walked through instead.
static void leave_entry_with_far_sibling(void)
{
	const struct memory_span abbrev = SPAN(1, DW_TAG_compile_unit, 1, 0, 0,                                //
					       2, DW_TAG_structure_type, 1, DW_AT_sibling, DW_FORM_ref4, 0, 0, //
					       3, DW_TAG_variable, 0, 0, 0, 0);
	const struct memory_span info = SPAN(19, 0, 0, 0, 5, 0, DW_UT_compile, 8, 0, 0, 0, 0, 1, // 12: the unit
					     2, 0xff, 0xff, 0, 0, 3, 0,                          // 13: the type
					     3, 0, 0);                                           // 20: a variable
	const struct debug_sections sections = { .info = info, .abbrev = abbrev };
	struct debug_file file;
	const struct die *entry;
	struct die unit;

	must(debug_file_init(&sections, NULL, &file));
	CHECK_EQUAL(file.unit_count, 1);
	must(debug_unit_open(&file.units[0]));
	CHECK(die_at(&file.units[0], 12, &unit));

	struct die_walk below = die_walk_below(&unit);

	entry = die_walk_next(&below);
	CHECK(entry && entry->offset == 13);
	die_walk_leave(&below);
	entry = die_walk_next(&below);
	CHECK(entry && entry->offset == 20);
	CHECK(!die_walk_next(&below));
	debug_file_deinit(&file);
}

// Texts and addresses by their number in a table.
static void read_indexed_forms(void)
{
	const struct memory_span str = SPAN('a', 0, 'b', 'c', 0),
				 offsets = SPAN(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0);
	const struct memory_span addr = SPAN(0, 0, 0, 0, 0, 0, 0, 0, ADDRESS(0x1000), ADDRESS(0x2000));
	const struct memory_span values = SPAN(1, 1, 2, 7, 0, 0, 0);
	const struct debug_sections sections = { .str = str, .str_offsets = offsets, .addr = addr };
	const struct form_context context = { dwarf_5, &sections, NULL, 0x100, 8, 8 };
	struct span_reader reader = span_reader_make(&values, 0, values.size);
	struct form_value value = form_read(&reader, DW_FORM_strx1, 0, &context);

	CHECK(value.class == FORM_TEXT);
	CHECK_STRING(value.text, "bc");
	value = form_read(&reader, DW_FORM_addrx, 0, &context);
	CHECK(value.class == FORM_ADDRESS && value.number == 0x2000);
	value = form_read(&reader, DW_FORM_addrx, 0, &context); // beyond the end
	CHECK(value.class == FORM_UNKNOWN && !reader.failed);
	value = form_read(&reader, DW_FORM_ref4, 0, &context);
	CHECK(value.class == FORM_ENTRY && value.number == 0x107);
	value = form_read(&reader, DW_FORM_data1, 0, &context);
	CHECK(value.class == FORM_UNKNOWN && reader.failed);
}

int main(void)
{
	leave_entry_with_far_sibling();
	read_indexed_forms();
	read_abbreviations();
	skip_forms();
	read_range_lists();
	read_line_programs();
	read_bad_line_programs();
	walk();
	return CHECK_RESULT();
}
