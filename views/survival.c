// SPDX-License-Identifier: Apache-2.0
#include "views/survival.h"

#include <math.h>

enum {
	CUTS_LEAST = 5,
	COHORTS_LEAST = 2, // and so three points of a line
};
// Less than this is no leak, however steady.
static const double BYTES_LEAST = 4096;

static const struct cohort_value *value_at(const struct cohort_table *table, size_t cut, size_t cohort)
{
	return &table->values[cut * table->cuts + cohort];
}

struct cohort_value cohorts_at(const struct cohort_table *table, size_t cut, size_t first, size_t last)
{
	struct cohort_value sum = { 0 };

	for (size_t i = first; i <= last; i++) {
		sum.bytes += value_at(table, cut, i)->bytes;
		sum.blocks += value_at(table, cut, i)->blocks;
		sum.variance += value_at(table, cut, i)->variance;
	}
	return sum;
}

// Of what is gone. As long as nothing is downsampled a record weighs the same at each cut, and only those that are gone
// count; after that both estimates are off by themselves.
static double error_of_gone(const struct cohort_table *table, size_t looked, const struct cohort_value *then,
			    const struct cohort_value *now)
{
	const size_t last = table->cuts - 1;
	const double variance = table->downsampled[looked] < table->downsampled[last]
					? then->variance + now->variance
					: fmax(then->variance - now->variance, 0);

	return fmax(sqrt(variance), table->floor[last]);
}

// Where blocks go by chance, some more or less go in the time that was looked at: bytes, one standard deviation.
static double chance_of_gone(const struct cohort_value *then, const struct cohort_value *now)
{
	return then->blocks > 0 ? then->bytes / then->blocks * sqrt(fmax(then->blocks - now->blocks, 0) + 1) : 0;
}

// How much is left of all born up to each cut. What stays of each cohort adds up to a line.
static struct trend trend_of_births(const struct cohort_table *table, size_t born)
{
	double left[TREND_MOST] = { 0 }, errors[TREND_MOST] = { 0 };
	const size_t last = table->cuts - 1;

	for (size_t i = 1; i <= born; i++) {
		const struct cohort_value sum = cohorts_at(table, last, 1, i);

		left[i] = sum.bytes;
		errors[i] = fmax(sqrt(sum.variance), table->floor[last]);
	}
	return trend_make(table->seconds, left, errors, born + 1);
}

// Later births, those between cut `from` and the end, have left so much too, bytes a second.
static bool goes_on(const struct cohort_table *table, size_t from, double least)
{
	const size_t last = table->cuts - 1;

	return cohorts_at(table, last, from + 1, last).bytes >= least * (table->seconds[last] - table->seconds[from]);
}

// Of what was live at the cut after its birth nothing is left that is worth a word.
static bool all_go(const struct cohort_table *table, size_t born, const struct cohort_value *now)
{
	double seen = 0;

	for (size_t i = 1; i <= born; i++)
		seen += value_at(table, i, i)->bytes;
	return now->bytes < BYTES_LEAST && seen >= fmax(2 * BYTES_LEAST, 10 * table->floor[table->cuts - 1]);
}

// Of the cohorts up to `born`, between cut `looked` and the end.
static struct survival judge(const struct cohort_table *table, size_t born, size_t looked)
{
	const struct cohort_value then = cohorts_at(table, looked, 1, born),
				  now = cohorts_at(table, table->cuts - 1, 1, born);
	const double gone = then.bytes - now.bytes, error = error_of_gone(table, looked, &then, &now),
		     chance = chance_of_gone(&then, &now);
	const struct trend trend = trend_of_births(table, born);
	struct survival survival = { .kind = SURVIVAL_UNSURE,
				     .born = born,
				     .looked = looked,
				     .then = then.bytes,
				     .now = now.bytes,
				     .blocks = now.blocks,
				     .rate = trend.rate,
				     .error = trend.error,
				     .early = trend.early,
				     .late = trend.late,
				     .blocks_a_second = now.blocks / table->seconds[born] };

	if (all_go(table, born, &now) ||
	    (then.bytes >= BYTES_LEAST && gone - 2 * fmax(error, chance) > 0.1 * then.bytes &&
	     then.blocks - now.blocks > 0.1 * then.blocks)) // not a table of a map that was replaced by a larger one
		survival.kind = SURVIVAL_GOES;
	else if (now.bytes >= BYTES_LEAST && gone <= 0.1 * then.bytes &&
		 gone + fmax(error, 2 * chance) <= 0.2 * then.bytes && trend.rises && trend.late >= 0.5 * trend.early &&
		 goes_on(table, born, 0.6 * trend.rate) && goes_on(table, looked, 0.25 * trend.rate))
		survival.kind = SURVIVAL_STAYS;
	return survival;
}

// Blocks that live for a while may be in all cohorts but the oldest ones. So the more cohorts show what stays the
// better, but fewer and older ones may show it too; and those that are old at the end are looked at again a part of the
// watch before it.
struct survival survival_judge(const struct cohort_table *table)
{
	const size_t last = table->cuts - 1;
	const double span = table->seconds[last];
	struct survival first = { .kind = SURVIVAL_UNSURE };
	size_t looked = last;

	if (table->cuts < CUTS_LEAST || span <= 0)
		return first;
	for (looked = last - 1; looked > COHORTS_LEAST + 1 && table->seconds[looked] > 0.8 * span; looked--)
		;
	for (size_t born = looked - 1; born >= COHORTS_LEAST && table->seconds[born] >= span / 6; born--) {
		struct survival survival;

		if (table->seconds[born] > 0.55 * span)
			continue;
		survival = judge(table, born, looked);
		if (survival.kind == SURVIVAL_STAYS)
			return survival;
		if (!first.born)
			first = survival;
	}
	return first;
}

double survival_share(const struct survival *survival)
{
	return survival->then > 0 ? fmin(survival->now / survival->then, 1) : 0;
}

const char *survival_kind_name(enum survival_kind kind)
{
	static const char *const names[SURVIVAL_KIND_COUNT] = {
		[SURVIVAL_UNKNOWN] = "unknown",
		[SURVIVAL_UNSURE] = "unsure",
		[SURVIVAL_STAYS] = "stays",
		[SURVIVAL_GOES] = "goes",
	};

	return names[kind];
}
