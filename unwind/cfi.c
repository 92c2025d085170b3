// SPDX-License-Identifier: Apache-2.0
// From a program counter to the entry of .eh_frame that covers it. Runs in hooks, on the target's stacks: no calls out,
// little stack. The module's bytes are not trusted: each read is bounded by the span, each loop by the bytes that it
// uses up.
#include "unwind/cfi_entry.h"

// Pointer encodings (Linux Standard Base, "DWARF Exception Header Encoding"): a format, what it is relative to, and a
// flag.
enum {
	PE_OMIT = 0xff,
	PE_FORMAT = 0x0f,
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SIGNED = 0x08,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_RELATIVE = 0x70,
	PE_ABSOLUTE = 0x00,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_ALIGNED = 0x50,
	PE_INDIRECT = 0x80,
};

// The letters after 'z' are at most "PLRS" and the like.
#define AUGMENTATION_MAX 8

static enum cfi_result read_format(struct span_reader *reader, uint8_t encoding, uint64_t *ret)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SIGNED:
	case PE_SDATA8:
		*ret = span_reader_unsigned(reader, 8);
		break;
	case PE_ULEB128:
		*ret = span_reader_uleb(reader);
		break;
	case PE_UDATA2:
		*ret = span_reader_unsigned(reader, 2);
		break;
	case PE_UDATA4:
		*ret = span_reader_unsigned(reader, 4);
		break;
	case PE_SLEB128:
		*ret = (uint64_t)span_reader_sleb(reader);
		break;
	case PE_SDATA2:
		*ret = span_reader_signed(reader, 2);
		break;
	case PE_SDATA4:
		*ret = span_reader_signed(reader, 4);
		break;
	default:
		return CFI_UNSUPPORTED;
	}
	return reader->failed ? CFI_MALFORMED : CFI_OK;
}

static enum cfi_result align_pointer(struct span_reader *reader)
{
	span_reader_take(reader, -span_reader_address(reader) & 7);
	return reader->failed ? CFI_MALFORMED : CFI_OK;
}

enum cfi_result cfi_read_pointer(struct span_reader *reader, uint8_t encoding, uint64_t data_base, uint64_t *ret)
{
	enum cfi_result result = CFI_OK;
	uint64_t base = 0;

	if (encoding & PE_INDIRECT)
		return CFI_UNSUPPORTED; // 0xff (omitted) too
	switch (encoding & PE_RELATIVE) {
	case PE_ABSOLUTE:
		break;
	case PE_PCREL:
		base = span_reader_address(reader);
		break;
	case PE_DATAREL:
		if (!data_base)
			return CFI_UNSUPPORTED;
		base = data_base;
		break;
	case PE_ALIGNED:
		if (encoding != PE_ALIGNED)
			return CFI_UNSUPPORTED;
		result = align_pointer(reader);
		if (result != CFI_OK)
			return result;
		break;
	default:
		return CFI_UNSUPPORTED;
	}
	result = read_format(reader, encoding, ret);
	if (result == CFI_OK)
		*ret += base;
	return result;
}

// Passes over a pointer whose value nobody needs (the personality routine).
static enum cfi_result skip_pointer(struct span_reader *reader, uint8_t encoding)
{
	uint64_t ignored;

	if (encoding == PE_OMIT)
		return CFI_OK;
	if (encoding == PE_ALIGNED) {
		enum cfi_result result = align_pointer(reader);

		if (result != CFI_OK)
			return result;
	}
	return read_format(reader, encoding, &ignored);
}

struct entry {
	struct span_reader body; // after the id
	uint64_t id_offset;      // of the field `id`, from the span's start
	uint32_t id;             // 0 = a CIE; else id_offset - id is the offset of the FDE's CIE
	bool is_terminator;
};

// Reads the length and the id of the entry at `offset`. An entry in the 64-bit form is UNSUPPORTED (its id field is
// read as 4 bytes by some and 8 by others), but body.end is right, so that a scan can go on behind it.
static enum cfi_result read_entry(const struct memory_span *span, uint64_t offset, struct entry *ret)
{
	struct span_reader reader = span_reader_make(span, offset, span->size);
	uint64_t length = span_reader_unsigned(&reader, 4);
	bool is_wide = length == 0xffffffff;

	if (is_wide)
		length = span_reader_unsigned(&reader, 8);
	if (reader.failed || length > reader.end - reader.offset)
		return CFI_MALFORMED;
	*ret = (struct entry){ .body = reader, .id_offset = reader.offset, .is_terminator = length == 0 };
	ret->body.end = reader.offset + length;
	if (length == 0)
		return CFI_OK;
	if (is_wide)
		return CFI_UNSUPPORTED;
	ret->id = (uint32_t)span_reader_unsigned(&ret->body, 4);
	return ret->body.failed ? CFI_MALFORMED : CFI_OK;
}

// Reads what follows "z" in an augmentation string: one field of augmentation data for some of the letters.
static enum cfi_result parse_augmentation(struct span_reader *reader, const uint8_t *letters, struct cfi_cie *ret)
{
	uint64_t size = span_reader_uleb(reader);
	struct span_reader data = *reader;

	if (!span_reader_take(reader, size))
		return CFI_MALFORMED;
	data.end = reader->offset;
	ret->has_augmentation_data = true;
	for (; *letters; letters++) {
		enum cfi_result result = CFI_OK;

		switch (*letters) {
		case 'R':
			ret->pointer_encoding = span_reader_u8(&data);
			break;
		case 'L': // how FDEs refer to their exception tables
			span_reader_u8(&data);
			break;
		case 'P':
			result = skip_pointer(&data, span_reader_u8(&data));
			break;
		case 'S':
			ret->is_signal_frame = true;
			break;
		default:
			return CFI_UNSUPPORTED;
		}
		if (result != CFI_OK)
			return result;
	}
	return data.failed ? CFI_MALFORMED : CFI_OK;
}

static enum cfi_result parse_cie(const struct memory_span *span, uint64_t offset, struct cfi_cie *ret)
{
	struct entry entry;
	struct span_reader *body = &entry.body;
	uint8_t augmentation[AUGMENTATION_MAX + 1];
	enum cfi_result result = read_entry(span, offset, &entry);
	uint64_t return_address;
	uint8_t version;
	size_t length = 0;

	if (result != CFI_OK)
		return result;
	if (entry.is_terminator || entry.id != 0)
		return CFI_MALFORMED;

	version = span_reader_u8(body);
	if (version != 1 && version != 3 && version != 4)
		return body->failed ? CFI_MALFORMED : CFI_UNSUPPORTED;
	do {
		if (length > AUGMENTATION_MAX)
			return CFI_UNSUPPORTED;
		augmentation[length] = span_reader_u8(body);
	} while (augmentation[length++]);
	if (version == 4) {
		uint8_t address_size = span_reader_u8(body);
		uint8_t segment_size = span_reader_u8(body);

		if (address_size != 8 || segment_size != 0)
			return CFI_UNSUPPORTED;
	}
	*ret = (struct cfi_cie){ .offset = offset };
	ret->code_alignment = span_reader_uleb(body);
	ret->data_alignment = span_reader_sleb(body);
	return_address = version == 1 ? span_reader_u8(body) : span_reader_uleb(body);
	if (body->failed)
		return CFI_MALFORMED;
	if (return_address != DWARF_RA)
		return CFI_UNSUPPORTED;
	ret->pointer_encoding = PE_ABSPTR;
	if (augmentation[0] == 'z')
		result = parse_augmentation(body, augmentation + 1, ret);
	else if (augmentation[0] != 0)
		result = CFI_UNSUPPORTED; // "eh" of GCC 2
	ret->program = body->offset;
	ret->program_end = body->end;
	return result;
}

// Parses the FDE that `entry` begins. fde->cie may hold a CIE parsed before: it is kept when it is this FDE's own.
static enum cfi_result parse_fde(const struct memory_span *span, struct entry *entry, struct cfi_fde *ret)
{
	struct span_reader *body = &entry->body;
	enum cfi_result result;
	uint64_t cie_offset = entry->id_offset - entry->id;

	if (entry->id == 0 || entry->id > entry->id_offset)
		return CFI_MALFORMED;
	if (ret->cie.offset != cie_offset) {
		result = parse_cie(span, cie_offset, &ret->cie);
		if (result != CFI_OK) {
			ret->cie.offset = UINT64_MAX;
			return result;
		}
	}
	// A CIE that was kept was parsed before: until then its offset is UINT64_MAX, which no entry's is.
	// NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the analyzer does not follow that
	result = cfi_read_pointer(body, ret->cie.pointer_encoding, 0, &ret->pc_begin);
	if (result != CFI_OK)
		return result;
	result = read_format(body, ret->cie.pointer_encoding, &ret->pc_range);
	if (result != CFI_OK)
		return result;
	if (ret->cie.has_augmentation_data)
		span_reader_take(body, span_reader_uleb(body));
	if (body->failed)
		return CFI_MALFORMED;
	ret->program = body->offset;
	ret->program_end = body->end;
	return CFI_OK;
}

static bool covers(const struct cfi_fde *fde, uint64_t pc) { return pc - fde->pc_begin < fde->pc_range; }

// Binary search in a table of `count` pairs {first pc, address of the FDE}, both as signed 32-bit distances from
// `base`.
static enum cfi_result find_in_table(const struct memory_span *span, struct span_reader *table, uint64_t count,
				     uint64_t base, uint64_t pc, struct cfi_fde *ret)
{
	uint64_t low = 0, high = count; // the entry is in [low, high): the last one that begins at or below pc
	uint64_t start = table->offset;
	struct entry entry;
	enum cfi_result result;

	if (count > (table->end - start) / 8)
		return CFI_MALFORMED;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		table->offset = start + 8 * middle;
		if (base + span_reader_signed(table, 4) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return CFI_NO_ENTRY;
	table->offset = start + 8 * (low - 1) + 4;
	result = read_entry(span, base + span_reader_signed(table, 4) - span->address, &entry);
	if (result != CFI_OK)
		return result;
	if (entry.is_terminator)
		return CFI_MALFORMED;
	result = parse_fde(span, &entry, ret);
	if (result != CFI_OK)
		return result;
	return covers(ret, pc) ? CFI_OK : CFI_NO_ENTRY;
}

enum cfi_result cfi_next_fde(const struct memory_span *span, uint64_t *offset, struct cfi_fde *ret)
{
	struct entry entry;
	enum cfi_result result = read_entry(span, *offset, &entry);

	if (result == CFI_MALFORMED)
		return result;
	*offset = entry.is_terminator ? span->size : entry.body.end;
	if (result != CFI_OK)
		return result;
	return entry.is_terminator || entry.id == 0 ? CFI_NO_ENTRY : parse_fde(span, &entry, ret);
}

// Looks at each entry from `offset` to the terminator or the end of the span. One that cannot be understood is passed
// over; when none covers pc, its result is the answer, because it might have.
static enum cfi_result find_by_scan(const struct memory_span *span, uint64_t offset, uint64_t pc, struct cfi_fde *ret)
{
	enum cfi_result answer = CFI_NO_ENTRY;

	while (offset < span->size) {
		uint64_t before = offset;
		enum cfi_result result = cfi_next_fde(span, &offset, ret);

		if (offset == before)
			return CFI_MALFORMED;
		if (result == CFI_OK && covers(ret, pc))
			return CFI_OK;
		if (result != CFI_OK && result != CFI_NO_ENTRY)
			answer = result;
	}
	return answer;
}

// The header (Linux Standard Base, ".eh_frame_hdr"): version, encodings of the three fields that follow, address of
// .eh_frame, number of entries, table. Not inlined: its frame is gone before the program runs in its own.
static __attribute__((noinline)) enum cfi_result find_fde(const struct memory_span *span, uint64_t hdr,
							  uint64_t hdr_size, uint64_t pc, struct cfi_fde *ret)
{
	uint64_t hdr_offset = hdr - span->address; // wraps to a large number below the span
	struct span_reader reader;
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	uint64_t frame = 0, count = 0;
	enum cfi_result result;

	if (hdr_offset > span->size || hdr_size > span->size - hdr_offset)
		return CFI_MALFORMED;
	reader = span_reader_make(span, hdr_offset, hdr_offset + hdr_size);
	version = span_reader_u8(&reader);
	frame_encoding = span_reader_u8(&reader);
	count_encoding = span_reader_u8(&reader);
	table_encoding = span_reader_u8(&reader);
	if (reader.failed)
		return CFI_MALFORMED;
	if (version != 1)
		return CFI_UNSUPPORTED;
	result = cfi_read_pointer(&reader, frame_encoding, hdr, &frame);
	if (result != CFI_OK)
		return result;
	ret->cie.offset = UINT64_MAX; // none parsed yet
	if (table_encoding == (PE_DATAREL | PE_SDATA4) && count_encoding != PE_OMIT) {
		result = cfi_read_pointer(&reader, count_encoding, hdr, &count);
		if (result != CFI_OK)
			return result;
		return find_in_table(span, &reader, count, hdr, pc, ret);
	}
	if (frame - span->address >= span->size)
		return CFI_MALFORMED;
	return find_by_scan(span, frame - span->address, pc, ret);
}

enum cfi_result cfi_decode(const struct memory_span *span, uint64_t hdr, uint64_t hdr_size, uint64_t pc,
			   struct cfi_row *ret)
{
	struct cfi_fde fde;
	enum cfi_result result = find_fde(span, hdr, hdr_size, pc, &fde);

	return result == CFI_OK ? cfi_program_run(span, &fde, pc, ret) : result;
}

static __attribute__((noinline)) enum cfi_result find_fde_by_table(const struct memory_span *span,
								   const struct memory_span *table, uint64_t pc,
								   struct cfi_fde *ret)
{
	struct span_reader reader = span_reader_make(table, 0, table->size);

	ret->cie.offset = UINT64_MAX; // none parsed yet
	return find_in_table(span, &reader, table->size / 8, span->address, pc, ret);
}

enum cfi_result cfi_decode_by_table(const struct memory_span *span, const struct memory_span *table, uint64_t pc,
				    struct cfi_row *ret)
{
	struct cfi_fde fde;
	enum cfi_result result = find_fde_by_table(span, table, pc, &fde);

	return result == CFI_OK ? cfi_program_run(span, &fde, pc, ret) : result;
}
