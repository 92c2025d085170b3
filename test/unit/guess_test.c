// SPDX-License-Identifier: Apache-2.0
// Code that no symbol covers, called by its neighbour: a name, and no function. Different addresses stay different code
// in views, differences and files.
#include "check.h"
#include "proto/pprof/pprof_decoder.h"
#include "proto/pprof/pprof_encoder.h"
#include "views/diff.h"
#include "views/place_groups.h"
#include "views/sites.h"

#include <stdlib.h>

static const struct {
	const char *text, *base; // NULL = none
} names[] = {
	{ "near f+0x1", "f" },
	{ "near f+0x1f0", "f" },
	{ "near a::operator+(int)+0x9", "a::operator+(int)" },
	{ "near near f+0x1+0x2", "near f+0x1" },
	{ "near f+0x", NULL },
	{ "near f+0x1g", NULL },
	{ "near f+1", NULL },
	{ "near +0x1", NULL },
	{ "near f", NULL },
	{ "nearf+0x1", NULL },
	{ "f+0x1", NULL },
	{ "near ", NULL },
	{ "", NULL },
};

static void test_names(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t size = 0;
		const char *base = profile_guess_base(names[i].text, &size);
		char found[64] = "(none)";

		if (base)
			snprintf(found, sizeof(found), "%.*s", (int)size, base);
		CHECK_STRING(found, names[i].base ? names[i].base : "(none)");
	}
}

#define TEXT(text) ((char[]){ text })

// Guesses a and b have neighbours of one name and different offsets; b and c the same text in different modules.
static struct profile_function functions[] = {
	{ TEXT("near ruby::make(int)+0x10"), TEXT("near _ZN4ruby4makeEi+0x10"), TEXT(""), 0 },
	{ TEXT("near ruby::make(int)+0x20"), TEXT("near _ZN4ruby4makeEi+0x20"), TEXT(""), 0 },
	{ TEXT("main"), TEXT("main"), TEXT("main.c"), 1 },
};
static struct profile_line lines[] = { { 0, 0 }, { 1, 0 }, { 2, 7 } };
static struct profile_mapping mappings[] = {
	{ 0x10000, 0x20000, 0, TEXT("/lib/libruby.so"), TEXT("aa"), false, false, false, false },
	{ 0x30000, 0x40000, 0, TEXT("/lib/libother.so"), TEXT("bb"), false, false, false, false },
};
static struct profile_location locations[] = {
	{ .address = 0x10110, .module = UINT32_MAX, .mapping = 0, .first_line = 0, .line_count = 1, .is_guess = true },
	{ .address = 0x10120, .module = UINT32_MAX, .mapping = 0, .first_line = 1, .line_count = 1, .is_guess = true },
	{ .address = 0x30990, .module = UINT32_MAX, .mapping = 1, .first_line = 1, .line_count = 1, .is_guess = true },
	{ .address = 0x30500, .module = UINT32_MAX, .mapping = 1, .first_line = 2, .line_count = 1 },
};
static uint32_t frames[] = { 0, 1, 2, 3 };
static struct profile_sample samples[] = {
	{ 0, 1, 0, { 0 }, { 1, 10, 1, 10, 1, 0, 0, 0 } },
	{ 1, 1, 0, { 0 }, { 1, 20, 1, 20, 1, 0, 0, 0 } },
	{ 2, 2, 0, { 0 }, { 1, 40, 1, 40, 1, 0, 0, 0 } },
};
static const struct heap_profile profile = {
	.mappings = mappings,
	.mapping_count = 2,
	.functions = functions,
	.function_count = 3,
	.lines = lines,
	.line_count = 3,
	.locations = locations,
	.location_count = 4,
	.frames = frames,
	.frame_count = 4,
	.samples = samples,
	.sample_count = 3,
	.period = 1,
	.program = TEXT("app"),
	.pid = 5,
};

// Also of one that was written and read, which has the same.
static void check_views(const struct heap_profile *of)
{
	struct frame_rules *rules = NULL;
	struct named_profile named;
	struct place_groups groups;
	struct site_list sites;

	CHECK(!frame_rules_create(&rules));
	CHECK(!named_profile_make(of, rules, &named));
	CHECK_EQUAL(named.place_count, 4);

	const struct code_place *first = place_of(&named, named.location_places[named.first_place[0]]);

	CHECK_STRING(first->name, "near ruby::make+0x10 in libruby.so");
	CHECK_STRING(first->full_name, "near ruby::make(int)+0x10 in libruby.so+0x110");
	CHECK_STRING(first->file, "");
	CHECK_EQUAL(first->function, UINT32_MAX);
	CHECK(!place_groups_make(&named, UNIT_FUNCTION, &groups));
	CHECK_EQUAL(groups.count, 5);
	place_groups_deinit(&groups);
	CHECK(!sites_make(&named, &sites));
	CHECK_EQUAL(sites.count, 3);
	sites_deinit(&sites);
	named_profile_deinit(&named);
	frame_rules_destroy(rules);
}

static void test_views(void) { check_views(&profile); }

// The pattern of a function's name does not hold for code near it.
static void test_patterns(void)
{
	char near[] = "near malloc+0x10";
	struct profile_function of_malloc = { near, near, functions[0].file, 0 };
	struct profile_location location = locations[0];
	struct heap_profile small = profile;
	struct frame_rules *rules = NULL;
	struct named_profile named;

	small.functions = &of_malloc;
	small.locations = &location;
	small.function_count = small.location_count = 1;
	small.sample_count = 0;
	CHECK(!frame_rules_create(&rules));
	for (int guess = 0; guess < 2; guess++) {
		location.is_guess = guess;
		memcpy(near, guess ? "near malloc+0x10" : "malloc", guess ? sizeof(near) : sizeof("malloc"));
		CHECK(!named_profile_make(&small, rules, &named));
		CHECK_EQUAL(named.places[0].judgement.class == FRAME_ALLOCATOR, !guess);
		named_profile_deinit(&named);
	}
	frame_rules_destroy(rules);
}

// The later profile has its code elsewhere, and another guess of the same name where none was before.
static void test_difference(void)
{
	struct profile_mapping moved_mappings[2] = { mappings[0], mappings[1] };
	struct profile_location moved[4] = { locations[0], locations[1], locations[2], locations[3] };
	struct heap_profile later = profile;
	struct profile_diff diff;

	for (int i = 0; i < 2; i++) {
		moved_mappings[i].start += 0x700000;
		moved_mappings[i].limit += 0x700000;
	}
	for (int i = 0; i < 4; i++)
		moved[i].address += 0x700000;
	later.mappings = moved_mappings;
	later.locations = moved;
	CHECK(!profile_diff_make(&profile, &later, &diff));
	CHECK_EQUAL(diff.profile.sample_count, 0); // the same code
	profile_diff_deinit(&diff);

	moved[0].address += 2;
	CHECK(!profile_diff_make(&profile, &later, &diff));
	CHECK_EQUAL(diff.profile.sample_count, 2); // one came, one went
	CHECK_EQUAL(diff.profile.location_count, 5);
	for (size_t i = 0; i < diff.profile.location_count; i++)
		CHECK_EQUAL(diff.profile.locations[i].is_guess, diff.profile.lines[i].line == 0);
	profile_diff_deinit(&diff);
}

static void test_file(void)
{
	const struct pprof_options options = { .errors = false };
	struct heap_profile read;
	uint8_t *data = NULL;
	size_t size = 0;

	CHECK(!pprof_encode(&profile, &options, &data, &size));
	CHECK(!pprof_decode(data, size, &read));
	CHECK_EQUAL(read.location_count, 4);
	for (size_t i = 0; i < read.location_count; i++) {
		const struct profile_line *line = &read.lines[read.locations[i].first_line];

		CHECK_EQUAL(read.locations[i].is_guess, strncmp(read.functions[line->function].name, "near", 4) == 0);
	}
	check_views(&read);
	heap_profile_deinit(&read);
	free(data);
}

int main(void)
{
	test_names();
	test_views();
	test_patterns();
	test_difference();
	test_file();
	return CHECK_RESULT();
}
