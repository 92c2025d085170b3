// SPDX-License-Identifier: Apache-2.0
#include "base/string_table.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/printable.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct hs_error *string_table_init(struct string_table *table)
{
	struct hs_error *error;
	int64_t index;

	*table = (struct string_table){ 0 };
	error = string_table_add(table, "", &index);
	if (error)
		string_table_deinit(table);
	return error;
}

void string_table_deinit(struct string_table *table)
{
	free(table->text);
	free(table->offsets);
	hash_table_deinit(&table->numbers);
	*table = (struct string_table){ 0 };
}

const char *string_table_text(const struct string_table *table, size_t index)
{
	return table->text + table->offsets[index];
}

static bool is_text(const void *elements, uint32_t number, const void *wanted)
{
	return strcmp(string_table_text(elements, number), wanted) == 0;
}

// Makes room for one more string of `size` bytes and its 0 byte.
static struct hs_error *reserve(struct string_table *table, size_t size)
{
	struct hs_error *error = ARRAY_RESERVE(table->offsets, table->count + 1, &table->room);

	if (!error)
		error = ARRAY_RESERVE(table->text, table->text_size + size + 1, &table->text_room);
	return error ? error : hash_table_reserve(&table->numbers);
}

struct hs_error *string_table_add(struct string_table *table, const char *text, int64_t *index_ret)
{
	HS_CLEANUP_FREE char *printable = hs_printable(text ? text : "");
	size_t size = printable ? strlen(printable) : 0;
	struct hs_error *error = printable ? reserve(table, size) : &hs_error_no_memory;
	struct hash_slot *slot;
	uint64_t hash;

	if (error)
		return error;
	hash = keyed_hash(&table->numbers.key, printable, size);
	slot = hash_table_find(&table->numbers, hash, is_text, table, printable);
	if (!hash_slot_is_used(slot)) {
		memcpy(table->text + table->text_size, printable, size + 1);
		table->offsets[table->count] = table->text_size;
		table->text_size += size + 1;
		hash_table_put(&table->numbers, slot, hash, (uint32_t)table->count++);
	}
	*index_ret = hash_slot_number(slot);
	return NULL;
}
