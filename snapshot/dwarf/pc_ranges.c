// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/pc_ranges.h"

#include "snapshot/dwarf/constants.h"

bool pc_attributes_set(struct pc_attributes *attributes, struct die_attributes *at)
{
	switch (at->name) {
	case DW_AT_low_pc:
		attributes->low = die_attributes_read(at);
		return true;
	case DW_AT_high_pc:
		attributes->high = die_attributes_read(at);
		return true;
	case DW_AT_ranges:
		attributes->ranges = die_attributes_read(at);
		return true;
	default:
		return false;
	}
}

// A list that is being read.
struct list {
	const struct debug_unit *unit;
	struct span_reader reader;
	uint64_t base; // of offsets
	struct range_index *index;
	size_t value;
};

// The linker has put 0, 1 or the highest address in the place of code that it dropped; there is no code at the first
// two, and what begins at the last one ends below it.
static struct hs_error *add(struct list *list, uint64_t low, uint64_t high)
{
	return low > 1 && low < high ? range_index_add(list->index, low, high, list->value) : NULL;
}

static struct hs_error *add_to_base(struct list *list, uint64_t low, uint64_t high)
{
	uint64_t from, to;

	if (__builtin_add_overflow(list->base, low, &from) || __builtin_add_overflow(list->base, high, &to))
		return NULL;
	return add(list, from, to);
}

static struct hs_error *add_list_of_dwarf_2(struct list *list)
{
	struct hs_error *error = NULL;

	while (!error) {
		const uint64_t low = span_reader_unsigned(&list->reader, ADDRESS_SIZE);
		const uint64_t high = span_reader_unsigned(&list->reader, ADDRESS_SIZE);

		if (list->reader.failed || (low == 0 && high == 0))
			break;
		if (low == UINT64_MAX)
			list->base = high;
		else
			error = add_to_base(list, low, high);
	}
	return error;
}

static uint64_t indexed_address(struct list *list)
{
	const struct form_value value = form_read(&list->reader, DW_FORM_addrx, 0, &list->unit->forms);

	return value.class == FORM_ADDRESS ? value.number : 0;
}

// A range of `length` from `low` on.
static struct hs_error *add_length(struct list *list, uint64_t low, uint64_t length)
{
	return length <= UINT64_MAX - low ? add(list, low, low + length) : NULL;
}

static struct hs_error *add_list_of_dwarf_5(struct list *list)
{
	struct hs_error *error = NULL;
	uint64_t low, high;

	while (!error && !list->reader.failed) {
		switch (span_reader_u8(&list->reader)) {
		case DW_RLE_base_addressx:
			list->base = indexed_address(list);
			break;
		case DW_RLE_startx_endx:
			low = indexed_address(list);
			high = indexed_address(list);
			error = add(list, low, high);
			break;
		case DW_RLE_startx_length:
			low = indexed_address(list);
			high = span_reader_uleb(&list->reader);
			error = add_length(list, low, high);
			break;
		case DW_RLE_offset_pair:
			low = span_reader_uleb(&list->reader);
			high = span_reader_uleb(&list->reader);
			error = add_to_base(list, low, high);
			break;
		case DW_RLE_base_address:
			list->base = span_reader_unsigned(&list->reader, ADDRESS_SIZE);
			break;
		case DW_RLE_start_end:
			low = span_reader_unsigned(&list->reader, ADDRESS_SIZE);
			high = span_reader_unsigned(&list->reader, ADDRESS_SIZE);
			error = add(list, low, high);
			break;
		case DW_RLE_start_length:
			low = span_reader_unsigned(&list->reader, ADDRESS_SIZE);
			high = span_reader_uleb(&list->reader);
			error = add_length(list, low, high);
			break;
		default: // DW_RLE_end_of_list, or nonsense
			return NULL;
		}
	}
	return error;
}

// Where the list `index` of .debug_rnglists begins: the unit's base is that of a table of offsets from itself.
static bool list_offset(const struct debug_unit *unit, uint64_t index, uint64_t *ret)
{
	const unsigned size = unit->forms.format.offset_size;
	const struct memory_span *section = &unit->file->sections.rnglists;
	struct span_reader reader = span_reader_make(section, unit->rnglists_base, section->size);

	if (index > section->size / size)
		return false;
	span_reader_take(&reader, index * size);
	*ret = unit->rnglists_base + span_reader_unsigned(&reader, size);
	return !reader.failed;
}

struct hs_error *pc_ranges_add(const struct debug_unit *unit, const struct pc_attributes *attributes,
			       struct range_index *index, size_t value)
{
	const struct debug_sections *sections = &unit->file->sections;
	const bool is_old = unit->forms.format.version < 5;
	const struct memory_span *section = is_old ? &sections->ranges : &sections->rnglists;
	struct list list = { .unit = unit, .base = unit->low_pc, .index = index, .value = value };
	uint64_t offset = attributes->ranges.number;

	if (attributes->ranges.class == FORM_UNKNOWN) {
		const struct form_value *low = &attributes->low, *high = &attributes->high;

		if (low->class != FORM_ADDRESS)
			return NULL;
		return high->class == FORM_ADDRESS    ? add(&list, low->number, high->number)
		       : high->class == FORM_CONSTANT ? add_length(&list, low->number, high->number)
						      : NULL;
	}
	if (attributes->ranges.class == FORM_LIST_INDEX && !list_offset(unit, attributes->ranges.number, &offset))
		return NULL;
	list.reader = span_reader_make(section, offset, section->size);
	return is_old ? add_list_of_dwarf_2(&list) : add_list_of_dwarf_5(&list);
}
