// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/function_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static uint64_t hash_of(const struct function_table *table, const struct function_text *wanted)
{
	const uint64_t words[] = {
		keyed_hash(&table->key, wanted->system_name, strlen(wanted->system_name)),
		keyed_hash(&table->key, wanted->name, strlen(wanted->name)),
		keyed_hash(&table->key, wanted->file, strlen(wanted->file)),
		(uint64_t)wanted->start_line,
	};

	return keyed_hash(&table->key, words, sizeof(words));
}

// The slot of this function, or the free one where it belongs.
static uint32_t *find_slot(const struct function_table *table, const struct function_text *wanted)
{
	size_t mask = table->slot_count - 1, i = hash_of(table, wanted) & mask;

	for (; table->slots[i]; i = (i + 1) & mask) {
		const struct profile_function *item = &table->items[table->slots[i] - 1];

		if (item->start_line == wanted->start_line && strcmp(item->system_name, wanted->system_name) == 0 &&
		    strcmp(item->file, wanted->file) == 0 && strcmp(item->name, wanted->name) == 0)
			break;
	}
	return &table->slots[i];
}

static bool grow_slots(struct function_table *table)
{
	struct function_table bigger = *table;

	if (!table->slot_count)
		bigger.key = hash_key_make();
	bigger.slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
	bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < table->count; i++) {
		const struct profile_function *item = &table->items[i];

		*find_slot(&bigger, &(struct function_text){ item->name, item->system_name, item->file,
							     item->start_line }) = (uint32_t)i + 1;
	}
	free(table->slots);
	*table = bigger;
	return true;
}

static bool reserve(struct function_table *table)
{
	if (table->count >= UINT32_MAX - 1)
		return false;
	if (table->count == table->capacity) {
		size_t wanted = table->capacity ? table->capacity * 2 : FIRST_SLOTS / 2;
		struct profile_function *bigger = reallocarray(table->items, wanted, sizeof(*bigger));

		if (!bigger)
			return false;
		table->items = bigger;
		table->capacity = wanted;
	}
	return (table->count + 1) * 2 <= table->slot_count || grow_slots(table);
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
	if (!reserve(table))
		return &hs_error_no_memory;

	uint32_t *slot = find_slot(table, wanted);

	if (!*slot) {
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
		table->items[table->count++] = function;
		*slot = (uint32_t)table->count;
	}
	*index_ret = *slot - 1;
	return NULL;
}

void function_table_deinit(struct function_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		function_deinit(&table->items[i]);
	free(table->items);
	free(table->slots);
	*table = (struct function_table){ 0 };
}
