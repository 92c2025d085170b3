// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/form.h"

#include "snapshot/dwarf/constants.h"

#include <string.h>

int form_size(uint64_t form, const struct form_format *format)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return ADDRESS_SIZE;
	case DW_FORM_ref_addr: // an offset since DWARF 3
		return format->version <= 2 ? ADDRESS_SIZE : format->offset_size;
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_ref_alt:
		return format->offset_size;
	default:
		return FORM_SIZE_VARIES;
	}
}

static void skip_text(struct span_reader *reader)
{
	const uint8_t *text = reader->span->bytes + reader->offset;
	const uint8_t *end = reader->offset < reader->end ? memchr(text, 0, reader->end - reader->offset) : NULL;

	span_reader_take(reader, end ? (uint64_t)(end - text) + 1 : UINT64_MAX);
}

// The size of a block, which stands before it.
static uint64_t block_size(struct span_reader *reader, uint64_t form)
{
	switch (form) {
	case DW_FORM_block1:
		return span_reader_u8(reader);
	case DW_FORM_block2:
		return span_reader_unsigned(reader, 2);
	case DW_FORM_block4:
		return span_reader_unsigned(reader, 4);
	default:
		return span_reader_uleb(reader);
	}
}

void form_skip(struct span_reader *reader, uint64_t form, const struct form_format *format)
{
	const int size = form_size(form, format);

	if (size >= 0) {
		span_reader_take(reader, (uint64_t)size);
		return;
	}
	switch (form) {
	case DW_FORM_string:
		skip_text(reader);
		break;
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_block:
	case DW_FORM_exprloc:
		span_reader_take(reader, block_size(reader, form));
		break;
	case DW_FORM_sdata:
		span_reader_sleb(reader);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		span_reader_uleb(reader);
		break;
	case DW_FORM_indirect:
		form = span_reader_uleb(reader);
		form_skip(reader, form == DW_FORM_indirect || form == DW_FORM_implicit_const ? 0 : form, format);
		break;
	default:
		span_reader_take(reader, UINT64_MAX);
	}
}

// The entry `index` of a table of numbers of `size` bytes each at `base`; false when it is outside.
static bool table_entry(const struct memory_span *section, uint64_t base, uint64_t index, unsigned size, uint64_t *ret)
{
	if (index > section->size / size)
		return false;

	struct span_reader reader = span_reader_make(section, base, section->size);

	span_reader_take(&reader, index * size);
	*ret = span_reader_unsigned(&reader, size);
	return !reader.failed;
}

static struct form_value text_at(const struct memory_span *section, uint64_t offset)
{
	const char *text = section_text(section, offset);

	return (struct form_value){ text ? FORM_TEXT : FORM_UNKNOWN, 0, text };
}

static struct form_value indexed_text(uint64_t index, const struct form_context *context)
{
	uint64_t offset;

	if (!table_entry(&context->sections->str_offsets, context->str_offsets_base, index, context->format.offset_size,
			 &offset))
		return (struct form_value){ 0 };
	return text_at(&context->sections->str, offset);
}

static struct form_value indexed_address(uint64_t index, const struct form_context *context)
{
	struct form_value value = { .class = FORM_ADDRESS };

	if (!table_entry(&context->sections->addr, context->addr_base, index, ADDRESS_SIZE, &value.number))
		value.class = FORM_UNKNOWN;
	return value;
}

// The value of a number as it stands in the unit.
static struct form_value value_of(uint64_t form, uint64_t number, const struct form_context *context)
{
	switch (form) {
	case DW_FORM_addr:
		return (struct form_value){ FORM_ADDRESS, number, NULL };
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return indexed_address(number, context);
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_flag:
		return (struct form_value){ FORM_CONSTANT, number, NULL };
	case DW_FORM_sec_offset:
		return (struct form_value){ FORM_SECTION_OFFSET, number, NULL };
	case DW_FORM_rnglistx:
		return (struct form_value){ FORM_LIST_INDEX, number, NULL };
	case DW_FORM_strp:
		return text_at(&context->sections->str, number);
	case DW_FORM_line_strp:
		return text_at(&context->sections->line_str, number);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		return context->shared ? text_at(&context->shared->str, number) : (struct form_value){ 0 };
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_text(number, context);
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return (struct form_value){ FORM_ENTRY, context->unit_offset + number, NULL };
	case DW_FORM_ref_addr:
		return (struct form_value){ FORM_ENTRY, number, NULL };
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return (struct form_value){ FORM_SHARED_ENTRY, number, NULL };
	default:
		return (struct form_value){ 0 };
	}
}

struct form_value form_read(struct span_reader *reader, uint64_t form, int64_t implicit,
			    const struct form_context *context)
{
	const int size = form_size(form, &context->format);
	uint64_t number;

	switch (form) {
	case DW_FORM_implicit_const:
		return (struct form_value){ FORM_CONSTANT, (uint64_t)implicit, NULL };
	case DW_FORM_flag_present:
		return (struct form_value){ FORM_CONSTANT, 1, NULL };
	case DW_FORM_string: {
		const char *text = (const char *)reader->span->bytes + reader->offset;

		skip_text(reader);
		return (struct form_value){ reader->failed ? FORM_UNKNOWN : FORM_TEXT, 0,
					    reader->failed ? NULL : text };
	}
	case DW_FORM_sdata:
		number = (uint64_t)span_reader_sleb(reader);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		number = span_reader_uleb(reader);
		break;
	case DW_FORM_indirect: {
		struct span_reader form_reader = *reader;
		const uint64_t real = span_reader_uleb(&form_reader);

		if (form_size(real, &context->format) <= 0) {
			form_skip(reader, form, &context->format);
			return (struct form_value){ 0 };
		}
		*reader = form_reader;
		return form_read(reader, real, 0, context);
	}
	default:
		if (size < 0 || size > 8) {
			form_skip(reader, form, &context->format);
			return (struct form_value){ 0 };
		}
		number = span_reader_unsigned(reader, (unsigned)size);
	}
	return reader->failed ? (struct form_value){ 0 } : value_of(form, number, context);
}
