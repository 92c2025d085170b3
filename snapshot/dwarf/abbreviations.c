// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/abbreviations.h"

#include "base/array.h"
#include "snapshot/dwarf/constants.h"

#include <stdlib.h>

static void add_size(struct abbreviation *item, int size)
{
	if (item->size == FORM_SIZE_VARIES || size == FORM_SIZE_VARIES || item->size > INT32_MAX - size)
		item->size = FORM_SIZE_VARIES;
	else
		item->size += size;
}

// *is_sound_ret false: the table ends here.
static struct hs_error *read_attributes(struct span_reader *reader, const struct form_format *format,
					struct abbreviations *table, struct abbreviation *item, bool *is_sound_ret)
{
	*is_sound_ret = false;
	while (!reader->failed) {
		const uint64_t name = span_reader_uleb(reader), form = span_reader_uleb(reader);
		const int size = form_size(form, format);
		const int64_t implicit = form == DW_FORM_implicit_const ? span_reader_sleb(reader) : 0;

		if (name == 0 && form == 0) {
			*is_sound_ret = !reader->failed;
			return NULL;
		}
		if (reader->failed || name > UINT16_MAX || form > UINT16_MAX || table->attribute_count >= UINT32_MAX)
			return NULL;
		if (name == DW_AT_sibling && form == DW_FORM_ref4 && item->size != FORM_SIZE_VARIES)
			item->sibling = item->size;
		item->has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
		add_size(item, size);
		if (ARRAY_RESERVE(table->attributes, table->attribute_count + 1, &table->attribute_room))
			return &hs_error_no_memory;
		table->attributes[table->attribute_count++] =
			(struct abbreviation_attribute){ (uint16_t)name, (uint16_t)form, (int8_t)size, implicit };
		item->attribute_count++;
	}
	return NULL;
}

static int compare_codes(const void *left, const void *right)
{
	const struct abbreviation *a = left, *b = right;

	return (a->code > b->code) - (a->code < b->code);
}

struct hs_error *abbreviations_read(const struct memory_span *section, uint64_t offset, uint64_t last_code,
				    const struct form_format *format, struct abbreviations *ret)
{
	struct span_reader reader = span_reader_make(section, offset, section->size);
	struct hs_error *error = NULL;
	bool is_sorted = true, is_sound = true;

	*ret = (struct abbreviations){ 0 };
	while (!error && is_sound) {
		struct abbreviation item = { .code = span_reader_uleb(&reader), .sibling = -1 };
		const uint64_t tag = item.code ? span_reader_uleb(&reader) : 0;

		item.has_children = item.code && span_reader_u8(&reader) != 0;
		if (item.code == 0 || reader.failed || tag > UINT16_MAX)
			break;
		item.tag = (uint16_t)tag;
		item.first_attribute = (uint32_t)ret->attribute_count;
		error = read_attributes(&reader, format, ret, &item, &is_sound);
		if (error || !is_sound)
			break;
		error = ARRAY_RESERVE(ret->items, ret->count + 1, &ret->room);
		if (error)
			break;
		is_sorted &= ret->count == 0 || ret->items[ret->count - 1].code < item.code;
		ret->items[ret->count++] = item;
		if (last_code && item.code == last_code)
			break;
	}
	if (!is_sorted)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare_codes);
	return error;
}

void abbreviations_deinit(struct abbreviations *table)
{
	free(table->items);
	free(table->attributes);
	*table = (struct abbreviations){ 0 };
}

const struct abbreviation *abbreviations_search(const struct abbreviations *table, uint64_t code)
{
	const size_t up_to = ARRAY_COUNT_UP_TO(table->items, table->count, code, code);

	return up_to > 0 && table->items[up_to - 1].code == code ? &table->items[up_to - 1] : NULL;
}
