// SPDX-License-Identifier: Apache-2.0
#include "snapshot/function_table.h"

#include "snapshot/demangle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static uint64_t hash_text(uint64_t value, const char *text)
{
	// FNV-1a; the 0 byte counts, so that the border between two texts does.
	do
		value = (value ^ (uint8_t)*text) * 0x100000001b3u;
	while (*text++);
	return value;
}

// The slot of this function, or the free one where it belongs.
static uint32_t *find_slot(const struct function_table *table, const char *system_name, const char *file,
			   int64_t start_line)
{
	uint64_t hash = hash_text(hash_text(0xcbf29ce484222325u ^ (uint64_t)start_line, system_name), file);
	size_t mask = table->slot_count - 1, i = (hash ^ hash >> 32) & mask;

	for (; table->slots[i]; i = (i + 1) & mask) {
		const struct profile_function *item = &table->items[table->slots[i] - 1];

		if (item->start_line == start_line && strcmp(item->system_name, system_name) == 0 &&
		    strcmp(item->file, file) == 0)
			break;
	}
	return &table->slots[i];
}

static bool grow_slots(struct function_table *table)
{
	struct function_table bigger = *table;

	bigger.slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
	bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < table->count; i++) {
		const struct profile_function *item = &table->items[i];

		*find_slot(&bigger, item->system_name, item->file, item->start_line) = (uint32_t)i + 1;
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

struct hs_error *function_table_add(struct function_table *table, const char *system_name, const char *file,
				    int64_t start_line, uint32_t *index_ret)
{
	if (!file)
		file = "";
	if (!reserve(table))
		return &hs_error_no_memory;

	uint32_t *slot = find_slot(table, system_name, file, start_line);

	if (!*slot) {
		char *demangled = demangle(system_name);
		struct profile_function function = {
			.name = demangled ? demangled : strdup(system_name),
			.system_name = strdup(system_name),
			.file = strdup(file),
			.start_line = start_line,
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
