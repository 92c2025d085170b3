// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/unit.h"

#include "base/array.h"
#include "snapshot/dwarf/constants.h"
#include "snapshot/dwarf/die.h"
#include "snapshot/dwarf/line_table.h"
#include "snapshot/dwarf/pc_ranges.h"

#include <stdlib.h>

// Tables that several units share are read once.
struct abbreviation_table {
	uint64_t offset;
	struct form_format format;
	struct abbreviations *table; // owned
};

static bool is_table(const void *elements, uint32_t number, const void *wanted)
{
	const struct abbreviation_table *have = (const struct abbreviation_table *)elements + number, *want = wanted;

	return have->offset == want->offset && have->format.version == want->format.version &&
	       have->format.offset_size == want->format.offset_size;
}

struct hs_error *debug_unit_open(struct debug_unit *unit)
{
	struct debug_file *file = unit->file;
	struct abbreviation_table wanted = { unit->abbreviations_offset, unit->forms.format, NULL };

	if (unit->abbreviations)
		return NULL;
	if (hash_table_reserve(&file->table_places) ||
	    ARRAY_RESERVE(file->tables, file->table_count + 1, &file->table_room))
		return &hs_error_no_memory;

	const uint64_t hash = hash_table_word_hash(&file->table_places, wanted.offset);
	struct hash_slot *slot = hash_table_find(&file->table_places, hash, is_table, file->tables, &wanted);

	if (!hash_slot_is_used(slot)) {
		wanted.table = calloc(1, sizeof(*wanted.table));
		if (!wanted.table)
			return &hs_error_no_memory;

		struct hs_error *error =
			abbreviations_read(&file->sections.abbrev, wanted.offset, 0, &unit->forms.format, wanted.table);

		if (error) {
			abbreviations_deinit(wanted.table);
			free(wanted.table);
			return error;
		}
		hash_table_put(&file->table_places, slot, hash, (uint32_t)file->table_count);
		file->tables[file->table_count++] = wanted;
	}
	unit->abbreviations = file->tables[hash_slot_number(slot)].table;
	return NULL;
}

// The header of the unit at the reader's place, and its end. False where it makes no sense, or is of a kind that has no
// code; the reader is behind the unit in any case.
static bool read_header(struct span_reader *reader, struct debug_unit *unit)
{
	uint64_t length;

	unit->offset = reader->offset;
	length = span_reader_unsigned(reader, 4);
	unit->forms.format.offset_size = length == 0xffffffff ? 8 : 4;
	if (length == 0xffffffff)
		length = span_reader_unsigned(reader, 8);

	struct span_reader inside = *reader;

	if (!span_reader_take(reader, length))
		return false;
	inside.end = unit->end = reader->offset;
	unit->forms.format.version = (uint16_t)span_reader_unsigned(&inside, 2);
	uint8_t type = DW_UT_compile, address_size;

	if (unit->forms.format.version >= 5) {
		type = span_reader_u8(&inside);
		address_size = span_reader_u8(&inside);
		unit->abbreviations_offset = span_reader_unsigned(&inside, unit->forms.format.offset_size);
		if (type == DW_UT_skeleton || type == DW_UT_split_compile)
			span_reader_take(&inside, 8); // which file has the other half
	} else {
		unit->abbreviations_offset = span_reader_unsigned(&inside, unit->forms.format.offset_size);
		address_size = span_reader_u8(&inside);
	}
	unit->first_entry = inside.offset;
	unit->forms.unit_offset = unit->offset;
	return !inside.failed && address_size == ADDRESS_SIZE && unit->forms.format.version >= 2 &&
	       unit->forms.format.version <= 5 && type != DW_UT_type && type != DW_UT_split_type;
}

// Where the tables of the unit begin: other values are found by them.
static void read_bases(struct debug_unit *unit, const struct die *die)
{
	// The header of such a table takes so much. Compilers say where the entries begin, but need not.
	const uint64_t behind_header = unit->forms.format.offset_size == 8 ? 16 : 8;

	unit->forms.str_offsets_base = unit->forms.addr_base = behind_header;
	unit->rnglists_base = 0;
	for (struct die_attributes attributes = die_attributes_of(die); die_attributes_next(&attributes);) {
		struct form_value value = { 0 };

		if (attributes.name != DW_AT_str_offsets_base && attributes.name != DW_AT_addr_base &&
		    attributes.name != DW_AT_GNU_addr_base && attributes.name != DW_AT_rnglists_base) {
			die_attributes_skip(&attributes);
			continue;
		}
		value = die_attributes_read(&attributes);
		if (attributes.name == DW_AT_str_offsets_base)
			unit->forms.str_offsets_base = value.number;
		else if (attributes.name == DW_AT_rnglists_base)
			unit->rnglists_base = value.number;
		else
			unit->forms.addr_base = value.number;
	}
}

static void read_first_entry(struct debug_unit *unit, const struct die *die)
{
	unit->tag = die->abbreviation->tag;
	read_bases(unit, die);
	for (struct die_attributes attributes = die_attributes_of(die); die_attributes_next(&attributes);) {
		struct form_value value;

		if (pc_attributes_set(&unit->code, &attributes))
			continue;
		value = die_attributes_read(&attributes);
		if (attributes.name == DW_AT_stmt_list) {
			unit->line_offset = value.number;
			unit->has_lines = value.class != FORM_UNKNOWN;
		} else if (attributes.name == DW_AT_comp_dir) {
			unit->folder = value.text;
		}
	}
	unit->low_pc = unit->code.low.class == FORM_ADDRESS ? unit->code.low.number : 0;
}

static struct hs_error *add_unit(struct debug_file *file, struct debug_unit *unit)
{
	struct abbreviations first = { 0 };
	struct span_reader reader = span_reader_make(&file->sections.info, unit->first_entry, unit->end);
	const uint64_t code = span_reader_uleb(&reader);
	struct hs_error *error = NULL;
	struct die die;

	if (code == 0)
		return NULL;
	// Of the table only what the first entry needs: most units are never asked for more.
	error = abbreviations_read(&file->sections.abbrev, unit->abbreviations_offset, code, &unit->forms.format,
				   &first);
	unit->abbreviations = &first;
	if (!error && die_at(unit, unit->first_entry, &die)) {
		read_first_entry(unit, &die);
		unit->abbreviations = NULL;
		error = ARRAY_RESERVE(file->units, file->unit_count + 1, &file->unit_room);
		if (!error)
			file->units[file->unit_count++] = *unit;
	}
	abbreviations_deinit(&first);
	return error;
}

// A section that is missing has an address too, to which nothing is added but 0.
static void give_address(struct memory_span *section)
{
	static const uint8_t nothing;

	if (!section->bytes)
		section->bytes = &nothing;
}

static void give_addresses(struct debug_sections *sections)
{
	give_address(&sections->info);
	give_address(&sections->abbrev);
	give_address(&sections->line);
	give_address(&sections->str);
	give_address(&sections->line_str);
	give_address(&sections->str_offsets);
	give_address(&sections->addr);
	give_address(&sections->ranges);
	give_address(&sections->rnglists);
}

struct hs_error *debug_file_init(const struct debug_sections *sections, struct debug_file *shared,
				 struct debug_file *ret)
{
	struct hs_error *error = NULL;

	*ret = (struct debug_file){ .sections = *sections, .shared = shared };
	give_addresses(&ret->sections);
	for (struct span_reader reader = span_reader_make(&ret->sections.info, 0, sections->info.size);
	     !error && !reader.failed && reader.offset < reader.end;) {
		struct debug_unit unit = { .file = ret };

		unit.forms.sections = &ret->sections;
		unit.forms.shared = shared ? &shared->sections : NULL;
		if (read_header(&reader, &unit))
			error = add_unit(ret, &unit);
	}
	return error;
}

void debug_file_deinit(struct debug_file *file)
{
	for (size_t i = 0; i < file->unit_count; i++)
		line_table_destroy(file->units[i].lines);
	for (size_t i = 0; i < file->table_count; i++) {
		abbreviations_deinit(file->tables[i].table);
		free(file->tables[i].table);
	}
	free(file->units);
	free(file->tables);
	hash_table_deinit(&file->table_places);
	*file = (struct debug_file){ 0 };
}

struct debug_unit *debug_file_unit(struct debug_file *file, uint64_t offset)
{
	const size_t up_to = ARRAY_COUNT_UP_TO(file->units, file->unit_count, offset, offset);
	struct debug_unit *unit = up_to > 0 ? &file->units[up_to - 1] : NULL;

	return unit && offset < unit->end ? unit : NULL;
}
