// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/function_table.h"

#include "base/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const struct function_table *table, const struct function_text *wanted)
{
	const uint64_t words[] = {
		keyed_hash(&table->numbers.key, wanted->system_name, strlen(wanted->system_name)),
		keyed_hash(&table->numbers.key, wanted->name, strlen(wanted->name)),
		keyed_hash(&table->numbers.key, wanted->file, strlen(wanted->file)),
		(uint64_t)wanted->start_line,
	};

	return keyed_hash(&table->numbers.key, words, sizeof(words));
}

static bool is_function(const void *elements, uint32_t number, const void *wanted_text)
{
	const struct profile_function *item = (const struct profile_function *)elements + number;
	const struct function_text *wanted = wanted_text;

	return item->start_line == wanted->start_line && strcmp(item->system_name, wanted->system_name) == 0 &&
	       strcmp(item->file, wanted->file) == 0 && strcmp(item->name, wanted->name) == 0;
}

static void function_deinit(struct profile_function *function)
{
	free(function->name);
	free(function->system_name);
	free(function->file);
}

struct hs_error *function_table_add(struct function_table *table, const struct function_text *wanted,
				    uint32_t *index_ret)
{
	struct hs_error *error = ARRAY_RESERVE(table->items, table->count + 1, &table->room);
	struct hash_slot *slot;
	uint64_t hash;

	if (!error)
		error = hash_table_reserve(&table->numbers);
	if (error)
		return error;
	hash = hash_of(table, wanted);
	slot = hash_table_find(&table->numbers, hash, is_function, table->items, wanted);
	if (!hash_slot_is_used(slot)) {
		struct profile_function function = {
			.name = strdup(wanted->name),
			.system_name = strdup(wanted->system_name),
			.file = strdup(wanted->file),
			.start_line = wanted->start_line,
		};

		if (!function.name || !function.system_name || !function.file) {
			function_deinit(&function);
			return &hs_error_no_memory;
		}
		hash_table_put(&table->numbers, slot, hash, (uint32_t)table->count);
		table->items[table->count++] = function;
	}
	*index_ret = hash_slot_number(slot);
	return NULL;
}

void function_table_deinit(struct function_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		function_deinit(&table->items[i]);
	free(table->items);
	hash_table_deinit(&table->numbers);
	*table = (struct function_table){ 0 };
}
