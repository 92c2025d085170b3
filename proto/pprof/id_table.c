// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/id_table.h"

#include <stdlib.h>

struct hs_error *id_table_init(struct id_table *table, uint32_t room)
{
	*table = (struct id_table){ .room = room, .is_dense = true };
	table->ids = malloc(((size_t)room + 1) * sizeof(*table->ids));
	return table->ids ? NULL : &hs_error_no_memory;
}

void id_table_deinit(struct id_table *table)
{
	free(table->ids);
	hash_table_deinit(&table->numbers);
	*table = (struct id_table){ 0 };
}

static bool is_id(const void *elements, uint32_t number, const void *wanted)
{
	return ((const uint64_t *)elements)[number] == *(const uint64_t *)wanted;
}

// *put_ret: it was not there.
static struct hs_error *put(struct id_table *table, uint32_t number, bool *put_ret)
{
	struct hs_error *error = hash_table_reserve(&table->numbers);
	uint64_t hash;
	struct hash_slot *slot;

	if (error)
		return error;
	hash = hash_table_word_hash(&table->numbers, table->ids[number]);
	slot = hash_table_find(&table->numbers, hash, is_id, table->ids, &table->ids[number]);
	*put_ret = !hash_slot_is_used(slot);
	if (*put_ret)
		hash_table_put(&table->numbers, slot, hash, number);
	return NULL;
}

// The first id that is out of order: all that came before it go into the hash table.
static struct hs_error *end_density(struct id_table *table)
{
	struct hs_error *error = NULL;
	bool is_put;

	for (uint32_t i = 0; i < table->count && !error; i++)
		error = put(table, i, &is_put);
	table->is_dense = error != NULL;
	return error;
}

struct hs_error *id_table_add(struct id_table *table, uint64_t id, bool *added_ret)
{
	struct hs_error *error = NULL;

	*added_ret = id != 0;
	if (id == 0)
		return NULL;
	if (table->is_dense && id != (uint64_t)table->count + 1)
		error = end_density(table);
	table->ids[table->count] = id;
	if (!error && !table->is_dense)
		error = put(table, table->count, added_ret);
	if (!error && *added_ret)
		table->count++;
	return error;
}

bool id_table_find(const struct id_table *table, uint64_t id, uint32_t *index_ret)
{
	const struct hash_slot *slot;

	if (table->is_dense || table->numbers.count == 0) {
		*index_ret = (uint32_t)(id - 1);
		return id > 0 && id <= table->count;
	}
	slot = hash_table_find(&table->numbers, hash_table_word_hash(&table->numbers, id), is_id, table->ids, &id);
	if (!hash_slot_is_used(slot))
		return false;
	*index_ret = hash_slot_number(slot);
	return true;
}
