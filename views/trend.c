// SPDX-License-Identifier: Apache-2.0
#include "views/trend.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static double median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// One value that lies far off does not move it (P. K. Sen, "Estimates of the regression coefficient based on Kendall's
// tau", 1968).
static double slope(const double *seconds, const double *values, size_t count)
{
	double slopes[TREND_MOST * (TREND_MOST - 1) / 2];
	size_t slope_count = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++)
			if (seconds[k] > seconds[i])
				slopes[slope_count++] = (values[k] - values[i]) / (seconds[k] - seconds[i]);
	return median(slopes, slope_count);
}

// Of the least-squares line through values that scatter as these do around theirs. The mean distance, and not the
// median one: with few values that would often be 0 by chance.
static double scatter_error(const double *seconds, const double *values, size_t count, double rate)
{
	const double normal = 1.2533; // a normal distribution's standard deviation by its mean distance, sqrt(pi / 2)
	double offsets[TREND_MOST], middle, distance = 0, mean = 0, spread = 0;

	for (size_t i = 0; i < count; i++) {
		offsets[i] = values[i] - rate * seconds[i];
		mean += seconds[i] / (double)count;
	}
	middle = median(offsets, count);
	for (size_t i = 0; i < count; i++) {
		distance += fabs(offsets[i] - middle) / (double)count;
		spread += (seconds[i] - mean) * (seconds[i] - mean);
	}
	if (spread <= 0)
		return INFINITY;
	return normal * distance * sqrt((double)count / (double)(count - 2)) / sqrt(spread);
}

// What the values' own errors make of it. They add up from value to value where it is the same blocks that are seen
// again: then a line through all has 1.2 times the variance of one through the ends. Where they do not, it has less.
static double own_error(const double *errors, size_t count, double seconds)
{
	return errors ? sqrt(1.2 * (errors[0] * errors[0] + errors[count - 1] * errors[count - 1])) / seconds : 0;
}

static void note_intervals(const double *values, size_t count, struct trend *trend)
{
	trend->intervals = count - 1;
	for (size_t i = 1; i < count; i++) {
		const double gained = values[i] - values[i - 1];

		trend->largest = fmax(trend->largest, gained);
		trend->risen += gained > 0 && gained > fabs(trend->gained) / 100;
	}
}

// In the second half hardly anything came, and in its last part nothing.
static bool levels_off(const struct trend *trend, const double *values, const double *errors, size_t count)
{
	enum { LEAST = 5 };
	const double own = errors ? errors[count - 1] : 0;

	return count >= LEAST && trend->gained > 0 && trend->early > 0 && trend->gained > 3 * own &&
	       trend->late < trend->early / 4 && values[count - 1] - values[count - 3] < trend->gained / 10 &&
	       trend->last > 0.75 * trend->most;
}

struct trend trend_make(const double *seconds, const double *values, const double *errors, size_t count)
{
	struct trend trend = { 0 };
	// Values of a half: the two share one, of an even count the two in the middle.
	const size_t part = count / 2 + 1;

	if (!count)
		return trend;
	trend.first = trend.most = values[0];
	trend.last = values[count - 1];
	trend.seconds = seconds[count - 1] - seconds[0];
	trend.gained = trend.last - trend.first;
	for (size_t i = 1; i < count; i++) {
		trend.most = fmax(trend.most, values[i]);
		trend.fallen = fmax(trend.fallen, trend.most - values[i]);
	}
	note_intervals(values, count, &trend);
	if (count < TREND_LEAST || trend.seconds <= 0)
		return trend;
	trend.is_known = true;
	trend.early = slope(seconds, values, part);
	trend.late = slope(seconds + count - part, values + count - part, part);
	// Medians of slopes need not lie between one another, as means would: where values lie on no line, that of all
	// could be above both halves, or below both.
	trend.rate = fmax(slope(seconds, values, count), fmin(trend.early, trend.late));
	trend.rate = fmin(trend.rate, fmax(trend.early, trend.late));
	trend.error = hypot(scatter_error(seconds, values, count, trend.rate), own_error(errors, count, trend.seconds));
	// A median of slopes does not see that all is gone at once, a single time.
	trend.rises = trend.rate > 3 * trend.error && trend.gained > 0.5 * trend.rate * trend.seconds;
	trend.falls = trend.rate < -3 * trend.error && trend.gained < 0.5 * trend.rate * trend.seconds;
	trend.levels_off = levels_off(&trend, values, errors, count);
	return trend;
}
