// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/word_index.h"

static void test_numbers(void)
{
	enum { COUNT = 100000 };
	struct word_index index = { 0 };
	int wrong = 0;
	bool is_new;

	CHECK_EQUAL(word_index_add(&index, 0, &is_new), 0); // 0 is a word like any other
	CHECK(is_new);
	CHECK_EQUAL(word_index_add(&index, 0, &is_new), 0);
	CHECK(!is_new);
	CHECK_EQUAL(word_index_add(&index, UINT64_MAX, &is_new), 1);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			uint32_t number = word_index_add(&index, 0x0001555555555000 + i * 16, &is_new);

			wrong += number != i + 2 || is_new != (round == 0);
		}
	}
	CHECK_EQUAL(wrong, 0);
	CHECK_EQUAL(index.count, COUNT + 2);
	CHECK_EQUAL(index.words[COUNT + 1], 0x0001555555555000 + (COUNT - 1) * 16);
	CHECK(index.table_size > 2 * index.count);
	CHECK_EQUAL(index.table_size & (index.table_size - 1), 0);
	word_index_deinit(&index);
	CHECK(!index.words && !index.table && index.count == 0);
	CHECK_EQUAL(word_index_add(&index, 7, &is_new), 0); // empty again
	word_index_deinit(&index);
}

int main(void)
{
	test_numbers();
	return CHECK_RESULT();
}
