// SPDX-License-Identifier: Apache-2.0
// Which element has an id: of mappings, functions and locations of a profile. Pure.
//
// Most writers number from 1 on, and then the id says the place. For ids in any other order there is a hash table.
#ifndef HEAPSNAP_PROTO_PPROF_ID_TABLE_H
#define HEAPSNAP_PROTO_PPROF_ID_TABLE_H

#include "base/error.h"
#include "base/hash_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_table {
	uint64_t *ids; // of element i; owned
	uint32_t count, room;
	bool is_dense;             // ids[i] is i + 1
	struct hash_table numbers; // empty while dense
};

// Bytes that an element takes at most, for who reckons before: its id, and with the hash table growing, 6 slots.
enum { ID_TABLE_BYTES = sizeof(uint64_t) + 6 * sizeof(struct hash_slot) };

// Room for `room` elements. HS_ERROR_NO_MEMORY.
struct hs_error *id_table_init(struct id_table *table, uint32_t room) HS_MUST_CHECK;
void id_table_deinit(struct id_table *table); // a zeroed table is allowed

// The next element's id. *added_ret is false where another one has it, or it is 0. HS_ERROR_NO_MEMORY. pre: there is
// room
struct hs_error *id_table_add(struct id_table *table, uint64_t id, bool *added_ret) HS_MUST_CHECK;

// false: no element has it.
bool id_table_find(const struct id_table *table, uint64_t id, uint32_t *index_ret);

#endif
