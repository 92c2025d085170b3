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

static void test_script_functions(void)
{
	static const struct {
		const char *text, *name, *file; // `file` NULL: no function of a script
		int64_t line;
	} cases[] = {
		{ "JS:*blocks /srv/blocks.js:3:16", "blocks", "/srv/blocks.js", 3 },
		{ "JS:^createUnsafeBuffer node:internal/buffer:1056:28", "createUnsafeBuffer", "node:internal/buffer",
		  1056 },
		{ "JS:~ /srv/blocks.js:4:26", "", "/srv/blocks.js", 4 },
		{ "JS:+Readable.push node:internal/streams/readable:387:35", "Readable.push",
		  "node:internal/streams/readable", 387 },
		{ "LazyCompile:*put file:///srv/my cache.mjs:12:8", "put", "/srv/my cache.mjs", 12 },
		{ "Script:~ node:events:1:1", "", "node:events", 1 },
		{ "Eval:~ evalmachine.<anonymous>:1:1", "", "evalmachine.<anonymous>", 1 },
		{ "JS:~get size [eval]:2:9", "get size", "[eval]", 2 },
		{ "JS:~get size /srv/a b.js:2:9", "get size", "/srv/a b.js", 2 },
		{ "JS:~at /srv/a.js:99:1:2", "at", "/srv/a.js:99", 1 },
		{ "Builtin:ArrayPush", NULL, NULL, 0 },
		{ "JS:blocks /srv/blocks.js:3:16", NULL, NULL, 0 },
		{ "JS:*blocks /srv/blocks.js:3", NULL, NULL, 0 },
		{ "JS:*blocks /srv/blocks.js", NULL, NULL, 0 },
		{ "JS:*blocks:3:16", NULL, NULL, 0 },
		{ "JS:*blocks :3:16", NULL, NULL, 0 },
		{ "JS:*blocks file://:3:16", NULL, NULL, 0 },
		{ "JS:*blocks /a.js:1234567890:16", NULL, NULL, 0 },
		{ "JS:*:3:16", NULL, NULL, 0 },
		{ "JS:*3:16", NULL, NULL, 0 },
		{ "JS:*", NULL, NULL, 0 },
		{ "JS:", NULL, NULL, 0 },
		{ "", NULL, NULL, 0 },
		{ "py::put:/srv/cache.py", NULL, NULL, 0 },
	};
	struct script_function found;
	char longest[4 + 4096 + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQUAL(perf_map_script_function(cases[i].text, &found), cases[i].file != NULL);
		if (!cases[i].file)
			continue;
		CHECK_EQUAL(found.name_size, strlen(cases[i].name));
		CHECK(strncmp(found.name, cases[i].name, found.name_size) == 0);
		CHECK_EQUAL(found.file_size, strlen(cases[i].file));
		CHECK(strncmp(found.file, cases[i].file, found.file_size) == 0);
		CHECK_EQUAL(found.line, cases[i].line);
	}
	// longer than a name that is kept
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "JS:*", 4);
	snprintf(longest + sizeof(longest) - 21, 21, " /srv/blocks.js:3:16");
	CHECK(!perf_map_script_function(longest, &found));
	memcpy(longest + 1, "JS:*", 4);
	CHECK(perf_map_script_function(longest + 1, &found));
	CHECK_EQUAL(found.name_size, 4095 - strlen(" /srv/blocks.js:3:16"));
}

int main(void)
{
	test_lines();
	test_overlaps();
	test_rubbish();
	test_script_functions();
	return CHECK_RESULT();
}
