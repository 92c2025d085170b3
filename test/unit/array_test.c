// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "check.h"

#include <stdlib.h>

struct element {
	uint64_t words[5];
};

static void test_grows(void)
{
	enum { COUNT = 10000 };
	struct element *elements = NULL;
	size_t count = 0, room = 0, moves = 0, wrong = 0;

	for (size_t i = 0; i < COUNT; i++) {
		const size_t room_before = room;

		CHECK(!ARRAY_RESERVE(elements, count + 1, &room));
		moves += room != room_before;
		wrong += room < count + 1;
		elements[count++] = (struct element){ { i, i, i, i, i } };
	}
	for (size_t i = 0; i < COUNT; i++)
		wrong += elements[i].words[0] != i || elements[i].words[4] != i;
	CHECK_EQUAL(wrong, 0);
	CHECK(moves < 16); // it doubles
	free(elements);
}

static void test_many_at_once(void)
{
	char *text = NULL;
	size_t room = 0;

	CHECK(!ARRAY_RESERVE(text, 0, &room));
	CHECK(!text && room == 0);
	CHECK(!ARRAY_RESERVE(text, 1000000, &room));
	CHECK(room >= 1000000);
	memset(text, 1, room);
	free(text);
}

// What has no number of bytes is refused, and nothing is lost.
static void test_overflow(void)
{
	struct element *elements = NULL, *before;
	size_t room = 0, room_before;

	CHECK(!ARRAY_RESERVE(elements, 3, &room));
	before = elements;
	room_before = room;
	CHECK(ARRAY_RESERVE(elements, SIZE_MAX / sizeof(*elements) + 1, &room) == &hs_error_no_memory);
	CHECK(ARRAY_RESERVE(elements, SIZE_MAX, &room) == &hs_error_no_memory);
	CHECK(elements == before && room == room_before);
	room = SIZE_MAX / 2 + 1; // as if there were so many: doubled, they would be none
	CHECK(ARRAY_RESERVE(elements, room + 1, &room) == &hs_error_no_memory);
	CHECK(elements == before && room == SIZE_MAX / 2 + 1);
	free(elements);
}

// Against counting one by one, with elements of equal value and every value between.
static void test_count_up_to(void)
{
	enum { COUNT = 9 };
	static const struct element sorted[COUNT] = { { { 0, 1 } },  { { 0, 3 } },  { { 0, 3 } },
						      { { 0, 3 } },  { { 0, 4 } },  { { 0, 8 } },
						      { { 0, 20 } }, { { 0, 20 } }, { { 0, UINT64_MAX } } };

	for (size_t count = 0; count <= COUNT; count++)
		for (uint64_t value = 0; value < 23; value++) {
			size_t wanted = 0;

			for (size_t i = 0; i < count; i++)
				wanted += sorted[i].words[1] <= value;
			CHECK_EQUAL(ARRAY_COUNT_UP_TO(sorted, count, words[1], value), wanted);
		}
	CHECK_EQUAL(ARRAY_COUNT_UP_TO(sorted, COUNT, words[1], UINT64_MAX), COUNT);
}

int main(void)
{
	test_grows();
	test_count_up_to();
	test_many_at_once();
	test_overflow();
	return CHECK_RESULT();
}
