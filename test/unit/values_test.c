// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "views/key_table.h"
#include "views/values.h"

static void test_subtract(void)
{
	static const struct {
		int64_t from, what, expected;
	} cases[] = {
		{ 5, 3, 2 },
		{ 3, 5, -2 },
		{ INT64_MAX, -1, INT64_MAX },
		{ INT64_MIN, 1, INT64_MIN },
		{ 0, INT64_MIN, INT64_MAX },
		{ -1, INT64_MIN, INT64_MAX },
		{ -2, INT64_MAX, INT64_MIN },
		{ INT64_MIN, INT64_MIN, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct profile_values from = { cases[i].from,
						     cases[i].from,
						     cases[i].from,
						     cases[i].from,
						     2,
						     3,
						     4,
						     cases[i].from },
					    what = { cases[i].what,
						     cases[i].what,
						     cases[i].what,
						     cases[i].what,
						     10,
						     20,
						     30,
						     cases[i].what },
					    result = values_subtract(&from, &what);

		CHECK_EQUAL(number_subtract(cases[i].from, cases[i].what), cases[i].expected);
		CHECK_EQUAL(result.alloc_objects, cases[i].expected);
		CHECK_EQUAL(result.alloc_bytes, cases[i].expected);
		CHECK_EQUAL(result.live_objects, cases[i].expected);
		CHECK_EQUAL(result.live_bytes, cases[i].expected);
		CHECK_EQUAL(result.temporary_objects, cases[i].expected);
		CHECK_EQUAL(result.live_records, 12);
		CHECK_EQUAL(result.live_objects_variance, 23);
		CHECK_EQUAL(result.live_bytes_variance, 34);
	}
}

static void test_orders(void)
{
	static const struct {
		const char *name;
		int size, weight;
	} cases[ORDER_COUNT] = {
		[ORDER_LIVE] = { "live-bytes", 40, 40 },
		[ORDER_BLOCKS] = { "live-blocks", 30, 30 },
		[ORDER_ALLOCATED] = { "alloc-bytes", 20, 20 },
		[ORDER_ALLOCATIONS] = { "alloc-blocks", 10, 10 },
		[ORDER_TEMPORARY] = { "temporary-blocks", 5, 5 },
		[ORDER_ERROR] = { "error", 7, 40 },
		[ORDER_NAME] = { "name", 40, 40 },
		[ORDER_CUMULATIVE] = { "cumulative", 40, 40 },
	};
	static const struct profile_values values = { -10, 20, -30, -40, 1, 4, 49, -5 },
					   zero = { 0, 0, 0, 0, 1, 4, 49, 0 };
	enum values_order order = ORDER_COUNT;

	for (unsigned i = 0; i < ORDER_COUNT; i++) {
		CHECK_STRING(values_order_name((enum values_order)i), cases[i].name);
		CHECK(values_order_find(cases[i].name, &order));
		CHECK_EQUAL(order, i);
		CHECK_EQUAL(values_size(&values, (enum values_order)i), cases[i].size);
		CHECK_EQUAL(values_weight(&values, (enum values_order)i), cases[i].weight);
	}
	CHECK(!values_order_find("size", &order));
	CHECK(!values_are_zero(&values));
	CHECK(values_are_zero(&zero));
	for (int i = 0; i < 4; i++) {
		const struct profile_values one = { i == 0, i == 1, i == 2, i == 3, 0, 0, 0, 0 };

		CHECK(!values_are_zero(&one));
	}
}

static uint32_t add(struct key_table *table, const char *text, uint64_t number, bool is_new)
{
	uint32_t ret = 0;
	bool was_new = !is_new;

	CHECK(!key_add_text(table, text));
	CHECK(!key_add_number(table, number));
	CHECK(!key_number(table, &ret, &was_new));
	CHECK_EQUAL(was_new, is_new);
	return ret;
}

static void test_keys(void)
{
	struct key_table table = { 0 };
	uint32_t number = 1;
	bool is_new = false;

	CHECK(!key_number(&table, &number, &is_new)); // empty
	CHECK(is_new && number == 0);
	CHECK(!key_number(&table, &number, &is_new));
	CHECK(!is_new && number == 0);
	CHECK_EQUAL(add(&table, "one", 1, true), 1);
	CHECK_EQUAL(add(&table, "one", 2, true), 2);
	CHECK_EQUAL(add(&table, "on", 1, true), 3);
	CHECK_EQUAL(add(&table, NULL, 1, true), 4);
	CHECK_EQUAL(add(&table, "", 1, false), 4);
	CHECK_EQUAL(add(&table, "one", 1, false), 1);
	CHECK_EQUAL(table.size, table.ends[4]); // what was there is kept once
	for (uint64_t i = 0; i < 20000; i++)
		if (add(&table, "many", i, true) != 5 + i || add(&table, "many", i, false) != 5 + i)
			CHECK_EQUAL(i, 0);
	CHECK_EQUAL(table.count, 20005);
	key_table_deinit(&table);
}

int main(void)
{
	test_subtract();
	test_orders();
	test_keys();
	return CHECK_RESULT();
}
