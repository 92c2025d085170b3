// SPDX-License-Identifier: Apache-2.0
// Functions, each stored once.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_FUNCTION_TABLE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_FUNCTION_TABLE_H

#include "base/error.h"
#include "base/hash_table.h"
#include "snapshot/heap_profile.h"

#include <stddef.h>
#include <stdint.h>

// Zeroed = empty.
struct function_table {
	struct profile_function *items;
	size_t count, room;
	struct hash_table numbers; // by what a function is told apart by
};

// What a function is told apart by; as in struct profile_function, none NULL, not owned.
struct function_text {
	const char *name, *system_name, *file;
	int64_t start_line;
};

// *index_ret: the function with these texts; added, as the last one, when it is new. The texts
// are copied. HS_ERROR_NO_MEMORY.
struct hs_error *function_table_add(struct function_table *table, const struct function_text *wanted,
				    uint32_t *index_ret) HS_MUST_CHECK;
// Frees what was not taken over: to hand the items to a profile, set `items` to NULL and `count` to 0 before.
void function_table_deinit(struct function_table *table);

#endif
