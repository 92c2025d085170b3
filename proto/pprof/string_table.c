// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/string_table.h"

#include "base/cleanup.h"
#include "base/printable.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024, FIRST_STRINGS = 512, FIRST_TEXT = 16384 };

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
	HS_CLEANUP_FREE char *printable = hs_printable(text ? text : "");
	size_t size = printable ? strlen(printable) : 0;
	uint32_t *slot;

	if (!printable || !reserve(table, size))
		return &hs_error_no_memory;
	slot = find_slot(table, printable, size);
	if (!*slot) {
		memcpy(table->text + table->text_size, printable, size + 1);
		table->offsets[table->count++] = table->text_size;
		table->text_size += size + 1;
		*slot = (uint32_t)table->count;
	}
	*index_ret = (int64_t)*slot - 1;
	return NULL;
}
