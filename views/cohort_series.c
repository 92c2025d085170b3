// SPDX-License-Identifier: Apache-2.0
#include "views/cohort_series.h"

#include <stdlib.h>
#include <string.h>

void cohort_cut_deinit(struct cohort_cut *cut)
{
	free(cut->entries);
	free(cut->sites);
	*cut = (struct cohort_cut){ 0 };
}

static int compare_entries(const void *left, const void *right)
{
	const struct cohort_entry *a = left, *b = right;

	return a->site != b->site ? (a->site > b->site) - (a->site < b->site)
				  : (a->cohort > b->cohort) - (a->cohort < b->cohort);
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

// Entries of the same become one. Order stays.
static void merge(struct cohort_cut *cut)
{
	size_t count = 0;

	for (size_t i = 0; i < cut->count; i++) {
		const struct cohort_entry *from = &cut->entries[i];
		struct cohort_entry *to = count ? &cut->entries[count - 1] : NULL;

		if (!to || to->site != from->site || to->cohort != from->cohort) {
			cut->entries[count++] = *from;
			continue;
		}
		to->value.bytes += from->value.bytes;
		to->value.blocks += from->value.blocks;
		to->value.variance += from->value.variance;
	}
	cut->count = count;
}

static void settle(struct cohort_cut *cut)
{
	struct cohort_entry *fit;

	qsort(cut->entries, cut->count, sizeof(*cut->entries), compare_entries);
	qsort(cut->sites, cut->site_count, sizeof(*cut->sites), compare_numbers);
	merge(cut);
	fit = realloc(cut->entries, (cut->count + 1) * sizeof(*fit));
	cut->entries = fit ? fit : cut->entries;
}

static void add(struct cohort_cut *cut, uint32_t site, uint32_t cohort, const struct profile_values *live)
{
	cut->entries[cut->count++] = (struct cohort_entry){
		site,
		cohort,
		{ (double)live->live_bytes, (double)live->live_objects, live->live_bytes_variance },
	};
}

struct hs_error *cohort_cut_make(const struct heap_profile *profile, const struct site_list *sites,
				 const uint32_t *numbers, bool is_first, struct cohort_cut *ret)
{
	const size_t known = sites->count < COHORT_SITES_MOST ? sites->count : COHORT_SITES_MOST;

	*ret = (struct cohort_cut){ 0 };
	if (!is_first && !profile->cohorts)
		return NULL;
	ret->entries = calloc((is_first ? known : profile->cohort_count) + 1, sizeof(*ret->entries));
	ret->sites = calloc(known + 1, sizeof(*ret->sites));
	if (!ret->entries || !ret->sites) {
		cohort_cut_deinit(ret);
		return &hs_error_no_memory;
	}
	for (size_t i = 0; i < known; i++) {
		if (numbers[i] == UINT32_MAX)
			continue;
		ret->sites[ret->site_count++] = numbers[i];
		if (is_first)
			add(ret, numbers[i], 0, &sites->items[i].values);
	}
	for (size_t i = 0; i < profile->cohort_count && !is_first; i++) {
		const struct profile_cohort *cohort = &profile->cohorts[i];
		const uint32_t site = sites->of_samples[cohort->sample];

		if (site < known && numbers[site] != UINT32_MAX)
			add(ret, numbers[site], cohort->number, &cohort->live);
	}
	settle(ret);
	return NULL;
}

void cohort_cut_thin(struct cohort_cut *cut)
{
	for (size_t i = 0; i < cut->count; i++)
		cut->entries[i].cohort = (cut->entries[i].cohort + 1) / 2;
	merge(cut);
}

bool cohort_cut_has(const struct cohort_cut *cut, uint32_t site)
{
	return cut->entries && bsearch(&site, cut->sites, cut->site_count, sizeof(*cut->sites), compare_numbers);
}

void cohort_cut_row(const struct cohort_cut *cut, uint32_t site, size_t cohorts, struct cohort_value *ret)
{
	size_t first = 0, end = cut->count;

	memset(ret, 0, cohorts * sizeof(*ret));
	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (cut->entries[middle].site < site)
			first = middle + 1;
		else
			end = middle;
	}
	for (; first < cut->count && cut->entries[first].site == site; first++)
		if (cut->entries[first].cohort < cohorts)
			ret[cut->entries[first].cohort] = cut->entries[first].value;
}
