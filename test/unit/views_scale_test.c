// SPDX-License-Identifier: Apache-2.0
// A large profile: every view of it takes time and memory as its frames, so about a second each and not minutes.
#include "check.h"
#include "views/call_tree.h"
#include "views/diff.h"
#include "views/growth.h"
#include "views/report.h"
#include "views/stack_filter.h"

#include <stdlib.h>
#include <time.h>

enum { DEPTH = 100, PLACES = 20000, TEXT = 32 };

// Processor time, so that a machine that does other things as well does not count.
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// What takes ten times as long as it did when this was written fails.
static void check_time(const char *what, double begin)
{
	const double took = seconds() - begin;

	printf("%s: %.2f s\n", what, took);
	CHECK(took < CHECK_TIMES(10, 60));
}

// Stacks share their outer half with few others, as those of a program do; a third goes through a recursion.
static void make_large(struct heap_profile *profile, struct named_profile *named, size_t stacks)
{
	uint32_t state = 1;

	*profile = (struct heap_profile){
		.functions = calloc(PLACES, sizeof(*profile->functions)),
		.lines = calloc(PLACES, sizeof(*profile->lines)),
		.locations = calloc(PLACES, sizeof(*profile->locations)),
		.frames = calloc(stacks * DEPTH, sizeof(*profile->frames)),
		.samples = calloc(stacks, sizeof(*profile->samples)),
		.function_count = PLACES,
		.line_count = PLACES,
		.location_count = PLACES,
		.frame_count = stacks * DEPTH,
		.sample_count = stacks,
	};
	*named = (struct named_profile){
		.profile = profile,
		.places = calloc(PLACES, sizeof(*named->places)),
		.place_count = PLACES,
		.first_place = calloc(PLACES + 1, sizeof(*named->first_place)),
		.location_places = calloc(PLACES, sizeof(*named->location_places)),
	};
	if (!profile->functions || !profile->lines || !profile->locations || !profile->frames || !profile->samples ||
	    !named->places || !named->first_place || !named->location_places)
		abort();
	for (uint32_t i = 0; i < PLACES; i++) {
		char *name = calloc(1, TEXT);

		if (!name)
			abort();
		snprintf(name, TEXT, "function_%u", i / 2);
		profile->functions[i] = (struct profile_function){ .name = name, .system_name = "", .file = "a.c" };
		profile->lines[i] = (struct profile_line){ i, i };
		profile->locations[i] = (struct profile_location){
			.module = UINT32_MAX, .mapping = UINT32_MAX, .first_line = i, .line_count = 1
		};
		named->places[i] = (struct code_place){
			.name = name, .full_name = name, .file = "a.c", .module = "app", .line = i, .function = i
		};
		named->first_place[i] = named->location_places[i] = i;
	}
	named->first_place[PLACES] = PLACES;
	for (size_t i = 0; i < stacks; i++) {
		uint32_t *frames = profile->frames + i * DEPTH;

		for (uint32_t j = 0; j < DEPTH; j++) {
			state = state * 1103515245 + 12345;
			frames[j] = j >= DEPTH / 2 ? j + 100 * (uint32_t)(i % 7)
				    : i % 3 == 0   ? 7
						   : (state >> 8) % PLACES;
		}
		profile->samples[i] = (struct profile_sample){
			.first_frame = (uint32_t)(i * DEPTH),
			.frame_count = DEPTH,
			.values = { 1, (int64_t)i, 1, (int64_t)i, 1, 1, 1 },
		};
		profile_values_add(&profile->total, &profile->samples[i].values);
	}
}

static void free_large(struct heap_profile *profile, struct named_profile *named)
{
	for (uint32_t i = 0; i < PLACES; i++)
		free(profile->functions[i].name);
	free(profile->functions);
	free(profile->lines);
	free(profile->locations);
	free(profile->frames);
	free(profile->samples);
	free(named->places);
	free(named->first_place);
	free(named->location_places);
}

static void time_report(const struct named_profile *named)
{
	double begin = seconds();
	struct stack_filter *filter = NULL;
	struct report report;
	bool *kept = NULL;

	CHECK(!stack_filter_create(&filter));
	CHECK(!stack_filter_add(filter, STACK_IGNORE, "(function|other)_1.*7$", "--ignore"));
	CHECK(!stack_filter_apply(filter, named, &kept));
	stack_filter_destroy(filter);
	check_time("filter", begin);

	begin = seconds();
	CHECK(!report_make(named, &(struct report_options){ .is_cumulative = true, .limit = 10 }, &report));
	CHECK_EQUAL(report.count, 10);
	CHECK_EQUAL(report.stack_count, named->profile->sample_count);
	report_deinit(&report);
	free(kept);
	check_time("report", begin);
}

static void time_tree(const struct named_profile *named, const struct tree_options *options, const char *what)
{
	double begin = seconds();
	struct call_tree tree;

	CHECK(!call_tree_make(named, options, &tree));
	CHECK_EQUAL(tree.nodes[0].cumulative.live_bytes, named->profile->total.live_bytes);
	printf("%zu nodes\n", tree.count);
	// each node that is not opened any more is one of a stack of its own
	CHECK(tree.count <= TREE_OPENED_MAX + named->profile->sample_count + 1);
	call_tree_deinit(&tree);
	check_time(what, begin);
}

static void time_diff(const struct heap_profile *profile)
{
	double begin = seconds();
	struct heap_profile half = *profile;
	struct profile_diff diff;

	half.sample_count /= 2;
	CHECK(!profile_diff_make(&half, profile, &diff));
	CHECK(diff.profile.sample_count > 0 && diff.profile.sample_count <= profile->sample_count / 2);
	profile_diff_deinit(&diff);
	check_time("diff", begin);
}

// A watch of as many cuts as it may have, of as many sites as there are stacks, each with blocks of all cohorts: the
// sites beyond those that are told have none.
static void time_watch(struct heap_profile *profile, struct named_profile *named)
{
	enum { MOST = 13 };
	const size_t stacks = profile->sample_count;
	struct growth_series series = { 0 };
	struct growth growth;
	struct site_list sites[MOST];
	double begin = seconds();
	size_t known = 0;

	profile->cohorts = calloc(stacks * MOST, sizeof(*profile->cohorts));
	if (!profile->cohorts)
		abort();
	for (uint32_t cut = 0; cut < MOST; cut++) {
		profile->cut.epoch = cut + 1;
		profile->cohort_count = stacks * (cut + 1);
		for (size_t i = 0; i < stacks; i++) {
			profile->samples[i].values.live_bytes = 100 * (int64_t)cut;
			for (uint32_t k = 0; k <= cut; k++)
				profile->cohorts[k * stacks + i] = (struct profile_cohort){
					(uint32_t)i, k, { .live_bytes = k ? 100 : 0, .live_objects = 1 }
				};
		}
		CHECK(!sites_make(named, &sites[cut]));
		CHECK(!growth_series_add(&series, &(struct growth_cut){ .seconds = cut }, named, &sites[cut]));
		CHECK(series.cohorts[cut].count <= (size_t)COHORT_SITES_MOST * (cut + 1));
	}
	CHECK(!growth_make(&series, &growth));
	for (size_t i = 0; i < growth.count; i++)
		known += growth.sites[i].cohorts != NULL;
	CHECK_EQUAL(known, sites[MOST - 1].count < COHORT_SITES_MOST ? sites[MOST - 1].count : COHORT_SITES_MOST);
	growth_deinit(&growth);
	growth_series_deinit(&series);
	for (size_t i = 0; i < MOST; i++)
		sites_deinit(&sites[i]);
	free(profile->cohorts);
	check_time("watch", begin);
}

int main(void)
{
	struct heap_profile profile;
	struct named_profile named;

	make_large(&profile, &named, CHECK_TIMES(100000, 10000));
	time_report(&named);
	time_tree(&named, &(struct tree_options){ .share_least = 0.001 }, "tree from the roots");
	time_tree(&named, &(struct tree_options){ .is_from_leaf = true, .share_least = 0.001 }, "tree from the leaf");
	time_tree(&named, &(struct tree_options){ .unit = UNIT_LINE }, "whole tree");
	time_diff(&profile);
	free_large(&profile, &named);
	make_large(&profile, &named, CHECK_TIMES(20000, 2000));
	time_watch(&profile, &named);
	free_large(&profile, &named);
	return CHECK_RESULT();
}
