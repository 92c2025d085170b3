// SPDX-License-Identifier: Apache-2.0
// Each rule has a watch that makes it apply, and one that nearly does.
#include "check.h"
#include "hand_profile.h"
#include "views/verdict.h"

#include <math.h>

enum { CUTS = 7, SITES = 3 };

static const double MIB = 1 << 20;

static const struct hand_place places[SITES] = {
	{ "put", "put(int)", "src/cache.cpp", 18, "app", FRAME_OWN }, // a
	{ "get", "get", "cache.cpp", 0, "app", FRAME_OWN },           // b
	{ "read", "read", "", 0, "app", FRAME_OWN },                  // c
};

// All in MiB, at each cut; `blocks` and `frees` in thousands. `made`: allocated since attach; what is left out is as
// much as is live.
struct hand_watch {
	const char *name;
	double memory[CUTS], heap[CUTS];
	struct {
		double live[CUTS], made[CUTS];
		double blocks[CUTS]; // left out: one for each 256 bytes
	} sites[SITES];
	double frees[CUTS]; // untracked
	double error;       // of each live value; 0 = all is recorded
	size_t cuts;        // 0 = CUTS
	double step;        // seconds between cuts; 0 = 10
	bool no_memory, has_losses;
	const char *expected; // what is found, and of which site
};

#define LEVEL(x)                                                                                                       \
	{                                                                                                              \
		x, x, x, x, x, x, x                                                                                    \
	}
#define LINE(a, x)                                                                                                     \
	{                                                                                                              \
		a, (a) + (x), (a) + 2 * (x), (a) + 3 * (x), (a) + 4 * (x), (a) + 5 * (x), (a) + 6 * (x)                \
	}

static const struct hand_watch watches[] = {
	{ .name = "steady leak",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 9) }, { .live = LEVEL(5), .made = LINE(5, 50) } },
	  .expected = "steady-leak a" },
	{ .name = "steady leak of small blocks: what malloc adds is no growth elsewhere",
	  .memory = LINE(100, 20),
	  .sites = { { .live = LINE(0, 10), .blocks = LINE(0, 400) } },
	  .expected = "steady-leak a" },
	{ .name = "a leak that fills what malloc has: nothing older is freed",
	  .memory = LEVEL(100),
	  .sites = { { .live = LINE(0, 9) } },
	  .expected = "steady-leak a" },
	{ .name = "the same, and older blocks are freed",
	  .memory = LEVEL(100),
	  .sites = { { .live = LINE(0, 9) } },
	  .frees = LINE(0, 30),
	  .expected = "exchange" },
	{ .name = "the same, and of which frees are older is not known",
	  .memory = LEVEL(100),
	  .sites = { { .live = LINE(0, 9) } },
	  .error = 1,
	  .expected = "exchange" },
	{ .name = "so little that the process's pages do not show it",
	  .memory = LEVEL(100),
	  .sites = { { .live = LINE(0, 0.25) } },
	  .frees = LINE(0, 30),
	  .expected = "undecided" },
	{ .name = "a few bytes are no leak",
	  .memory = LEVEL(100),
	  .sites = { { .live = LINE(0, 0.0001) } },
	  .expected = "nothing-grows" },
	{ .name = "estimates that are sure enough",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 9) } },
	  .error = 5,
	  .expected = "steady-leak a" },
	{ .name = "estimates that may be chance",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 9) } },
	  .error = 15,
	  .expected = "undecided" },
	{ .name = "half at one site, half at two others",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 4) }, { .live = LINE(0, 3) }, { .live = LINE(0, 3) } },
	  .expected = "growth a" },
	{ .name = "blocks go, and more come",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 9), .made = LINE(0, 30) } },
	  .expected = "growth a" },
	{ .name = "more slowly than at first",
	  .memory = { 100, 120, 140, 160, 166, 172, 178 },
	  .sites = { { .live = { 0, 20, 40, 60, 66, 72, 78 } } },
	  .expected = "growth a" },
	{ .name = "cache that levelled off",
	  .memory = { 100, 120, 140, 155, 155, 155, 155 },
	  .sites = { { .live = { 0, 20, 40, 55, 55, 55, 55 }, .made = LINE(0, 20) } },
	  .expected = "levelled-off a" },
	{ .name = "what an attach looks like: what comes and goes gets recorded",
	  .memory = LEVEL(155),
	  .sites = { { .live = { 0, 20, 40, 55, 55, 55, 55 }, .made = LINE(0, 20) } },
	  .frees = LINE(0, 80),
	  .expected = "nothing-grows" },
	{ .name = "a site that levelled off, and a process that grew by less",
	  .memory = { 150, 153, 155, 155, 155, 155, 155 },
	  .sites = { { .live = { 0, 20, 40, 55, 55, 55, 55 }, .made = LINE(0, 20) } },
	  .expected = "undecided" },
	{ .name = "vector",
	  .memory = LINE(100, 5),
	  .sites = { { .live = { 0, 8, 8, 16, 16, 16, 32 },
		       .made = { 0, 8, 8, 24, 24, 24, 56 },
		       .blocks = { 0, .001, .001, .001, .001, .001, .001 } } },
	  .expected = "grows-in-steps a" },
	{ .name = "a buffer that is made anew, and the process does not grow",
	  .memory = LEVEL(100),
	  .sites = { { .live = { 0, 8, 8, 16, 16, 16, 32 },
		       .made = { 0, 8, 8, 24, 24, 24, 56 },
		       .blocks = { 0, .001, .001, .001, .001, .001, .001 } } },
	  .expected = "exchange" },
	{ .name = "mmap",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LEVEL(1), .made = LINE(1, 2) } },
	  .expected = "outside-malloc" },
	{ .name = "mmap, and as much is freed again: which of the two is not shown",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LEVEL(1), .made = LINE(1, 9) } },
	  .expected = "undecided" },
	{ .name = "mmap, and allocations were lost",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LEVEL(1), .made = LINE(1, 2) } },
	  .has_losses = true,
	  .expected = "undecided" },
	{ .name = "mmap beside a leak",
	  .memory = LINE(100, 30),
	  .sites = { { .live = LINE(0, 10) } },
	  .expected = "outside-malloc steady-leak a" },
	{ .name = "fragmentation",
	  .memory = LINE(100, 10),
	  .heap = LINE(90, 10),
	  .sites = { { .live = LEVEL(1), .made = LINE(1, 11) } },
	  .expected = "fragmentation" },
	{ .name = "so too in what is not known as a heap of malloc, beside a small leak",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 0.1), .made = LINE(0, 10) } },
	  .expected = "undecided growth a" },
	{ .name = "the heap grows, and hardly anything was freed",
	  .memory = LINE(100, 10),
	  .heap = LINE(90, 10),
	  .sites = { { .live = LEVEL(1), .made = LINE(1, 2) } },
	  .expected = "undecided" },
	{ .name = "freed, and the memory stays",
	  .memory = { 100, 140, 180, 180, 180, 179, 179 },
	  .sites = { { .live = { 0, 40, 80, 20, 20, 20, 20 }, .made = { 0, 40, 80, 80, 80, 80, 80 } } },
	  .expected = "fragmentation" },
	{ .name = "freed, and given back",
	  .memory = { 100, 140, 180, 125, 122, 121, 120 },
	  .sites = { { .live = { 0, 40, 80, 20, 20, 20, 20 }, .made = { 0, 40, 80, 80, 80, 80, 80 } } },
	  .expected = "undecided" },
	{ .name = "nothing",
	  .memory = LEVEL(100),
	  .sites = { { .live = LEVEL(2), .made = LINE(2, 100) } },
	  .expected = "nothing-grows" },
	{ .name = "a working set that fills up after the attach",
	  .memory = LEVEL(100),
	  .sites = { { .live = { 0, 5, 5, 5, 5, 5, 5 }, .made = LINE(0, 100) } },
	  .expected = "nothing-grows" },
	{ .name = "the process went up once",
	  .memory = { 100, 100, 100, 100, 100, 100, 130 },
	  .sites = { { .live = LEVEL(2) } },
	  .expected = "undecided" },
	{ .name = "two cuts",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 10) } },
	  .cuts = 2,
	  .expected = "not-enough-data" },
	{ .name = "three cuts",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 10) } },
	  .cuts = 3,
	  .expected = "steady-leak a" },
	{ .name = "too short",
	  .memory = LINE(100, 10),
	  .sites = { { .live = LINE(0, 10) } },
	  .step = .08,
	  .expected = "not-enough-data" },
	{ .name = "more than numbers of bytes can be",
	  .memory = LINE(100, 1e9),
	  .sites = { { .live = LINE(0, 1.4e12) } },
	  .step = .1,
	  .expected = "steady-leak a" },
	{ .name = "the process's memory is not known",
	  .sites = { { .live = LEVEL(1) } },
	  .no_memory = true,
	  .expected = "undecided" },
};

static bool is_given(const double *values)
{
	for (size_t i = 0; i < CUTS; i++)
		if (values[i] > 0)
			return true;
	return false;
}

static struct growth_value value_at(const struct hand_watch *watch, size_t site, size_t cut)
{
	const double live = watch->sites[site].live[cut],
		     made = is_given(watch->sites[site].made) ? watch->sites[site].made[cut] : live,
		     blocks = is_given(watch->sites[site].blocks) ? 1000 * watch->sites[site].blocks[cut]
								  : live * MIB / 256;

	return (struct growth_value){ live * MIB, blocks, made * MIB, blocks, watch->error * MIB };
}

static void series_make(const struct hand_watch *watch, const struct site *sites, struct growth_series *ret)
{
	*ret = (struct growth_series){ .count = watch->cuts ? watch->cuts : CUTS, .last_count = SITES };
	ret->last = calloc(SITES, sizeof(struct site *));
	for (size_t i = 0; i < SITES; i++)
		ret->last[i] = &sites[i];
	for (size_t cut = 0; cut < ret->count; cut++) {
		struct growth_value *total = &ret->totals[cut];

		ret->values[cut] = calloc(SITES, sizeof(struct growth_value));
		ret->value_counts[cut] = SITES;
		for (size_t i = 0; i < SITES; i++) {
			const struct growth_value value = value_at(watch, i, cut);

			ret->values[cut][i] = value;
			total->live_bytes += value.live_bytes;
			total->live_objects += value.live_objects;
			total->alloc_bytes += value.alloc_bytes;
			total->alloc_objects += value.alloc_objects;
			total->error = value.error;
		}
		ret->cuts[cut] = (struct growth_cut){
			.seconds = (watch->step > 0 ? watch->step : 10) * (double)cut,
			.memory = { !watch->no_memory, 0, (uint64_t)(watch->memory[cut] * MIB), 0 },
			.heap_bytes = (uint64_t)(watch->heap[cut] * MIB),
			.live_bytes = (int64_t)total->live_bytes,
			.untracked_frees = 1000 * watch->frees[cut],
			.has_losses = watch->has_losses,
			.is_estimate = watch->error > 0,
		};
	}
}

static void write_verdict(const struct verdict *verdict, const struct site *sites, char *text, size_t room)
{
	size_t at = 0;

	for (size_t i = 0; i < verdict->count && at < room; i++) {
		const struct finding *finding = &verdict->findings[i];

		at += (size_t)snprintf(text + at, room - at, "%s%s", at ? " " : "", verdict_kind_name(finding->kind));
		if (finding->site && at < room)
			at += (size_t)snprintf(text + at, room - at, " %c",
					       (char)('a' + (finding->site->site - sites)));
		CHECK(finding->text && *finding->text);
		CHECK(finding->kind == VERDICT_NOT_ENOUGH_DATA || finding->reason_count > 0);
	}
}

static void test_watches(const struct hand_profile *hand, const struct site *sites)
{
	for (size_t i = 0; i < sizeof(watches) / sizeof(watches[0]); i++) {
		struct growth_series series;
		struct growth growth;
		struct verdict verdict;
		char found[200] = "", got[400], expected[400];

		series_make(&watches[i], sites, &series);
		CHECK(!growth_make(&series, &growth));
		CHECK(!verdict_make(&growth, &hand->named, &verdict));
		write_verdict(&verdict, sites, found, sizeof(found));
		snprintf(got, sizeof(got), "%s: %s", watches[i].name, found);
		snprintf(expected, sizeof(expected), "%s: %s", watches[i].name, watches[i].expected);
		CHECK_STRING(got, expected);
		verdict_deinit(&verdict);
		growth_deinit(&growth);
		growth_series_deinit(&series);
	}
}

static void test_words(const struct hand_profile *hand, const struct site *sites)
{
	struct growth_series series;
	struct growth growth;
	struct verdict verdict;

	series_make(&watches[0], sites, &series);
	CHECK(!growth_make(&series, &growth));
	CHECK(!verdict_make(&growth, &hand->named, &verdict));
	CHECK_STRING(verdict.findings[0].text, "Steady leak at one site: put (cache.cpp:18) grows by 921.6 KiB/s");
	CHECK_EQUAL(verdict.findings[0].reason_count, 3);
	CHECK_STRING(verdict.findings[0].reasons[0],
		     "it grows all the time (921.6 KiB/s in the first half, 921.6 KiB/s in "
		     "the second), and makes 100 % of what grows");
	CHECK_STRING(verdict.findings[0].reasons[1], "its blocks stay: all that was live after 30 s is live still");
	CHECK_STRING(verdict.findings[0].reasons[2], "the process's anonymous memory grows with it, by 1.0 MiB/s");
	verdict_deinit(&verdict);
	growth_deinit(&growth);
	growth_series_deinit(&series);
}

// What grows by less than can be told of is not called nothing.
static void test_next_to_nothing(const struct hand_profile *hand, const struct site *sites)
{
	static const struct {
		struct hand_watch watch;
		const char *expected;
	} cases[] = {
		{ { .memory = LEVEL(100), .sites = { { .live = LEVEL(3) } } }, "Nothing grows" },
		{ { .memory = LINE(100, 0.02), .sites = { { .live = LEVEL(3) } } }, "Nothing grows" }, // 0.12 MiB
		{ { .memory = LINE(100, 0.1), .sites = { { .live = LEVEL(3) } } }, "Next to nothing grows" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct growth_series series;
		struct growth growth;
		struct verdict verdict;

		series_make(&cases[i].watch, sites, &series);
		CHECK(!growth_make(&series, &growth));
		CHECK(!verdict_make(&growth, &hand->named, &verdict));
		CHECK_STRING(verdict.findings[0].text, cases[i].expected);
		verdict_deinit(&verdict);
		growth_deinit(&growth);
		growth_series_deinit(&series);
	}
}

int main(void)
{
	static const uint32_t paths[SITES] = { 0, 1, 2 };
	struct site sites[SITES];
	struct hand_profile hand;

	hand_make(&hand, places, SITES, NULL, 0, 0x10000);
	for (size_t i = 0; i < SITES; i++)
		sites[i] = (struct site){ .path = &paths[i], .path_length = 1, .is_own = true, .via = "" };
	test_watches(&hand, sites);
	test_words(&hand, sites);
	test_next_to_nothing(&hand, sites);
	hand_free(&hand);
	return CHECK_RESULT();
}
