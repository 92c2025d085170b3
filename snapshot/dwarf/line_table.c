// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/line_table.h"

#include "base/array.h"
#include "snapshot/dwarf/constants.h"
#include "snapshot/dwarf/line_rows.h"

#include <stdlib.h>
#include <string.h>

enum { FORMATS_MAX = 255 }; // a byte says how many there are

struct file_name {
	const char *text; // in a section
	uint64_t folder;  // index into folders
	char *whole;      // owned; NULL = not asked for yet, or `text` is whole
};

struct line_table {
	struct form_context forms; // of the table, which may have another version than the unit
	const char *unit_folder;
	const char **folders;
	size_t folder_count, folder_room;
	struct file_name *files;
	size_t file_count, file_room;
	struct line_program program;
	struct line_rows rows;
	bool has_rows;
};

static struct hs_error *add_folder(struct line_table *table, const char *text)
{
	if (ARRAY_RESERVE(table->folders, table->folder_count + 1, &table->folder_room))
		return &hs_error_no_memory;
	table->folders[table->folder_count++] = text;
	return NULL;
}

static struct hs_error *add_file(struct line_table *table, const char *text, uint64_t folder)
{
	if (ARRAY_RESERVE(table->files, table->file_count + 1, &table->file_room))
		return &hs_error_no_memory;
	table->files[table->file_count++] = (struct file_name){ text, folder, NULL };
	return NULL;
}

static const char *read_text(struct span_reader *reader, const struct form_context *forms)
{
	return form_read(reader, DW_FORM_string, 0, forms).text;
}

// Until DWARF 4: texts until an empty one. The first folder is the unit's, and is not in the list; files count from 1.
static struct hs_error *read_old_names(struct line_table *table, struct span_reader *reader)
{
	struct hs_error *error = add_folder(table, table->unit_folder);
	const char *text;

	while (!error && (text = read_text(reader, &table->forms)) && *text)
		error = add_folder(table, text);
	if (!error)
		error = add_file(table, NULL, 0);
	while (!error && (text = read_text(reader, &table->forms)) && *text) {
		const uint64_t folder = span_reader_uleb(reader);

		span_reader_uleb(reader); // when it was changed
		span_reader_uleb(reader); // its size
		error = add_file(table, text, folder);
	}
	return error;
}

// From DWARF 5 on: first how an entry looks, then the entries.
static struct hs_error *read_names(struct line_table *table, struct span_reader *reader, bool are_files)
{
	struct {
		uint64_t content, form;
	} formats[FORMATS_MAX];
	const unsigned format_count = span_reader_u8(reader);
	struct hs_error *error = NULL;

	for (unsigned i = 0; i < format_count; i++) {
		formats[i].content = span_reader_uleb(reader);
		formats[i].form = span_reader_uleb(reader);
	}
	for (uint64_t left = span_reader_uleb(reader); left > 0 && !error; left--) {
		const uint64_t before = reader->offset;
		const char *text = NULL;
		uint64_t folder = 0;

		for (unsigned i = 0; i < format_count; i++) {
			const struct form_value value = form_read(reader, formats[i].form, 0, &table->forms);

			if (formats[i].content == DW_LNCT_path)
				text = value.text;
			else if (formats[i].content == DW_LNCT_directory_index)
				folder = value.number;
		}
		// An entry of no bytes could be there any number of times.
		if (reader->failed || reader->offset == before)
			break;
		error = are_files ? add_file(table, text, folder) : add_folder(table, text);
	}
	return error;
}

// The head up to the names, and where the program is. False when there is none that can be read.
static bool read_head(struct line_table *table, struct span_reader *reader)
{
	struct line_program *program = &table->program;
	uint64_t length = span_reader_unsigned(reader, 4), header_length;

	table->forms.format.offset_size = length == 0xffffffff ? 8 : 4;
	if (length == 0xffffffff)
		length = span_reader_unsigned(reader, 8);
	if (length > reader->end - reader->offset)
		return false;
	reader->end = reader->offset + length;
	table->forms.format.version = (uint16_t)span_reader_unsigned(reader, 2);
	if (table->forms.format.version < 2 || table->forms.format.version > 5)
		return false;
	if (table->forms.format.version >= 5) {
		const uint8_t address_size = span_reader_u8(reader), segment_size = span_reader_u8(reader);

		if (address_size != ADDRESS_SIZE || segment_size != 0)
			return false;
	}
	header_length = span_reader_unsigned(reader, table->forms.format.offset_size);
	if (reader->failed || header_length > reader->end - reader->offset)
		return false;
	program->bytes = span_reader_make(reader->span, reader->offset + header_length, reader->end);
	program->instruction_size = span_reader_u8(reader);
	if (table->forms.format.version >= 4)
		span_reader_u8(reader); // operations of an instruction: more than 1 only for VLIW processors
	span_reader_u8(reader);         // whether rows begin as statements
	program->line_base = (int8_t)span_reader_u8(reader);
	program->line_range = span_reader_u8(reader);
	program->opcode_base = span_reader_u8(reader);
	for (unsigned i = 1; i < program->opcode_base; i++)
		program->operand_counts[i] = span_reader_u8(reader);
	return !reader->failed && program->line_range > 0 && program->opcode_base > 0;
}

static struct hs_error *read_table(const struct debug_unit *unit, struct line_table *table, bool *is_sound_ret)
{
	const struct memory_span *section = &unit->file->sections.line;
	struct span_reader reader = span_reader_make(section, unit->line_offset, section->size);
	struct hs_error *error;

	table->forms = unit->forms;
	table->unit_folder = unit->folder;
	*is_sound_ret = read_head(table, &reader);
	if (!*is_sound_ret)
		return NULL;
	if (table->forms.format.version < 5)
		return read_old_names(table, &reader);
	error = read_names(table, &reader, false);
	return error ? error : read_names(table, &reader, true);
}

struct hs_error *line_table_of(struct debug_unit *unit, struct line_table **ret)
{
	struct hs_error *error;
	bool is_sound;

	*ret = unit->lines;
	if (unit->lines || !unit->has_lines)
		return NULL;

	struct line_table *table = calloc(1, sizeof(*table));

	if (!table)
		return &hs_error_no_memory;
	error = read_table(unit, table, &is_sound);
	if (error || !is_sound) {
		line_table_destroy(table);
		unit->has_lines = false;
		return error;
	}
	*ret = unit->lines = table;
	return NULL;
}

void line_table_destroy(struct line_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->file_count; i++)
		free(table->files[i].whole);
	free(table->files);
	free(table->folders);
	line_rows_deinit(&table->rows);
	free(table);
}

// "FIRST/SECOND/NAME"; NULL parts are left out.
static char *join(const char *first, const char *second, const char *name)
{
	const size_t sizes[] = { first ? strlen(first) : 0, second ? strlen(second) : 0, strlen(name) };
	char *path = malloc(sizes[0] + sizes[1] + sizes[2] + 3), *end = path;

	if (!path)
		return NULL;
	if (first) {
		end = mempcpy(end, first, sizes[0]);
		*end++ = '/';
	}
	if (second) {
		end = mempcpy(end, second, sizes[1]);
		*end++ = '/';
	}
	memcpy(end, name, sizes[2] + 1);
	return path;
}

struct hs_error *line_table_file(struct line_table *table, uint64_t number, const char **ret)
{
	struct file_name *file = number < table->file_count ? &table->files[number] : NULL;

	*ret = NULL;
	if (!file || !file->text)
		return NULL;

	const char *folder = file->folder < table->folder_count ? table->folders[file->folder] : NULL;
	const char *first = table->folder_count > 0 ? table->folders[0] : NULL;

	if (!file->whole && *file->text != '/' && folder) {
		const bool is_below = file->folder > 0 && *folder != '/';

		file->whole = join(is_below ? first : NULL, folder, file->text);
		if (!file->whole)
			return &hs_error_no_memory;
	}
	*ret = file->whole ? file->whole : file->text;
	return NULL;
}

struct hs_error *line_table_find(struct line_table *table, uint64_t address, bool *found_ret, uint64_t *file_ret,
				 uint32_t *line_ret)
{
	struct hs_error *error = table->has_rows ? NULL : line_rows_read(&table->program, &table->rows);
	const struct line_row *row;

	*found_ret = false;
	if (error) {
		line_rows_deinit(&table->rows);
		return error;
	}
	table->has_rows = true;
	row = line_rows_find(&table->rows, address);
	if (!row)
		return NULL;
	*found_ret = true;
	*file_ret = row->file;
	*line_ret = row->line;
	return NULL;
}
