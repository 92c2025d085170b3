// SPDX-License-Identifier: Apache-2.0
#include "base/byte_cursor.h"
#include "check.h"

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static void test_integers(void)
{
	struct byte_cursor cursor = byte_cursor_make(bytes, sizeof(bytes));
	uint64_t u64;
	uint32_t u32;
	uint8_t u8;

	CHECK(byte_cursor_bytes(&cursor, &u8, sizeof(u8)));
	CHECK_EQUAL(u8, 1);
	CHECK(byte_cursor_skip(&cursor, 2));
	CHECK(byte_cursor_u32(&cursor, &u32));
	CHECK_EQUAL(u32, 0x07060504);
	CHECK(byte_cursor_u64(&cursor, &u64));
	CHECK_EQUAL(u64, 0x0f0e0d0c0b0a0908);
	CHECK_EQUAL(byte_cursor_left(&cursor), 0);
}

// A read of each width with one byte too few changes nothing.
static void test_too_short(void)
{
	uint64_t u64 = 99;
	uint32_t u32 = 99;
	uint8_t u8 = 99;
	struct byte_cursor cursor = byte_cursor_make(bytes, 7);

	CHECK(!byte_cursor_u64(&cursor, &u64));
	CHECK_EQUAL(byte_cursor_left(&cursor), 7);
	cursor = byte_cursor_make(bytes, 3);
	CHECK(!byte_cursor_u32(&cursor, &u32));
	CHECK_EQUAL(byte_cursor_left(&cursor), 3);
	cursor = byte_cursor_make(bytes, 0);
	CHECK(!byte_cursor_bytes(&cursor, &u8, sizeof(u8)));
	CHECK(u64 == 99 && u32 == 99 && u8 == 99);
}

static void test_ranges(void)
{
	struct byte_cursor cursor = byte_cursor_make(bytes, sizeof(bytes)), sub;
	uint8_t copy[3];

	CHECK(!byte_cursor_skip(&cursor, SIZE_MAX));
	CHECK(!byte_cursor_skip(&cursor, sizeof(bytes) + 1));
	CHECK(!byte_cursor_sub(&cursor, sizeof(bytes) + 1, &sub));
	CHECK_EQUAL(byte_cursor_left(&cursor), sizeof(bytes));
	CHECK(byte_cursor_skip(&cursor, 2));
	CHECK(byte_cursor_sub(&cursor, 3, &sub));
	CHECK_EQUAL(byte_cursor_left(&sub), 3);
	CHECK_EQUAL(byte_cursor_left(&cursor), sizeof(bytes) - 5);
	CHECK(byte_cursor_bytes(&sub, copy, 3));
	CHECK(copy[0] == 3 && copy[2] == 5);
	CHECK(!byte_cursor_bytes(&sub, copy, 1));
	CHECK(byte_cursor_skip(&cursor, byte_cursor_left(&cursor)));
	CHECK(byte_cursor_skip(&cursor, 0));
	CHECK(byte_cursor_bytes(&cursor, NULL, 0));
}

int main(void)
{
	test_integers();
	test_too_short();
	test_ranges();
	return CHECK_RESULT();
}
