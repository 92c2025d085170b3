// SPDX-License-Identifier: Apache-2.0
// Strings stored once, numbered in the order of their first use. Pure.
//
// What is stored is valid UTF-8, because a protobuf string must be, and fit to be shown (base/printable.h), because
// readers of profiles show it and names come from files that the target chose.
#ifndef HEAPSNAP_BASE_STRING_TABLE_H
#define HEAPSNAP_BASE_STRING_TABLE_H

#include "base/error.h"
#include "base/hash_table.h"

#include <stddef.h>
#include <stdint.h>

// Zeroed = empty and without memory.
struct string_table {
	char *text; // the strings, each with its 0 byte
	size_t text_size, text_room;
	size_t *offsets; // of string i in text
	size_t count, room;
	struct hash_table numbers; // by text
};

// An initialized table holds "" as string 0. HS_ERROR_NO_MEMORY, also of string_table_add.
struct hs_error *string_table_init(struct string_table *table) HS_MUST_CHECK;
void string_table_deinit(struct string_table *table);

// *index_ret is the number of `text`; NULL counts as "". The table keeps a copy. HS_ERROR_NO_MEMORY.
struct hs_error *string_table_add(struct string_table *table, const char *text, int64_t *index_ret) HS_MUST_CHECK;

// Valid until the next add. pre: index < count
const char *string_table_text(const struct string_table *table, size_t index);

#endif
