// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/profile/word_index.h"

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
	CHECK_EQUAL(word_index_add(&index, 0, &is_new), 0); // the first ones, after all that came
	CHECK_EQUAL(word_index_add(&index, UINT64_MAX, &is_new), 1);
	CHECK(!is_new);
	CHECK_EQUAL(index.count, COUNT + 2);
	CHECK_EQUAL(index.words[COUNT + 1], 0x0001555555555000 + (COUNT - 1) * 16);

	word_index_deinit(&index);
	CHECK(!index.words && !index.numbers.slots && index.count == 0);
	CHECK_EQUAL(word_index_add(&index, 7, &is_new), 0); // empty again
	word_index_deinit(&index);
}

// Words chosen so that their products with the best known factor (of Fibonacci hashing) differ in bits of the middle
// only: with that factor, masked or shifted, this would take hours.
static void test_chosen_words(void)
{
	enum { COUNT = 1 << 20 };
	const uint64_t factor = 0x9e3779b97f4a7c15;
	struct word_index index = { 0 };
	uint64_t inverse = factor;
	int wrong = 0;
	bool is_new;

	for (int i = 0; i < 6; i++) // Newton
		inverse *= 2 - factor * inverse;
	CHECK_EQUAL(inverse * factor, 1);
	for (uint64_t i = 0; i < COUNT; i++)
		wrong += word_index_add(&index, inverse * (i << 22), &is_new) != i;
	CHECK_EQUAL(wrong, 0);
	word_index_deinit(&index);
}

int main(void)
{
	test_numbers();
	test_chosen_words();
	return CHECK_RESULT();
}
