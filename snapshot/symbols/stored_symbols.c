// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/stored_symbols.h"

#include "base/array.h"
#include "base/byte_cursor.h"
#include "snapshot/symbols/symbol_messages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The last byte is to be raised whenever the bytes mean something else, or the same files give other answers.
static const uint8_t MAGIC[8] = { 'h', 'e', 'a', 'p', 's', 'y', 'm', 3 };

// FNV-1a, a word at a time: against damage, not against anybody.
static uint64_t checksum_of(const uint8_t *data, size_t size)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325), word = 0;

	for (; size > 0; data += sizeof(word)) {
		const size_t part = size < sizeof(word) ? size : sizeof(word);

		word = 0;
		memcpy(&word, data, part);
		sum = (sum ^ word) * UINT64_C(0x100000001b3);
		sum ^= sum >> 29; // a product alone carries nothing downwards
		if (part == size)
			break;
		size -= part;
	}
	return sum;
}

struct writer {
	uint8_t *data;
	size_t size, room;
	struct hs_error *error;
};

static void put(struct writer *writer, const void *data, size_t size)
{
	if (writer->error)
		return;
	if (size > STORED_BYTES_MAX - writer->size) {
		writer->error = hs_error_create(HS_ERROR_REFUSED, "too many symbols to be kept");
		return;
	}
	writer->error = ARRAY_RESERVE(writer->data, writer->size + size + 1, &writer->room);
	if (writer->error)
		return;
	if (size)
		memcpy(writer->data + writer->size, data, size);
	writer->size += size;
}

static void put_u32(struct writer *writer, uint32_t value) { put(writer, &value, sizeof(value)); }

static void put_u64(struct writer *writer, uint64_t value) { put(writer, &value, sizeof(value)); }

static void put_function(struct writer *writer, const struct profile_function *function)
{
	const size_t name = strlen(function->name), system_name = strlen(function->system_name),
		     file = strlen(function->file);

	put_u32(writer, SYMBOL_ITEM_FUNCTION);
	put_u32(writer, (uint32_t)name);
	put_u32(writer, (uint32_t)system_name);
	put_u32(writer, (uint32_t)file);
	put_u64(writer, (uint64_t)function->start_line);
	put(writer, function->name, name);
	put(writer, function->system_name, system_name);
	put(writer, function->file, file);
}

static void put_location(struct writer *writer, const struct symbol_answer *answer, size_t index)
{
	const struct answer_location *location = &answer->locations[index];

	put_u32(writer, SYMBOL_ITEM_LOCATION);
	put_u32(writer, (uint32_t)index);
	put_u32(writer, (location->has_inlined ? SYMBOL_HAS_INLINED : 0) | (location->is_guess ? SYMBOL_IS_GUESS : 0) |
				(location->is_wrapper ? SYMBOL_IS_WRAPPER : 0));
	put_u32(writer, location->line_count);
	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct profile_line *line = &answer->lines[location->first_line + i];

		put_u32(writer, line->function);
		put_u64(writer, (uint64_t)line->line);
	}
}

struct hs_error *stored_symbols_encode(const struct stored_symbols *stored, uint8_t **ret, size_t *size_ret)
{
	struct writer writer = { .size = 0 };
	uint64_t checksum = 0;
	enum { HEAD = sizeof(MAGIC) + sizeof(checksum) };

	if (stored->count > STORED_ADDRESSES_MAX)
		return hs_error_create(HS_ERROR_REFUSED, "too many symbols to be kept");
	put(&writer, MAGIC, sizeof(MAGIC));
	put_u64(&writer, 0);
	put_u32(&writer, (uint32_t)stored->build_id_size);
	put_u32(&writer, (uint32_t)stored->trail_size);
	put_u32(&writer, (uint32_t)stored->count);
	put_u32(&writer, stored->answer.is_stripped);
	put(&writer, stored->build_id, stored->build_id_size);
	put(&writer, stored->trail, stored->trail_size);
	put(&writer, stored->addresses, stored->count * sizeof(*stored->addresses));
	for (size_t i = 0; i < stored->answer.functions.count; i++)
		put_function(&writer, &stored->answer.functions.items[i]);
	for (size_t i = 0; i < stored->count; i++)
		put_location(&writer, &stored->answer, i);
	if (writer.error) {
		free(writer.data);
		return writer.error;
	}
	checksum = checksum_of(writer.data + HEAD, writer.size - HEAD);
	memcpy(writer.data + sizeof(MAGIC), &checksum, sizeof(checksum));
	*ret = writer.data;
	*size_ret = writer.size;
	return NULL;
}

static struct hs_error *damaged(void) { return hs_error_create(HS_ERROR_BAD_DATA, "damaged, or of another heapsnap"); }

static bool are_ascending(const uint64_t *addresses, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (addresses[i - 1] >= addresses[i])
			return false;
	return true;
}

static struct hs_error *decode_symbols(struct byte_cursor *cursor, uint32_t count, struct stored_symbols *ret)
{
	struct hs_error *error;

	if (count > STORED_ADDRESSES_MAX || count > byte_cursor_left(cursor) / sizeof(*ret->addresses))
		return damaged();
	ret->addresses = calloc(count + (size_t)1, sizeof(*ret->addresses));
	if (!ret->addresses)
		return &hs_error_no_memory;
	error = symbol_answer_init(count, &ret->answer);
	if (error)
		return error;
	if (!byte_cursor_bytes(cursor, ret->addresses, count * sizeof(*ret->addresses)) ||
	    !are_ascending(ret->addresses, count))
		return damaged();
	ret->count = count;
	return symbol_answer_take(&ret->answer, cursor->position, byte_cursor_left(cursor));
}

struct hs_error *stored_symbols_decode(const uint8_t *data, size_t size, struct stored_symbols *ret)
{
	struct byte_cursor cursor = byte_cursor_make(data, size);
	uint32_t build_id_size, trail_size, count, is_stripped;
	uint8_t magic[sizeof(MAGIC)];
	uint64_t checksum;
	struct hs_error *error;

	*ret = (struct stored_symbols){ .count = 0 };
	if (size > STORED_BYTES_MAX || !byte_cursor_bytes(&cursor, magic, sizeof(magic)) ||
	    memcmp(magic, MAGIC, sizeof(magic)) != 0 || !byte_cursor_u64(&cursor, &checksum) ||
	    checksum != checksum_of(cursor.position, byte_cursor_left(&cursor)) ||
	    !byte_cursor_u32(&cursor, &build_id_size) || !byte_cursor_u32(&cursor, &trail_size) ||
	    !byte_cursor_u32(&cursor, &count) || !byte_cursor_u32(&cursor, &is_stripped))
		return damaged();
	ret->build_id = cursor.position;
	ret->build_id_size = build_id_size;
	if (!byte_cursor_skip(&cursor, build_id_size))
		return damaged();
	ret->trail = cursor.position;
	ret->trail_size = trail_size;
	if (!byte_cursor_skip(&cursor, trail_size))
		return damaged();
	error = decode_symbols(&cursor, count, ret);
	ret->answer.is_stripped = is_stripped == 1;
	if (error)
		stored_symbols_deinit(ret);
	return error;
}

void stored_symbols_deinit(struct stored_symbols *stored)
{
	free(stored->addresses);
	symbol_answer_deinit(&stored->answer);
	*stored = (struct stored_symbols){ .count = 0 };
}
