// SPDX-License-Identifier: Apache-2.0
// A hash table that finds elements by number. The elements are the owner's, in an array of any kind; the table holds
// for each a number and a part of its hash, which is keyed (base/keyed_hash.h): who chooses the elements cannot choose
// which of them meet. Open addressing, at most a half of the slots is in use.
//
//   if (hash_table_reserve(&table)) return &hs_error_no_memory;
//   hash = keyed_hash(&table.key, text, size);
//   slot = hash_table_find(&table, hash, is_text, texts, text);
//   if (!hash_slot_is_used(slot)) { texts[count] = text; hash_table_put(&table, slot, hash, count++); }
#ifndef HEAPSNAP_BASE_HASH_TABLE_H
#define HEAPSNAP_BASE_HASH_TABLE_H

#include "base/error.h"
#include "base/keyed_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Numbers are below this, so are counts.
#define HASH_TABLE_MAX (UINT32_C(1) << 30)

struct hash_slot {
	uint32_t number; // of the element, + 1; 0 = free
	uint32_t hash;   // upper half of the hash, whose uppermost bits are where the search begins
};

// Zeroed = empty; it gets its key with the first reserve.
struct hash_table {
	struct hash_slot *slots; // owned
	uint32_t bits;           // there are 2^bits slots; 0 = none
	uint32_t count;          // slots in use, at most a half of them
	struct hash_key key;
};

// Twice as many slots, or the first ones. Called by hash_table_reserve.
struct hs_error *hash_table_grow(struct hash_table *table) HS_MUST_CHECK;
// Makes room for one more element, and the table ready to be searched. Moves slots. An error changes nothing.
HS_MUST_CHECK static inline struct hs_error *hash_table_reserve(struct hash_table *table)
{
	return table->count < (UINT32_C(1) << table->bits) / 2 ? NULL : hash_table_grow(table);
}
// Empty again, with the room and the key that it has.
void hash_table_clear(struct hash_table *table);
void hash_table_deinit(struct hash_table *table);

// Of a word alone, cheaper than keyed_hash: the product with an odd number that nobody knows (Dietzfelbinger et al., "A
// reliable randomized algorithm for the closest-pair problem", 1997: two words meet in 2^bits places with a
// probability of at most 2 / 2^bits).
static inline uint64_t hash_table_word_hash(const struct hash_table *table, uint64_t word)
{
	// without a random key (early at boot) it is 2^64 divided by the golden ratio: slower at worst
	return word * ((table->key.words[0] ^ UINT64_C(0x9e3779b97f4a7c15)) | 1);
}

static inline bool hash_slot_is_used(const struct hash_slot *slot) { return slot->number != 0; }
// pre: the slot is in use
static inline uint32_t hash_slot_number(const struct hash_slot *slot) { return slot->number - 1; }

// The slot of the element with this hash that `is_it` says is `wanted`, or the free one where it belongs; valid until
// the next reserve. pre: a reserve has succeeded
static inline struct hash_slot *hash_table_find(const struct hash_table *table, uint64_t hash,
						bool (*is_it)(const void *elements, uint32_t number,
							      const void *wanted),
						const void *elements, const void *wanted)
{
	const uint32_t high = (uint32_t)(hash >> 32), mask = (UINT32_C(1) << table->bits) - 1;
	uint32_t at = high >> (32 - table->bits);

	while (table->slots[at].number &&
	       (table->slots[at].hash != high || !is_it(elements, table->slots[at].number - 1, wanted)))
		at = (at + 1) & mask;
	return &table->slots[at];
}

// pre: the free slot that was found for this hash after the last reserve; number < HASH_TABLE_MAX
static inline void hash_table_put(struct hash_table *table, struct hash_slot *slot, uint64_t hash, uint32_t number)
{
	*slot = (struct hash_slot){ number + 1, (uint32_t)(hash >> 32) };
	table->count++;
}

#endif
