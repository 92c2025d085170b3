// SPDX-License-Identifier: Apache-2.0
#include "base/hash_table.h"
#include "check.h"

#include <stdlib.h>

enum { COUNT = 100000 };

static uint64_t words[COUNT];

static bool is_word(const void *elements, uint32_t number, const void *wanted)
{
	return ((const uint64_t *)elements)[number] == *(const uint64_t *)wanted;
}

// The number of a word, added as `next` if it is new.
static uint32_t number_of(struct hash_table *table, uint64_t hash, uint64_t word, uint32_t next)
{
	struct hash_slot *slot;

	CHECK(!hash_table_reserve(table));
	slot = hash_table_find(table, hash, is_word, words, &word);
	if (!hash_slot_is_used(slot)) {
		words[next] = word;
		hash_table_put(table, slot, hash, next);
	}
	return hash_slot_number(slot);
}

static void test_numbers(void)
{
	struct hash_table table = { 0 };
	size_t wrong = 0;

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < COUNT; i++) {
			uint64_t word = i * UINT64_C(16);

			CHECK(!hash_table_reserve(&table)); // the key first
			wrong += number_of(&table, hash_table_word_hash(&table, word), word, i) != i;
			wrong += table.count > (UINT32_C(1) << table.bits) / 2;
		}
	CHECK_EQUAL(wrong, 0);
	CHECK_EQUAL(table.count, COUNT);
	hash_table_deinit(&table);
	CHECK(!table.slots && !table.bits && !table.count);
}

// Elements of one hash are told apart, at the table's end too, and after it has grown.
static void test_one_hash(void)
{
	const uint64_t hashes[] = { 0, UINT64_MAX, UINT64_C(0xffffffff), UINT64_C(1) << 32 };

	for (size_t h = 0; h < sizeof(hashes) / sizeof(*hashes); h++) {
		struct hash_table table = { 0 };
		size_t wrong = 0;

		for (int round = 0; round < 2; round++)
			for (uint32_t i = 0; i < 1000; i++)
				wrong += number_of(&table, hashes[h], i, i) != i;
		CHECK_EQUAL(wrong, 0);
		CHECK_EQUAL(table.count, 1000);
		hash_table_deinit(&table);
	}
}

static void test_keys(void)
{
	struct hash_table a = { 0 }, b = { 0 };

	CHECK(!hash_table_reserve(&a) && !hash_table_reserve(&b));
	CHECK(a.key.words[0] != b.key.words[0]);
	CHECK(hash_table_word_hash(&a, 1) != hash_table_word_hash(&b, 1));
	hash_table_deinit(&a);
	hash_table_deinit(&b);
}

// Cleared, it finds nothing, and keeps its room and key for what comes then.
static void test_clear(void)
{
	struct hash_table table = { 0 };
	size_t wrong = 0;

	hash_table_clear(&table);
	CHECK(!table.slots && !table.count);
	for (int round = 0; round < 2; round++) {
		struct hash_table full;

		for (uint32_t i = 0; i < 1000; i++)
			wrong += number_of(&table, (uint64_t)i << 54, i, i) != i;
		CHECK_EQUAL(table.count, 1000);
		full = table;
		hash_table_clear(&table);
		CHECK_EQUAL(table.count, 0);
		CHECK_EQUAL(table.bits, full.bits);
		CHECK(table.slots == full.slots && memcmp(&table.key, &full.key, sizeof(full.key)) == 0);
		for (uint64_t i = 0; i < 1000; i++)
			wrong += hash_slot_is_used(hash_table_find(&table, i << 54, is_word, words, &i));
	}
	CHECK_EQUAL(wrong, 0);
	hash_table_deinit(&table);
}

static void test_full(void)
{
	struct hash_table table = { .count = HASH_TABLE_MAX, .bits = 31 };

	CHECK(hash_table_reserve(&table) == &hs_error_no_memory);
	CHECK(table.bits == 31);
}

int main(void)
{
	test_numbers();
	test_one_hash();
	test_keys();
	test_clear();
	test_full();
	return CHECK_RESULT();
}
