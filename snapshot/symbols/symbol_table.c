// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/symbol_table.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

// Symbols that a long one encloses and that end before an address; more than these are not looked behind.
enum { ENCLOSED_LIMIT = 32 };

struct hs_error *symbol_table_add(struct symbol_table *table, const struct symbol *symbol)
{
	if (ARRAY_RESERVE(table->items, table->count + 1, &table->room))
		return &hs_error_no_memory;
	table->items[table->count++] = *symbol;
	return NULL;
}

// By address, then the better name first.
static int compare_symbols(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? -1 : 1;
	if (a->binding != b->binding)
		return a->binding > b->binding ? -1 : 1;

	size_t a_underscores = strspn(a->name, "_"), b_underscores = strspn(b->name, "_");

	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;

	size_t a_length = strlen(a->name), b_length = strlen(b->name);

	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	return strcmp(a->name, b->name);
}

void symbol_table_sort(struct symbol_table *table)
{
	size_t kept = 0;

	if (table->count > 0)
		qsort(table->items, table->count, sizeof(*table->items), compare_symbols);
	for (size_t i = 0; i < table->count; i++) {
		if (kept == 0 || table->items[i].address != table->items[kept - 1].address)
			table->items[kept++] = table->items[i];
	}
	table->count = kept;
}

static bool holds(const struct symbol *symbol, uint64_t address)
{
	uint64_t offset = address - symbol->address;

	if (symbol->size)
		return offset < symbol->size;
	return offset < SYMBOL_UNSIZED_BYTES && address < symbol->section_end;
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	const size_t begun = ARRAY_COUNT_UP_TO(table->items, table->count, address, address);

	for (size_t i = begun; i > 0 && begun - i < ENCLOSED_LIMIT; i--) {
		const struct symbol *symbol = &table->items[i - 1];

		// One without a size ends where the next begins.
		if ((symbol->size || i == begun) && holds(symbol, address))
			return symbol;
	}
	return NULL;
}

const struct symbol *symbol_table_near(const struct symbol_table *table, uint64_t address)
{
	const size_t begun = ARRAY_COUNT_UP_TO(table->items, table->count, address, address);
	const struct symbol *symbol = begun > 0 ? &table->items[begun - 1] : NULL;

	// Sections do not overlap: what begins before the address in a section that ends behind it is in its section.
	return symbol && address - symbol->address < SYMBOL_NEAR_BYTES && address < symbol->section_end ? symbol : NULL;
}

void symbol_table_deinit(struct symbol_table *table)
{
	free(table->items);
	*table = (struct symbol_table){ 0 };
}
