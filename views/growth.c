// SPDX-License-Identifier: Apache-2.0
#include "views/growth.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Less than this is no growth, however steady: a buffer here and there.
static const double GAINED_LEAST = 4096;
// What one or two blocks make is a step, and no rate.
static const double BLOCKS_LEAST = 3;

static struct growth_value value_of(const struct heap_profile *profile, const struct profile_values *values)
{
	return (struct growth_value){
		.live_bytes = (double)values->live_bytes,
		.live_objects = (double)values->live_objects,
		.alloc_bytes = (double)values->alloc_bytes,
		.alloc_objects = (double)values->alloc_objects,
		.error = (double)profile_bytes_error(profile, values->live_bytes_variance),
	};
}

// Two sites of one profile may be one here.
static void value_add(struct growth_value *to, const struct growth_value *from)
{
	to->live_bytes += from->live_bytes;
	to->live_objects += from->live_objects;
	to->alloc_bytes += from->alloc_bytes;
	to->alloc_objects += from->alloc_objects;
	to->error = hypot(to->error, from->error);
}

static struct hs_error *add_site(struct growth_series *series, const struct heap_profile *profile,
				 const struct site *site, const uint32_t *places, size_t *room, uint32_t *number_ret)
{
	const size_t cut = series->count;
	uint32_t number = 0;
	bool is_new = false;
	struct hs_error *error = site_keys_number(&series->keys, site, places, &number, &is_new);
	const struct growth_value value = value_of(profile, &site->values);

	if (!error)
		error = ARRAY_RESERVE(series->values[cut], (size_t)number + 1, room);
	if (!error)
		error = ARRAY_RESERVE(series->last, (size_t)number + 1, &series->last_room);
	if (error)
		return error;
	for (; series->value_counts[cut] <= number; series->value_counts[cut]++)
		series->values[cut][series->value_counts[cut]] = (struct growth_value){ 0 };
	for (; series->last_count <= number; series->last_count++)
		series->last[series->last_count] = NULL;
	*number_ret = number;
	value_add(&series->values[cut][number], &value);
	if (!series->last[number])
		series->last[number] = site;
	return NULL;
}

static void describe(const struct heap_profile *profile, struct growth_cut *cut)
{
	cut->memory = profile->memory;
	cut->live_bytes = profile->total.live_bytes;
	cut->is_estimate = profile->is_estimate;
	cut->epoch = profile->cut.epoch;
	cut->floor = profile->is_estimate ? profile_interval(profile) : 0;
	cut->counts_untracked = !profile->is_estimate;
	for (size_t i = 0; i < profile->ledger_count; i++) {
		const struct ledger_line *line = &profile->ledger[i];

		if (strcmp(line->name, "unknown_frees") == 0)
			cut->untracked_frees = (double)line->value;
		if (strcmp(line->name, "unknown_free_bytes") == 0)
			cut->untracked_bytes = (double)line->value;
		if (strcmp(line->name, "unknown_not_counted") == 0)
			cut->counts_untracked = false;
		if (strcmp(line->name, "downsampled") == 0)
			cut->downsampled = (double)line->value;
		cut->has_losses = cut->has_losses || (line->value && strncmp(line->name, "lost_", 5) == 0);
	}
}

struct hs_error *growth_series_add(struct growth_series *series, const struct growth_cut *facts,
				   const struct named_profile *named, const struct site_list *sites)
{
	const size_t cut = series->count;
	HS_CLEANUP_FREE uint32_t *numbers = malloc((sites->count + 1) * sizeof(*numbers)); // of the sites
	HS_CLEANUP_FREE uint32_t *places = NULL;
	size_t room = 0;
	struct hs_error *error =
		numbers ? site_keys_places(&series->keys, named, MATCH_LINES, &places) : &hs_error_no_memory;

	series->cuts[cut] = *facts;
	describe(named->profile, &series->cuts[cut]);
	series->totals[cut] = value_of(named->profile, &named->profile->total);
	for (size_t i = 0; i < series->last_count; i++)
		series->last[i] = NULL;
	for (size_t i = 0; i < sites->count && !error; i++) {
		numbers[i] = UINT32_MAX;
		if (i < GROWTH_SITES_MAX)
			error = add_site(series, named->profile, &sites->items[i], places, &room, &numbers[i]);
	}
	if (!error)
		error = cohort_cut_make(named->profile, sites, numbers, cut == 0, &series->cohorts[cut]);
	series->count++;
	return error;
}

void growth_series_thin(struct growth_series *series)
{
	for (size_t i = 1; i < series->count; i++) {
		if (i % 2) {
			free(series->values[i]);
			cohort_cut_deinit(&series->cohorts[i]);
		} else {
			cohort_cut_thin(&series->cohorts[i]);
			series->cohorts[i / 2] = series->cohorts[i];
			series->cuts[i / 2] = series->cuts[i];
			series->totals[i / 2] = series->totals[i];
			series->values[i / 2] = series->values[i];
			series->value_counts[i / 2] = series->value_counts[i];
		}
		series->values[i] = NULL;
		series->value_counts[i] = 0;
		series->cohorts[i] = (struct cohort_cut){ 0 };
	}
	series->count = (series->count + 1) / 2;
}

size_t growth_series_epochs(const struct growth_series *series, uint32_t ret[TREND_MOST])
{
	for (size_t i = 0; i < series->count; i++)
		ret[i] = series->cuts[i].epoch;
	return series->count;
}

void growth_series_drop_first(struct growth_series *series)
{
	const size_t left = series->count - 1;
	const double seconds = left > 0 ? series->cuts[1].seconds : 0;

	for (size_t i = 0; i < series->count; i++)
		cohort_cut_deinit(&series->cohorts[i]);
	free(series->values[0]);
	memmove(series->cuts, series->cuts + 1, left * sizeof(series->cuts[0]));
	memmove(series->totals, series->totals + 1, left * sizeof(series->totals[0]));
	memmove(series->values, series->values + 1, left * sizeof(series->values[0]));
	memmove(series->value_counts, series->value_counts + 1, left * sizeof(series->value_counts[0]));
	series->values[left] = NULL;
	series->value_counts[left] = 0;
	series->count = left;
	for (size_t i = 0; i < left; i++)
		series->cuts[i].seconds -= seconds;
}

void growth_series_deinit(struct growth_series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		free(series->values[i]);
		cohort_cut_deinit(&series->cohorts[i]);
	}
	free(series->last);
	site_keys_deinit(&series->keys);
	*series = (struct growth_series){ 0 };
}

// Where the numbers of one row of values are: a site's, or all sites'.
static struct growth_value value_at(const struct growth_series *series, size_t cut, size_t site)
{
	return site < series->value_counts[cut] ? series->values[cut][site] : (struct growth_value){ 0 };
}

// A block that is replaced by a larger one from time to time: what a vector does.
static bool is_in_steps(const struct growth_value *values, size_t count)
{
	enum { BLOCKS_MOST = 8 };
	const double last_blocks = values[count - 1].live_objects;
	double first_size = 0;

	for (size_t i = 0; i < count && first_size == 0; i++)
		first_size = values[i].live_objects >= 1 ? values[i].live_bytes / values[i].live_objects : 0;
	if (first_size == 0 || last_blocks < 1)
		return false;
	for (size_t i = 1; i < count; i++)
		if (values[i].live_bytes < values[i - 1].live_bytes || values[i].live_objects > BLOCKS_MOST)
			return false;
	return values[count - 1].live_bytes / last_blocks > 1.4 * first_size;
}

// Whether it is known at each cut which blocks are which.
static bool has_cohorts(const struct growth_series *series)
{
	for (size_t i = 0; i < series->count; i++)
		if (!series->cohorts[i].entries || (!series->cuts[i].epoch && i + 1 < series->count))
			return false;
	return series->count > 0;
}

// The cohorts of a site; false = of some cut they are not known. `table` has room.
static bool fill_table(const struct growth_series *series, uint32_t site, const struct growth_value *values,
		       struct cohort_table *table)
{
	const size_t cuts = series->count;

	if (!cohort_cut_has(&series->cohorts[cuts - 1], site))
		return false;
	for (size_t i = 0; i < cuts; i++) {
		const bool is_there = values[i].alloc_objects > 0 || values[i].live_bytes > 0,
			   was_there = i > 0 && values[i - 1].alloc_objects > 0;

		if (!cohort_cut_has(&series->cohorts[i], site) && (is_there || was_there))
			return false;
		cohort_cut_row(&series->cohorts[i], site, cuts, &table->values[i * cuts]);
		// A part of them would look as if the rest had gone.
		if (fabs(cohorts_at(table, i, 0, cuts - 1).bytes - values[i].live_bytes) >
		    1000 + values[i].live_bytes / 1000)
			return false;
	}
	return true;
}

// What has lived since the middle cut.
static void survive(const struct growth_value *values, const struct cohort_table *table, size_t count,
		    struct growth_site *ret)
{
	const struct growth_value *middle = &values[count / 2], *last = &values[count - 1];
	// Where it is not known which blocks are which, what was allocated since may be all that was freed since, or
	// none of it.
	const double survived = table ? cohorts_at(table, count - 1, 0, count / 2).bytes
				      : last->live_bytes - (last->alloc_bytes - middle->alloc_bytes);

	ret->live_middle = middle->live_bytes;
	ret->survived = fmin(fmax(survived, 0), middle->live_bytes);
	ret->survived_share = middle->live_bytes > 0 ? ret->survived / middle->live_bytes : 0;
}

// Where blocks come and go by chance, so much more or less is live at one time than at another: bytes, one standard
// deviation. Of a number of independent ones it is the square root; and what never goes does not differ.
static double chance_of_live(const struct growth_value *first, const struct growth_value *last)
{
	const double born = last->alloc_objects - first->alloc_objects,
		     gone = fmax(born - (last->live_objects - first->live_objects), 0),
		     blocks = fmin(2 * gone, first->live_objects + last->live_objects);

	return last->live_objects > 0 ? last->live_bytes / last->live_objects * sqrt(fmax(blocks, 0)) : 0;
}

// Whether it grows, and how fast. What lies in the rise of live bytes is what the site holds more at a time, be it the
// same blocks or others; what stays of the cohorts shows in that, or is hidden by what comes and goes beside it.
static void judge_site(struct growth_site *site, double chance)
{
	const struct trend *live = &site->live;
	const bool is_chance = live->gained <= 3 * chance || site->blocks_last - site->blocks_first < BLOCKS_LEAST;
	const bool stays = site->survival.kind == SURVIVAL_STAYS && !site->in_steps,
		   levels_off = live->levels_off && live->gained >= GAINED_LEAST && !site->in_steps,
		   rises = live->rises && live->gained >= GAINED_LEAST && !is_chance && !levels_off && !site->in_steps;

	site->live.levels_off = levels_off && !stays;
	site->grows = rises || stays;
	site->keeps = stays && (!rises || live->rate < 0.5 * site->survival.rate);
	site->speed = site->keeps ? site->survival.rate : rises ? live->rate : live->gained / live->seconds;
	site->speed_error = site->keeps ? site->survival.error : hypot(live->error, chance / live->seconds);
}

// `table`: NULL = which blocks are which is not known.
static struct growth_site site_of(const struct growth_series *series, const struct growth_value *values,
				  const struct cohort_table *table)
{
	double seconds[TREND_MOST], live[TREND_MOST], errors[TREND_MOST];
	const size_t count = series->count;
	const struct growth_value *first = &values[0], *middle = &values[count / 2], *last = &values[count - 1];
	struct growth_site site = { .blocks_first = first->live_objects,
				    .blocks_last = last->live_objects,
				    .blocks_gained_late = last->live_objects - middle->live_objects };
	double allocated = last->alloc_bytes - first->alloc_bytes;

	for (size_t i = 0; i < count; i++) {
		seconds[i] = series->cuts[i].seconds;
		live[i] = values[i].live_bytes;
		errors[i] = values[i].error;
	}
	site.live = trend_make(seconds, live, errors, count);
	survive(values, table, count, &site);
	if (table)
		site.survival = survival_judge(table);
	if (!site.live.is_known)
		return site;
	site.alloc_rate = fmax(allocated, 0) / site.live.seconds;
	site.alloc_blocks_rate = fmax(last->alloc_objects - first->alloc_objects, 0) / site.live.seconds;
	site.temporary_rate = fmax(allocated - site.live.gained, 0) / site.live.seconds;
	site.temporary_blocks_rate =
		fmax(site.alloc_blocks_rate - (site.blocks_last - site.blocks_first) / site.live.seconds, 0);
	site.is_temporary = site.temporary_rate > 0.01 * site.alloc_rate;
	site.may_fill = last->alloc_objects - last->live_objects <= last->alloc_objects / 100 &&
			first->live_bytes <= last->live_bytes / 2;
	site.in_steps = site.live.gained >= GAINED_LEAST && is_in_steps(values, count);
	judge_site(&site, chance_of_live(first, last));
	site.rises_late = last->live_bytes - middle->live_bytes > 3 * chance_of_live(middle, last);
	return site;
}

static void put_cohorts(const struct cohort_table *table, const struct growth_value *values, struct growth_cohort *ret)
{
	const size_t last = table->cuts - 1;

	for (size_t i = 0; i < table->cuts; i++) {
		const struct cohort_value now = cohorts_at(table, last, i, i);
		const double before = i ? values[i - 1].alloc_bytes : 0;

		ret[i] = (struct growth_cohort){
			.from = i ? table->seconds[i - 1] : 0,
			.to = table->seconds[i],
			.allocated = fmax(values[i].alloc_bytes - before, 0),
			.then = cohorts_at(table, i, i, i).bytes,
			.bytes = now.bytes,
			.blocks = now.blocks,
			.error = fmax(sqrt(now.variance), table->floor[last]),
		};
	}
}

static int rank_of(const struct growth_site *site)
{
	return site->grows || site->in_steps ? 0 : site->live.levels_off ? 1 : 2;
}

static int compare_sites(const void *left, const void *right)
{
	const struct growth_site *a = left, *b = right;
	int order = rank_of(a) - rank_of(b);

	if (!order)
		order = (a->speed < b->speed) - (a->speed > b->speed);
	if (!order)
		order = (a->temporary_rate < b->temporary_rate) - (a->temporary_rate > b->temporary_rate);
	return order ? order : (a->site > b->site) - (a->site < b->site); // as they stand in their list
}

// What the cohorts of all sites have in common; without room where they are not known.
static struct hs_error *begin_table(const struct growth_series *series, struct cohort_table *ret)
{
	*ret = (struct cohort_table){ .cuts = series->count };
	for (size_t i = 0; i < series->count; i++) {
		ret->seconds[i] = series->cuts[i].seconds;
		ret->floor[i] = series->cuts[i].floor;
		ret->downsampled[i] = series->cuts[i].downsampled;
	}
	if (!has_cohorts(series))
		return NULL;
	ret->values = calloc(series->count * series->count, sizeof(*ret->values));
	return ret->values ? NULL : &hs_error_no_memory;
}

static void make_site(const struct growth_series *series, uint32_t number, struct cohort_table *table,
		      struct growth_cohort **room, struct growth_site *ret)
{
	struct growth_value values[TREND_MOST];
	bool is_known;

	for (size_t cut = 0; cut < series->count; cut++)
		values[cut] = value_at(series, cut, number);
	is_known = table->values && fill_table(series, number, values, table);
	*ret = site_of(series, values, is_known ? table : NULL);
	ret->number = number;
	ret->site = series->last[number];
	if (!is_known)
		return;
	put_cohorts(table, values, *room);
	ret->cohorts = *room;
	*room += series->count;
}

static struct hs_error *make_sites(const struct growth_series *series, struct growth *ret)
{
	// Only those that it is known of at the last cut have any.
	const size_t known = series->cohorts[series->count - 1].site_count;
	struct growth_cohort *room;
	struct cohort_table table;
	struct hs_error *error = begin_table(series, &table);

	ret->sites = calloc(series->last_count + 1, sizeof(*ret->sites));
	ret->cohorts = calloc(known * series->count + 1, sizeof(*ret->cohorts));
	room = ret->cohorts;
	if (!ret->sites || !ret->cohorts)
		error = &hs_error_no_memory;
	for (size_t i = 0; i < series->last_count && !error; i++)
		if (series->last[i])
			make_site(series, (uint32_t)i, &table, &room, &ret->sites[ret->count++]);
	free(table.values);
	if (error)
		growth_deinit(ret);
	else
		qsort(ret->sites, ret->count, sizeof(*ret->sites), compare_sites);
	return error;
}

static struct trend trend_of(const struct growth_series *series, double (*value)(const struct growth_cut *cut))
{
	double seconds[TREND_MOST], values[TREND_MOST];

	for (size_t i = 0; i < series->count; i++) {
		seconds[i] = series->cuts[i].seconds;
		values[i] = value(&series->cuts[i]);
	}
	return trend_make(seconds, values, NULL, series->count);
}

static double rss_of(const struct growth_cut *cut) { return (double)cut->memory.rss; }
static double heap_of(const struct growth_cut *cut) { return (double)cut->heap_bytes; }
static double anonymous_of(const struct growth_cut *cut)
{
	return (double)cut->memory.anonymous + (double)cut->memory.swapped;
}

struct hs_error *growth_make(const struct growth_series *series, struct growth *ret)
{
	const size_t middle = series->count / 2;
	const struct growth_cut *last = &series->cuts[series->count - 1];

	*ret = (struct growth){
		.seconds = last->seconds,
		.cuts = series->count,
		.memory_is_known = true,
		.is_estimate = last->is_estimate,
		.has_losses = last->has_losses,
		.rss = trend_of(series, rss_of),
		.anonymous = trend_of(series, anonymous_of),
		.heap = trend_of(series, heap_of),
		.untracked_bytes_late = last->untracked_bytes - series->cuts[middle].untracked_bytes,
		.all = site_of(series, series->totals, NULL),
		.counts_untracked = true,
		.untracked_frees_late = last->untracked_frees - series->cuts[middle].untracked_frees,
		.middle = series->cuts[middle].seconds,
		.facts = series->cuts,
	};
	for (size_t i = 0; i < series->count; i++) {
		ret->memory_is_known = ret->memory_is_known && series->cuts[i].memory.is_known;
		ret->counts_untracked = ret->counts_untracked && series->cuts[i].counts_untracked;
	}
	return make_sites(series, ret);
}

void growth_deinit(struct growth *growth)
{
	free(growth->sites);
	free(growth->cohorts);
	*growth = (struct growth){ 0 };
}

double growth_explained(const struct growth *growth)
{
	if (!growth->memory_is_known || !growth->anonymous.rises)
		return -1;
	return fmax(growth->all.live.rate, 0) / growth->anonymous.rate;
}

size_t growth_temporary(const struct growth *growth, size_t *indices, size_t limit)
{
	size_t count = 0;

	for (size_t i = 0; i < growth->count && limit; i++) {
		const double rate = growth->sites[i].temporary_rate;
		size_t at;

		if (!growth->sites[i].is_temporary ||
		    (count == limit && rate <= growth->sites[indices[count - 1]].temporary_rate))
			continue;
		at = count < limit ? count++ : limit - 1;
		for (; at > 0 && growth->sites[indices[at - 1]].temporary_rate < rate; at--)
			indices[at] = indices[at - 1];
		indices[at] = i;
	}
	return count;
}
