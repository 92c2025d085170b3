// SPDX-License-Identifier: Apache-2.0
#include "views/key_table.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static size_t begin_of(const struct key_table *table, size_t number)
{
	return number > 0 ? table->ends[number - 1] : 0;
}

// Throws away the key that is begun.
static void forget(struct key_table *table) { table->size = begin_of(table, table->count); }

struct hs_error *key_add_bytes(struct key_table *table, const void *bytes, size_t size)
{
	struct hs_error *error = size > SIZE_MAX - table->size
					 ? &hs_error_no_memory
					 : ARRAY_RESERVE(table->bytes, table->size + size, &table->byte_room);

	if (error) {
		forget(table);
		return error;
	}
	if (size > 0)
		memcpy(table->bytes + table->size, bytes, size);
	table->size += size;
	return NULL;
}

struct hs_error *key_add_text(struct key_table *table, const char *text)
{
	return key_add_bytes(table, text ? text : "", text ? strlen(text) + 1 : 1);
}

struct hs_error *key_add_number(struct key_table *table, uint64_t number)
{
	return key_add_bytes(table, &number, sizeof(number));
}

// The last key is the one that is looked for: table.size ends it.
static bool is_draft(const void *elements, uint32_t number, const void *wanted)
{
	const struct key_table *table = elements;
	const size_t begin = begin_of(table, number), size = table->ends[number] - begin,
		     draft = begin_of(table, table->count);

	return size == table->size - draft && (size == 0 || memcmp(table->bytes + begin, wanted, size) == 0);
}

struct hs_error *key_number(struct key_table *table, uint32_t *ret, bool *new_ret)
{
	const size_t begin = begin_of(table, table->count);
	struct hs_error *error = hash_table_reserve(&table->numbers);
	struct hash_slot *slot;
	uint64_t hash;

	if (!error)
		error = ARRAY_RESERVE(table->ends, table->count + 1, &table->end_room);
	if (!error)
		error = ARRAY_RESERVE(table->bytes, table->size + 1, &table->byte_room); // a key may be empty
	if (error) {
		forget(table);
		return error;
	}
	hash = keyed_hash(&table->numbers.key, table->bytes + begin, table->size - begin);
	slot = hash_table_find(&table->numbers, hash, is_draft, table, table->bytes + begin);
	*new_ret = !hash_slot_is_used(slot);
	if (*new_ret) {
		*ret = (uint32_t)table->count;
		hash_table_put(&table->numbers, slot, hash, *ret);
		table->ends[table->count++] = table->size;
	} else {
		*ret = hash_slot_number(slot);
		forget(table);
	}
	return NULL;
}

void key_table_deinit(struct key_table *table)
{
	free(table->bytes);
	free(table->ends);
	hash_table_deinit(&table->numbers);
	*table = (struct key_table){ 0 };
}
