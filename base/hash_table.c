// SPDX-License-Identifier: Apache-2.0
#include "base/hash_table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 9 };

// NOLINTNEXTLINE(misc-redundant-expression): the two are equal as it happens; the limit may become smaller
_Static_assert(HASH_TABLE_MAX <= UINT32_C(1) << 30, "2^31 slots are the most that 32 bits of the hash can tell apart");

struct hs_error *hash_table_grow(struct hash_table *table)
{
	struct hash_table bigger = *table;
	const uint32_t old_slots = table->bits ? UINT32_C(1) << table->bits : 0;
	uint32_t mask;

	if (table->count >= HASH_TABLE_MAX)
		return &hs_error_no_memory;
	bigger.bits = table->bits ? table->bits + 1 : FIRST_BITS;
	bigger.slots = calloc((size_t)1 << bigger.bits, sizeof(*bigger.slots));
	if (!bigger.slots)
		return &hs_error_no_memory;
	if (!old_slots)
		bigger.key = hash_key_make();
	mask = (UINT32_C(1) << bigger.bits) - 1;
	for (uint32_t i = 0; i < old_slots; i++) {
		uint32_t at = table->slots[i].hash >> (32 - bigger.bits);

		if (!table->slots[i].number)
			continue;
		while (bigger.slots[at].number)
			at = (at + 1) & mask;
		bigger.slots[at] = table->slots[i];
	}
	free(table->slots);
	*table = bigger;
	return NULL;
}

void hash_table_clear(struct hash_table *table)
{
	if (table->count > 0)
		memset(table->slots, 0, sizeof(*table->slots) << table->bits);
	table->count = 0;
}

void hash_table_deinit(struct hash_table *table)
{
	free(table->slots);
	*table = (struct hash_table){ 0 };
}
