// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/symbols/perf_map.h"

#include <stdlib.h>

static char buffer[4096];

static struct perf_map parse(const char *text)
{
	struct perf_map map;

	snprintf(buffer, sizeof(buffer), "%s", text);
	CHECK(!perf_map_parse(buffer, strlen(text), &map));
	return map;
}

static const char *find(const struct perf_map *map, uint64_t address)
{
	const char *name = perf_map_find(map, address);

	return name ? name : "(none)";
}

static void test_lines(void)
{
	struct perf_map map = parse("1000 10 first\n"
				    "2000 20 second name, with spaces\r\n"
				    "0x3000 0x8 third\n"
				    "ABCDEF0 1 upper case\n"
				    "7fffffffffff000 10 far\n"
				    "4000 10 being written");

	CHECK_STRING(find(&map, 0xfff), "(none)");
	CHECK_STRING(find(&map, 0x1000), "first");
	CHECK_STRING(find(&map, 0x100f), "first");
	CHECK_STRING(find(&map, 0x1010), "(none)");
	CHECK_STRING(find(&map, 0x2010), "second name, with spaces\r");
	CHECK_STRING(find(&map, 0x3007), "third");
	CHECK_STRING(find(&map, 0xabcdef0), "upper case");
	CHECK_STRING(find(&map, 0x7fffffffffff001), "far");
	CHECK_STRING(find(&map, 0x4000), "(none)");
	perf_map_deinit(&map);
}

static void test_overlaps(void)
{
	struct perf_map map = parse("1000 100 outer\n1020 10 inner\n2000 10 old\n2000 10 new\n");

	CHECK_STRING(find(&map, 0x1010), "outer");
	CHECK_STRING(find(&map, 0x1025), "inner");
	CHECK_STRING(find(&map, 0x1040), "outer");
	CHECK_STRING(find(&map, 0x2005), "new");
	perf_map_deinit(&map);
}

static void test_rubbish(void)
{
	struct perf_map map = parse("\n \n1000\n1000 10\n1000 10 \nx 10 name\n1000 x name\n1000 0 nothing\n"
				    "ffffffffffffffff 2 wraps\n11111111111111111 1 too long\n0x 1 none\n5000 1 good\n");

	CHECK_EQUAL(map.index.count, 1);
	CHECK_STRING(find(&map, 0x5000), "good");
	perf_map_deinit(&map);
	map = parse("");
	CHECK_STRING(find(&map, 0), "(none)");
	perf_map_deinit(&map);
}

int main(void)
{
	test_lines();
	test_overlaps();
	test_rubbish();
	return CHECK_RESULT();
}
