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

#include "verdict_watches.h"

static bool is_given(const double *values)
{
	for (size_t i = 0; i < CUTS; i++)
		if (values[i] > 0)
			return true;
	return false;
}

static double blocks_at(const struct hand_watch *watch, size_t site, size_t cut)
{
	return is_given(watch->sites[site].blocks) ? 1000 * watch->sites[site].blocks[cut]
						   : watch->sites[site].live[cut] * MIB / 256;
}

static struct growth_value value_at(const struct hand_watch *watch, size_t site, size_t cut)
{
	const double live = watch->sites[site].live[cut],
		     made = is_given(watch->sites[site].made) ? watch->sites[site].made[cut] : live,
		     blocks = blocks_at(watch, site, cut),
		     made_blocks =
			     is_given(watch->sites[site].blocks) && live > 0 ? blocks * made / live : made * MIB / 256;

	return (struct growth_value){ live * MIB, blocks, made * MIB, made_blocks, watch->error * MIB };
}

static bool has_cohorts(const struct hand_watch *watch, size_t site)
{
	return watch->sites[site].keeps > 0 || watch->sites[site].left > 0;
}

// In MiB. All sum up to what is live.
static double cohort_at(const struct hand_watch *watch, size_t site, size_t cut, size_t cohort)
{
	const double live = watch->sites[site].live[cut], keeps = watch->sites[site].keeps,
		     left = watch->sites[site].left;
	double weights = 0;

	if (keeps > 0)
		return cohort < cut ? (cohort ? keeps : 0) : live - keeps * (cut > 0 ? (double)cut - 1 : 0);
	for (size_t i = 0; i <= cut; i++)
		weights += pow(left, (double)(cut - i));
	return live * pow(left, (double)(cut - cohort)) / weights;
}

static void cohorts_make(const struct hand_watch *watch, size_t cut, struct cohort_cut *ret)
{
	const double error = watch->error * MIB;

	ret->entries = calloc(SITES * CUTS, sizeof(*ret->entries));
	ret->sites = calloc(SITES, sizeof(*ret->sites));
	for (uint32_t site = 0; site < SITES; site++) {
		if (!has_cohorts(watch, site))
			continue;
		ret->sites[ret->site_count++] = site;
		for (uint32_t i = 0; i <= cut; i++) {
			const double live = watch->sites[site].live[cut] * MIB,
				     bytes = cohort_at(watch, site, cut, i) * MIB,
				     blocks = live > 0 ? blocks_at(watch, site, cut) * bytes / live : 0;

			ret->entries[ret->count++] = (struct cohort_entry){ site, i, { bytes, blocks, bytes * error } };
		}
	}
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
			.untracked_bytes = watch->older[cut] * MIB,
			.has_losses = watch->has_losses,
			.counts_untracked = watch->error <= 0 && !watch->uncounted,
			.is_estimate = watch->error > 0,
			.epoch = (uint32_t)cut + 1,
			.floor = watch->error * MIB,
		};
		cohorts_make(watch, cut, &ret->cohorts[cut]);
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

static const struct hand_watch *watch_named(const char *name)
{
	size_t i = 0;

	while (strcmp(watches[i].name, name) != 0)
		i++;
	return &watches[i];
}

// What a finding says.
static const struct {
	const char *name, *text, *reasons[FINDING_REASONS_MAX];
} said[] = {
	{ "steady leak",
	  "Steady leak at one site, or a cache that still fills: put (cache.cpp:18) grows by 921.6 KiB/s",
	  { "it grows all the time (921.6 KiB/s in the first half, 921.6 KiB/s in the second), and makes 100 % of the "
	    "recorded growth",
	    "its blocks stay: all that was live after 30 s is live still",
	    "hardly any of its blocks has been freed yet: a cache looks the same until it is full, and a longer watch (--for) "
	    "tells",
	    "the process's anonymous memory grows with it, by 1.0 MiB/s" } },
	{ "mmap beside a leak",
	  "Steady leak at one site, or a cache that still fills: put (cache.cpp:18) grows by 1.0 MiB/s",
	  { "it grows all the time (1.0 MiB/s in the first half, 1.0 MiB/s in the second), and makes 100 % of the "
	    "recorded growth",
	    "its blocks stay: all that was live after 30 s is live still",
	    "hardly any of its blocks has been freed yet: a cache looks the same until it is full, and a longer watch (--for) "
	    "tells",
	    "the process's anonymous memory grows by 3.0 MiB/s: what is recorded is 33 % of that" } },
	{ "leak in bursts",
	  "Leak in bursts at one site, or a cache that still fills: put (cache.cpp:18) grew by 60.0 MiB in 60 s",
	  { "it grew in 2 of 6 intervals, by up to 30.0 MiB, and makes 100 % of the recorded growth",
	    "its blocks stay: all that was live after 30 s is live still",
	    "hardly any of its blocks has been freed yet: a cache looks the same until it is full, and a longer watch (--for) "
	    "tells",
	    "the process's anonymous memory grows with it, by 1.2 MiB/s" } },
	{ "more slowly than at first",
	  "Growth at one site: put (cache.cpp:18) grows by 1.3 MiB/s",
	  { "it grows more slowly than at first (2.0 MiB/s, then 614.4 KiB/s): it may level off",
	    "all that was live after 30 s is live still",
	    "the process's anonymous memory grows with it, by 1.3 MiB/s" } },
	{ "as fast as the process, and so is another site: one may take the place of older blocks",
	  "Growth at several sites: by 1.9 MiB/s, fastest at put (cache.cpp:18)",
	  { "the process grows by less than they do together: which of them it grows by is not shown",
	    "all that was live after 30 s is live still",
	    "the process's anonymous memory grows with it, by 1.0 MiB/s" } },
	{ "hardly anything at first",
	  "Growth at one site: put (cache.cpp:18) grows by 765.4 KiB/s",
	  { "it has hardly grown at first (13.7 KiB/s, then 1.5 MiB/s)", "all that was live after 30 s is live still",
	    "the process's anonymous memory grows with it, by 1.0 MiB/s" } },
	{ "nothing is live before the middle",
	  "Growth at one site: put (cache.cpp:18) grows by 768.0 KiB/s",
	  { "it has hardly grown at first (0 B/s, then 1.5 MiB/s)",
	    "nothing of it was live after 30 s yet: whether its blocks stay is not shown",
	    "the process's anonymous memory grows with it, by 1.0 MiB/s" } },
	{ "all is freed, once",
	  "Growth at one site: put (cache.cpp:18) grows by 2.0 MiB/s",
	  { "it does not grow all the time: 26.0 MiB of it was freed meanwhile",
	    "all that was live after 30 s is live still",
	    "the process's anonymous memory grows with it, by 1.0 MiB/s" } },
	{ "full cache, and mmap: as much of older blocks is freed as the site gains",
	  "Growth outside of what malloc gave: the process grows by 921.6 KiB/s that no recorded block accounts "
	  "for",
	  { "anonymous memory grows by 921.6 KiB/s, recorded blocks by 921.6 KiB/s",
	    "921.6 KiB/s of older blocks were freed meanwhile: what is recorded takes their place",
	    "all that was allocated and freed again accounts for 0 B/s: too little to explain it",
	    "it is mapped by the program itself (mmap), is a stack, or is a block from before the attach that is "
	    "written to only now" } },
	{ "leak amid churn at its site",
	  "Steady leak at one site: put (cache.cpp:18) keeps 41.0 KiB/s of the 20.0 MiB/s that it allocates",
	  { "of what it allocated in the first 30 s, 41.0 KiB/s ±<0.1 % is live still (41.0 KiB/s in the first half "
	    "of that time, 41.0 KiB/s in the second)",
	    "these blocks stay: none of them was freed after 40 s",
	    "almost no older blocks were freed meanwhile (0 since 30 s), so these add to them" } },
	{ "leak amid churn, and older blocks are freed",
	  "Undecided: put (cache.cpp:18) keeps 41.0 KiB/s of the 20.0 MiB/s that it allocates, and that the process "
	  "grows by it is not shown",
	  { "anonymous memory 0 B/s, recorded live blocks 25.6 KiB/s, freed again 19.9 MiB/s; malloc's heaps 0 B/s",
	    "a longer watch may show it" } },
	{ "more blocks live at a time, and none of them for long: grows, and is no leak",
	  "Growth at one site: put (cache.cpp:18) grows by 204.8 KiB/s",
	  { "older blocks go, so this is no plain leak: of what it allocated in the first 30 s, 0 B is live still, "
	    "and after 40 s it was 28.7 KiB",
	    "the process's anonymous memory grows with it, by 204.8 KiB/s" } },
	{ "blocks that go late: most of those of half-way are there",
	  "Growth at one site: put (cache.cpp:18) grows by 921.6 KiB/s",
	  { "older blocks go, so this is no plain leak: of what it allocated in the first 30 s, 19.9 MiB is live still, "
	    "and after 40 s it was 26.1 MiB",
	    "the process's anonymous memory grows with it, by 921.6 KiB/s" } },
	{ "the same, and older blocks are freed",
	  "Exchange, and no growth of the process: new blocks take the place of memory that it had before, or are not "
	  "written to yet",
	  { "recorded live blocks grew by +54.0 MiB, the process's anonymous memory by 0 B",
	    "90000 blocks from before the attach were freed since 30 s",
	    "46.0 MiB is not in what was recorded: it is older than the attach, freed but kept by malloc, or mapped" } },
	{ "nothing",
	  "Nothing grows",
	  { "the process's anonymous memory changed by 0 B in 60 s, to 100.0 MiB",
	    "no site's live bytes rise steadily; recorded live is 2.0 MiB",
	    "98.0 MiB is not in what was recorded: it is older than the attach, freed but kept by malloc, or mapped",
	    "that is most of its anonymous memory: heapsnap run, which records from a program's start, shows where it comes from, "
	    "and a longer watch (--for) whether it grows" } },
	{ "cache that was full at once",
	  "Levelled off: put (cache.cpp:18) has grown by 55.0 MiB, and does not grow any more",
	  { "938.7 KiB/s in the first half of the watch, 0 B/s in the second",
	    "the process's anonymous memory did the same (+55.0 MiB, then 0 B)",
	    "its older blocks go as newer ones come: of what was live after 30 s, 19 % is live still" } },
};

static void test_words(const struct hand_profile *hand, const struct site *sites)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct growth_series series;
		struct growth growth;
		struct verdict verdict;
		const struct finding *finding;

		series_make(watch_named(said[i].name), sites, &series);
		CHECK(!growth_make(&series, &growth));
		CHECK(!verdict_make(&growth, &hand->named, &verdict));
		finding = &verdict.findings[0];
		for (size_t k = 1; k < verdict.count; k++)
			finding = strcmp(verdict.findings[k].text, said[i].text) == 0 ? &verdict.findings[k] : finding;
		CHECK_STRING(finding->text, said[i].text);
		for (size_t k = 0; k < FINDING_REASONS_MAX; k++)
			CHECK_STRING(k < finding->reason_count ? finding->reasons[k] : "",
				     said[i].reasons[k] ? said[i].reasons[k] : "");
		verdict_deinit(&verdict);
		growth_deinit(&growth);
		growth_series_deinit(&series);
	}
}

// Where Python keeps its objects beside malloc they may be what grows: what would show them is said.
static void test_other_heap(struct hand_profile *hand, const struct site *sites)
{
	static const struct {
		const char *watch, *text; // NULL: as without Python
	} cases[] = {
		{ "mmap", "Growth outside of what malloc gave, perhaps of Python's small objects: the process grows by "
			  "1.0 MiB/s that no recorded block accounts for" },
		{ "mmap, and as much is freed again: which of the two is not shown",
		  "Undecided: the process grows by 1.0 MiB/s more than what is recorded, and the figures do not show "
		  "by what" },
		{ "steady leak", NULL },
		{ "nothing", NULL },
	};
	static const char told[] = "Python keeps objects of up to 512 bytes in memory that it maps itself: they are "
				   "not seen one by one, unless the program is started with PYTHONMALLOC=malloc";
	struct profile_module module = { .path = (char[]){ "/usr/bin/python3.11" } };

	hand->profile.modules = &module;
	hand->profile.module_count = 1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct growth_series series;
		struct growth growth;
		struct verdict verdict;
		size_t count = 0;

		series_make(watch_named(cases[i].watch), sites, &series);
		CHECK(!growth_make(&series, &growth));
		CHECK(!verdict_make(&growth, &hand->named, &verdict));
		for (size_t k = 0; k < verdict.findings[0].reason_count; k++)
			count += strcmp(verdict.findings[0].reasons[k], told) == 0;
		CHECK_EQUAL(count, cases[i].text != NULL);
		CHECK_EQUAL(verdict.findings[0].tells_other_heap, cases[i].text != NULL);
		if (cases[i].text)
			CHECK_STRING(verdict.findings[0].text, cases[i].text);
		verdict_deinit(&verdict);
		growth_deinit(&growth);
		growth_series_deinit(&series);
	}
	hand->profile.modules = NULL;
	hand->profile.module_count = 0;
}

// A cache that still fills looks like a leak; what has freed some, or was there before the watch, does not.
static void test_may_fill(const struct hand_profile *hand, const struct site *sites)
{
	static const struct {
		struct hand_watch watch;
		const char *expected; // how the verdict begins
	} cases[] = {
		{ { .memory = LINE(100, 10), .sites = { { .live = LINE(0, 9) } } },
		  "Steady leak at one site, or a cache that still fills: " },
		{ { .memory = LINE(100, 10), .sites = { { .live = LINE(0, 9), .made = LINE(0, 9.05) } } },
		  "Steady leak at one site, or a cache that still fills: " },
		{ { .memory = LINE(100, 10), .sites = { { .live = LINE(0, 9), .made = LINE(0, 9.5) } } },
		  "Steady leak at one site: " },
		{ { .memory = LINE(100, 10), .sites = { { .live = LINE(60, 9) } } }, "Steady leak at one site: " },
		{ { .memory = LINE(100, 10), .sites = { { .live = LINE(40, 9) } } },
		  "Steady leak at one site, or a cache that still fills: " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct growth_series series;
		struct growth growth;
		struct verdict verdict;
		char begin[80];

		series_make(&cases[i].watch, sites, &series);
		CHECK(!growth_make(&series, &growth));
		CHECK(!verdict_make(&growth, &hand->named, &verdict));
		snprintf(begin, sizeof(begin), "%.*s", (int)strlen(cases[i].expected), verdict.findings[0].text);
		CHECK_STRING(begin, cases[i].expected);
		verdict_deinit(&verdict);
		growth_deinit(&growth);
		growth_series_deinit(&series);
	}
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
	test_other_heap(&hand, sites);
	test_may_fill(&hand, sites);
	test_next_to_nothing(&hand, sites);
	hand_free(&hand);
	return CHECK_RESULT();
}
