// SPDX-License-Identifier: Apache-2.0
// Function symbols in order of address, one for each address. Pure.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_TABLE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_TABLE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum symbol_binding { SYMBOL_LOCAL, SYMBOL_WEAK, SYMBOL_GLOBAL };

struct symbol {
	uint64_t address, size; // size 0 = unknown, as for functions in assembler
	const char *name;       // not owned
	uint64_t section_end;   // a symbol without a size ends at the latest here
	enum symbol_binding binding;
};

// Zeroed = empty.
struct symbol_table {
	struct symbol *items;
	size_t count, room;
};

// Adds a copy of the symbol; its name stays the caller's. HS_ERROR_NO_MEMORY.
struct hs_error *symbol_table_add(struct symbol_table *table, const struct symbol *symbol) HS_MUST_CHECK;
// To be called after the last add and before the first find. Of several names for one address it keeps the best
// one: with a size, global, fewest leading underscores, shortest.
void symbol_table_sort(struct symbol_table *table);
// The symbol that holds `address`, the one that begins last when several do, or NULL. A symbol without a size ends
// at the next symbol, at its section's end or after SYMBOL_UNSIZED_BYTES, whichever is first.
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);
// Where none holds `address`: the symbol that begins last before it, in the same section and less than
// SYMBOL_NEAR_BYTES away; NULL = none.
const struct symbol *symbol_table_near(const struct symbol_table *table, uint64_t address);
void symbol_table_deinit(struct symbol_table *table);

enum {
	SYMBOL_UNSIZED_BYTES = 4096,
	SYMBOL_NEAR_BYTES = 16384, // about what one source file makes: further away, a name says nothing
};

#endif
