// SPDX-License-Identifier: Apache-2.0
#include "proto/string_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024, FIRST_STRINGS = 512, FIRST_TEXT = 16384 };

// Bytes of the well-formed sequence that starts at text[0], 0 when there is none. Unicode 15, table 3-7.
static size_t utf8_sequence(const uint8_t *text, size_t size)
{
	uint8_t first = text[0], low = 0x80, high = 0xbf;
	size_t length;

	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		length = 2;
	else if (first >= 0xe0 && first <= 0xef)
		length = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		length = 4;
	else
		return 0;
	if (length > size)
		return 0;
	if (first == 0xe0)
		low = 0xa0; // else a longer form of a two-byte character
	else if (first == 0xed)
		high = 0x9f; // else a surrogate
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f; // else above U+10FFFF
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

void string_table_make_utf8(char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t length = utf8_sequence((const uint8_t *)text + i, size - i);

		if (length == 0)
			text[i] = '?';
		i += length ? length : 1;
	}
}

struct hs_error *string_table_init(struct string_table *table)
{
	int64_t index;

	*table = (struct string_table){
		.text = malloc(FIRST_TEXT),
		.text_capacity = FIRST_TEXT,
		.offsets = malloc(FIRST_STRINGS * sizeof(*table->offsets)),
		.capacity = FIRST_STRINGS,
		.slots = calloc(FIRST_SLOTS, sizeof(*table->slots)),
		.slot_count = FIRST_SLOTS,
		.key = hash_key_make(),
	};
	if (!table->text || !table->offsets || !table->slots) {
		string_table_deinit(table);
		return &hs_error_no_memory;
	}
	return string_table_add(table, "", &index);
}

void string_table_deinit(struct string_table *table)
{
	free(table->text);
	free(table->offsets);
	free(table->slots);
	*table = (struct string_table){ 0 };
}

const char *string_table_text(const struct string_table *table, size_t index)
{
	return table->text + table->offsets[index];
}

// The slot of `text`, or the free one where it belongs.
static uint32_t *find_slot(const struct string_table *table, const char *text, size_t size)
{
	size_t mask = table->slot_count - 1, i = keyed_hash(&table->key, text, size) & mask;

	while (table->slots[i] && strcmp(string_table_text(table, table->slots[i] - 1), text) != 0)
		i = (i + 1) & mask;
	return &table->slots[i];
}

static bool grow_slots(struct string_table *table)
{
	struct string_table bigger = *table;

	bigger.slot_count = table->slot_count * 2;
	bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < table->count; i++) {
		const char *text = string_table_text(table, i);

		*find_slot(&bigger, text, strlen(text)) = (uint32_t)i + 1;
	}
	free(table->slots);
	*table = bigger;
	return true;
}

// Makes room for one more string of `size` bytes and its 0 byte.
static bool reserve(struct string_table *table, size_t size)
{
	if (table->count >= UINT32_MAX - 1)
		return false;
	if (table->count == table->capacity) {
		size_t *bigger = reallocarray(table->offsets, table->capacity * 2, sizeof(*bigger));

		if (!bigger)
			return false;
		table->offsets = bigger;
		table->capacity *= 2;
	}
	if (size >= table->text_capacity - table->text_size) {
		size_t wanted = table->text_capacity * 2 + size;
		char *bigger = wanted > table->text_capacity ? realloc(table->text, wanted) : NULL;

		if (!bigger)
			return false;
		table->text = bigger;
		table->text_capacity = wanted;
	}
	return (table->count + 1) * 2 <= table->slot_count || grow_slots(table);
}

struct hs_error *string_table_add(struct string_table *table, const char *text, int64_t *index_ret)
{
	size_t size = text ? strlen(text) : 0;

	if (!reserve(table, size))
		return &hs_error_no_memory;

	// The copy is made at once, behind the last string, and stays when it is new.
	char *copy = table->text + table->text_size;

	if (size > 0)
		memcpy(copy, text, size);
	copy[size] = 0;
	string_table_make_utf8(copy, size);

	uint32_t *slot = find_slot(table, copy, size);

	if (!*slot) {
		table->offsets[table->count++] = table->text_size;
		table->text_size += size + 1;
		*slot = (uint32_t)table->count;
	}
	*index_ret = (int64_t)*slot - 1;
	return NULL;
}
