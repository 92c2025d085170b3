// SPDX-License-Identifier: Apache-2.0
// Numbers for things that are the same when their keys are: a key is texts and numbers, one after the other. Pure.
//
//   if (key_add_text(&table, name) || key_add_number(&table, line) || key_number(&table, &number, &is_new)) ...
//
// The parts of all keys of one table must be of the same kinds in the same order, or say so first: nothing stands
// between them. An error throws the begun key away. Time and memory are those of the keys' bytes.
#ifndef HEAPSNAP_VIEWS_KEY_TABLE_H
#define HEAPSNAP_VIEWS_KEY_TABLE_H

#include "base/error.h"
#include "base/hash_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed = empty.
struct key_table {
	char *bytes;  // owned: of all keys
	size_t *ends; // owned: of key i in `bytes`, where key i + 1 begins
	size_t count; // of keys; number i is the i-th one that was new
	size_t size;  // of bytes, with those of the key that is begun
	size_t byte_room, end_room;
	struct hash_table numbers;
};

// Of the key that is begun. All: HS_ERROR_NO_MEMORY.
struct hs_error *key_add_text(struct key_table *table, const char *text) HS_MUST_CHECK; // NULL is ""
struct hs_error *key_add_number(struct key_table *table, uint64_t number) HS_MUST_CHECK;
struct hs_error *key_add_bytes(struct key_table *table, const void *bytes, size_t size) HS_MUST_CHECK;

// Ends the key, and says which number it has; *new_ret: this is the first time.
struct hs_error *key_number(struct key_table *table, uint32_t *ret, bool *new_ret) HS_MUST_CHECK;

void key_table_deinit(struct key_table *table);

#endif
