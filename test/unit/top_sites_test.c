// SPDX-License-Identifier: Apache-2.0
// Sites and their callers, of profiles made by hand.
#include "check.h"
#include "snapshot/profile/top_sites.h"

#include <stdlib.h>

static struct profile_function functions[] = {
	{ .name = (char[]){ "malloc" }, .file = (char[]){ "" } },
	{ .name = (char[]){ "wrapper" }, .file = (char[]){ "wrap.c" } },
	{ .name = (char[]){ "inlined" }, .file = (char[]){ "inline.h" } },
	{ .name = (char[]){ "outer" }, .file = (char[]){ "outer.c" } },
	{ .name = (char[]){ "main" }, .file = (char[]){ "main.c" } },
};
enum { F_MALLOC, F_WRAPPER, F_INLINED, F_OUTER, F_MAIN };

static struct profile_line lines[] = {
	{ F_MALLOC, 0 },   { F_WRAPPER, 10 },
	{ F_INLINED, 20 }, { F_OUTER, 30 }, // one location: the first inlined into the second
	{ F_MAIN, 40 },    { F_WRAPPER, 11 },
};

static struct profile_module modules[] = { { .path = (char[]){ "/opt/lib/plain.so" }, .load_bias = 0x7f0000000000 } };
static struct profile_mapping mappings[] = { { .file = (char[]){ "//anon" } }, { .file = (char[]){ "noslash" } } };

static struct profile_location locations[] = {
	{ .first_line = 0, .line_count = 1, .is_allocator = true },
	{ .first_line = 1, .line_count = 1 },
	{ .first_line = 2, .line_count = 2 },
	{ .first_line = 4, .line_count = 1 },
	{ .first_line = 5, .line_count = 1 },
	{ .address = 0x7f0000001234, .module = 0 },
	{ .address = 0xabc, .module = UINT32_MAX, .mapping = 0 },
	{ .address = 0xdef, .module = UINT32_MAX, .mapping = 1 },
};
enum { L_MALLOC, L_WRAPPER_10, L_INLINED, L_MAIN, L_WRAPPER_11, L_PLAIN, L_ANON, L_NOSLASH };

static uint32_t frames[] = {
	L_MALLOC,  L_WRAPPER_10, L_INLINED, L_MAIN, // 0
	L_MALLOC,  L_WRAPPER_10, L_MAIN,            // 4
	L_MALLOC,  L_WRAPPER_11, L_MAIN,            // 7
	L_PLAIN,   L_ANON,       L_NOSLASH,         // 10
	L_MALLOC,  L_MALLOC,                        // 13
	L_INLINED, L_MAIN,                          // 15
};

static struct heap_profile profile_of(struct profile_sample *samples, size_t count)
{
	return (struct heap_profile){ .functions = functions,
				      .function_count = 5,
				      .lines = lines,
				      .line_count = 6,
				      .modules = modules,
				      .module_count = 1,
				      .mappings = mappings,
				      .mapping_count = 2,
				      .locations = locations,
				      .location_count = 8,
				      .frames = frames,
				      .frame_count = 17,
				      .samples = samples,
				      .sample_count = count };
}

static void check_callers(const struct heap_profile *profile, const struct heap_site *site, unsigned limit,
			  const char *expected)
{
	char *text = NULL;

	CHECK(heap_site_callers(profile, site, limit, " < ", &text) == NULL);
	CHECK_STRING(text, expected);
	free(text);
}

static void test_sites(void)
{
	struct profile_sample samples[] = {
		{ 0, 4, 0, { 1, 10, 1, 10, 1, 2, 16 } },     // wrapper:10, by inlined
		{ 4, 3, 0, { 5, 600, 4, 500, 3, 0.25, 9 } }, // wrapper:10, by main
		{ 7, 3, 0, { 1, 90, 1, 90, 1, 0, 0 } },      // wrapper:11
		{ 10, 3, 0, { 2, 700, 1, 90, 1, 0, 0 } },    // no symbol
		{ 13, 2, 0, { 1, 1, 1, 1, 1, 0, 0 } },       // nothing but the allocator
		{ 0, 0, 0, { 3, 3, 3, 3, 1, 0, 0 } },        // no stack
		{ 15, 2, 0, { 9, 9, 0, 0, 0, 0, 0 } },       // nothing live
	};
	const struct heap_profile profile = profile_of(samples, 7);
	struct heap_site *sites = NULL;
	size_t count = 0;

	CHECK(heap_sites_make(&profile, &sites, &count) == NULL);
	CHECK_EQUAL(count, 6);
	if (count == 6) {
		CHECK_STRING(sites[0].function, "wrapper");
		CHECK_STRING(sites[0].file, "wrap.c");
		CHECK_EQUAL(sites[0].line, 10);
		CHECK_EQUAL(sites[0].values.live_objects, 5);
		CHECK_EQUAL(sites[0].values.live_bytes, 510);
		CHECK_EQUAL(sites[0].values.alloc_objects, 6);
		CHECK_EQUAL(sites[0].values.alloc_bytes, 610);
		CHECK_EQUAL(sites[0].values.live_records, 4);
		CHECK(sites[0].values.live_objects_variance == 2.25 && sites[0].values.live_bytes_variance == 25);
		CHECK_EQUAL(sites[0].sample, 1);                    // the stack that holds most of it
		CHECK_STRING(sites[1].function, "plain.so+0x1234"); // as much live as the next, more allocated
		CHECK_EQUAL(sites[1].line, 0);
		CHECK_STRING(sites[1].file, "");
		CHECK_EQUAL(sites[2].line, 11);
		CHECK_STRING(sites[3].function, "[stack unknown]");
		CHECK_STRING(sites[4].function, "malloc");
		CHECK_STRING(sites[5].function, "inlined"); // the innermost of the inlined ones
		CHECK_EQUAL(sites[5].line, 20);

		check_callers(&profile, &sites[0], 3, "main");
		check_callers(&profile, &sites[1], 3, "anon+0xabc < noslash+0xdef");
		check_callers(&profile, &sites[1], 1, "anon+0xabc");
		check_callers(&profile, &sites[1], 0, "");
		check_callers(&profile, &sites[3], 3, "");
		check_callers(&profile, &sites[4], 3, "");
		check_callers(&profile, &sites[5], 3, "outer < main");
	}
	heap_sites_free(sites, count);
}

static void test_callers_of_inlined(void)
{
	struct profile_sample samples[] = { { 0, 4, 0, { 1, 10, 1, 10, 1, 0, 0 } } };
	const struct heap_profile profile = profile_of(samples, 1);
	struct heap_site *sites = NULL;
	size_t count = 0;

	CHECK(heap_sites_make(&profile, &sites, &count) == NULL);
	CHECK_EQUAL(count, 1);
	check_callers(&profile, &sites[0], 9, "inlined < outer < main");
	check_callers(&profile, &sites[0], 2, "inlined < outer");
	heap_sites_free(sites, count);
}

static void test_empty(void)
{
	const struct heap_profile profile = { 0 };
	struct heap_site *sites = NULL;
	size_t count = 7;

	CHECK(heap_sites_make(&profile, &sites, &count) == NULL);
	CHECK_EQUAL(count, 0);
	heap_sites_free(sites, count);
}

int main(void)
{
	test_sites();
	test_callers_of_inlined();
	test_empty();
	return CHECK_RESULT();
}
