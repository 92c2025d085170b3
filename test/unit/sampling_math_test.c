// SPDX-License-Identifier: Apache-2.0
// The arithmetic of sampling against what floating point says: weights over a grid, gaps one by one and as a
// distribution.
//
// Checks of a distribution fail by chance, one at 3 standard errors in 370. So all seeds are fixed; they were taken as
// they came, and the bounds are those that the theory gives.
#include "check.h"

#include "inject/abi/limits.h"
#include "inject/abi/records.h"
#include "inject/sampling/sampling_math.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Of all random blocks that stand for more than themselves: by how much their weights are too large, in sum.
static long double excess;
static unsigned excess_count;

// What docs/design.md promises of a weight: blocks to 2^-16, bytes to 2^-8 and a 2^-25th part.
static void check_weight(uint64_t size, uint64_t interval)
{
	struct sampling_weight weight = sampling_weight(size, interval);
	long double w = -1 / expm1l(-(long double)(size ? size : 1) / (long double)interval),
		    bytes = w * (long double)size;

	check_count++;
	if (fabsl((long double)weight.objects / HS_OBJECTS_ONE - w) <= 0x1p-16L &&
	    fabsl((long double)weight.bytes / HS_BYTES_ONE - bytes) <= 0x1p-8L + 0x1p-25L * bytes)
		return;
	check_failures++;
	fprintf(stderr, "weight of %" PRIu64 " bytes at %" PRIu64 ": %.6Lf blocks, %.3Lf bytes; not %.6Lf, %.3Lf\n",
		size, interval, (long double)weight.objects / HS_OBJECTS_ONE, (long double)weight.bytes / HS_BYTES_ONE,
		w, bytes);
}

static void test_weights(void)
{
	static const uint64_t intervals[] = { 2,
					      3,
					      5,
					      7,
					      10,
					      100,
					      127,
					      128,
					      1000,
					      4096,
					      65535,
					      524288,
					      1000003,
					      1 << 26,
					      1 << 30,
					      INT32_MAX,
					      HS_INTERVAL_MAX };
	uint64_t random = 20261120;

	for (size_t i = 0; i < COUNT(intervals); i++) {
		const uint64_t interval = intervals[i];

		for (unsigned shift = 0; shift < 48; shift++)
			for (uint64_t add = 0; add < 3; add++)
				check_weight((UINT64_C(1) << shift) - 1 + add, interval);
		// Around the interval, where the series ends, and around the multiples where it is led back to that.
		for (uint64_t tenths = 1; tenths < 400; tenths++)
			for (uint64_t add = 0; add < 2; add++)
				check_weight(interval * tenths / 10 + add, interval);
	}
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t interval =
			(2 + sampling_random(&random) % (HS_INTERVAL_MAX - 1)) >> sampling_random(&random) % 30;
		uint64_t size = sampling_random(&random) >> (17 + sampling_random(&random) % 47);

		interval = interval < 2 ? 2 : interval;
		check_weight(size, interval);
		if (size > 0 && size < interval) {
			excess += (long double)sampling_weight(size, interval).objects / HS_OBJECTS_ONE +
				  1 / expm1l(-(long double)size / (long double)interval);
			excess_count++;
		}
	}
	// Errors are up to 2^-17 either way, and do not add up: a sixteenth of that is thirty standard deviations of
	// their mean.
	printf("%u weights, %.3Lf * 2^-17 too large on average\n", excess_count, excess / excess_count * 0x1p17L);
	CHECK(excess_count > 10000);
	CHECK(fabsl(excess / excess_count) < 0x1p-21L);
}

static double probability(uint64_t size, uint64_t interval)
{
	return interval == 1 ? 1 : -expm1(-(double)(size ? size : 1) / (double)interval);
}

// A record stays with p(new) / p(old): the random number below that share of its range.
static void test_keeping(void)
{
	static const uint64_t sizes[] = { 0, 1, 2, 7, 100, 255, 256, 257, 500, 4000, 100000 };
	static const struct {
		uint64_t old, new;
	} steps[] = { { 1, 256 },
		      { 1, 2 },
		      { 2, 256 },
		      { 256, 512 },
		      { 300, 4096 },
		      { 4096, 8192 },
		      { 1 << 20, HS_INTERVAL_MAX } };

	for (size_t i = 0; i < COUNT(steps); i++) {
		for (size_t s = 0; s < COUNT(sizes); s++) {
			double before = sizes[s] >= steps[i].old ? 1 : probability(sizes[s], steps[i].old);
			double share = probability(sizes[s], steps[i].new) / before, slack = 0x1p-15;

			if (sizes[s] >= steps[i].new)
				share = 1;
			if (share - slack > 0)
				CHECK(sampling_keeps((uint64_t)((share - slack) * 0x1p64), sizes[s], steps[i].old,
						     steps[i].new));
			if (share + slack < 1)
				CHECK(!sampling_keeps((uint64_t)((share + slack) * 0x1p64), sizes[s], steps[i].old,
						      steps[i].new));
			CHECK(sampling_keeps(0, sizes[s], steps[i].old, steps[i].new));
		}
	}
}

// One by one: floor(-interval * ln u) + 1, but for the last bits of the logarithm.
static void test_gaps(void)
{
	static const uint64_t randoms[] = {
		0, 1, 2, 3, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX
	};
	static const uint64_t intervals[] = { 1, 2, 3, 1000, 4096, 524288, HS_INTERVAL_MAX };
	uint64_t state = 1;

	for (size_t i = 0; i < COUNT(intervals); i++) {
		for (unsigned n = 0; n < 20000; n++) {
			uint64_t random = n < COUNT(randoms) ? randoms[n] : sampling_random(&state);
			long double exact = -(long double)intervals[i] * logl((long double)(random | 1) / 0x1p64L);
			int64_t gap = sampling_gap(random, intervals[i]);
			// below one of 2^-38 of a mean
			long double slack = 1e-9L + (long double)intervals[i] * 0x1p-38L;

			check_count++;
			if (gap >= 1 && (long double)gap >= exact - slack && (long double)gap <= exact + 1 + slack)
				continue;
			check_failures++;
			fprintf(stderr, "gap of %" PRIx64 " at %" PRIu64 ": %" PRId64 ", not %.3Lf\n", random,
				intervals[i], gap, floorl(exact) + 1);
		}
	}
}

// The distribution: P(gap > s) = exp(-s / interval).

enum { DRAWS = 1 << 19, BINS = 64 };

// Gaps as they are, and in wrong ways that a test has to tell from it.
enum way { RIGHT, UNIFORM, CLAMPED, FEW_BITS, WITHOUT_ONE };

static uint64_t draw(uint64_t *state, uint64_t interval, enum way way)
{
	uint64_t random = sampling_random(state);
	uint64_t gap = (uint64_t)sampling_gap(random, interval);

	switch (way) {
	case UNIFORM:
		return 1 + random % (2 * interval);
	case CLAMPED:
		return gap < 4 * interval ? gap : 4 * interval;
	case FEW_BITS:
		return (uint64_t)sampling_gap(random & UINT64_C(0xff00000000000000), interval);
	case WITHOUT_ONE:
		return gap - 1;
	case RIGHT:
		break;
	}
	return gap;
}

static bool is_near(double actual, double expected, double standard_error)
{
	return fabs(actual - expected) <= 3 * standard_error;
}

// The largest gap of each of BINS bins that are about equally probable: whole gaps, so their probabilities differ a
// little.
static void make_bins(uint64_t interval, uint64_t *ends, double *shares)
{
	double before = 1;

	for (unsigned i = 0; i < BINS; i++) {
		double above;

		ends[i] = i == BINS - 1 ? UINT64_MAX : (uint64_t)(-(double)interval * log1p(-(i + 1.0) / BINS));
		above = i == BINS - 1 ? 0 : exp(-(double)ends[i] / (double)interval);
		shares[i] = before - above;
		before = above;
	}
}

static double chi_square(const uint64_t *counts, const double *shares, unsigned bins, double draws,
			 unsigned *freedom_ret)
{
	double sum = 0;

	*freedom_ret = 0;
	for (unsigned i = 0; i < bins; i++) {
		double expected = shares[i] * draws, difference = (double)counts[i] - expected;

		if (expected <= 0)
			continue; // a bin between two whole numbers
		sum += difference * difference / expected;
		++*freedom_ret;
	}
	--*freedom_ret;
	return sum;
}

static bool is_geometric(uint64_t interval, enum way way, uint64_t seed)
{
	static const double places[] = { 0.1, 1, 3, 8 }; // of the interval
	uint64_t state = sampling_first_state(seed, 0), ends[BINS], counts[BINS] = { 0 }, above[COUNT(places)] = { 0 };
	double shares[BINS], sum = 0, p = -expm1(-1 / (double)interval), chi;
	unsigned freedom;
	bool good = true;

	make_bins(interval, ends, shares);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t gap = draw(&state, interval, way);
		unsigned bin = 0;

		sum += (double)gap;
		for (size_t k = 0; k < COUNT(places); k++)
			above[k] += (double)gap > floor(places[k] * (double)interval);
		for (unsigned step = BINS / 2; step; step /= 2)
			bin += gap > ends[bin + step - 1] ? step : 0;
		counts[bin]++;
	}
	good &= is_near(sum / DRAWS, 1 / p, sqrt((1 - p) / DRAWS) / p);
	for (size_t k = 0; k < COUNT(places); k++) {
		double share = exp(-floor(places[k] * (double)interval) / (double)interval);

		good &= is_near((double)above[k] / DRAWS, share, sqrt(share * (1 - share) / DRAWS));
	}
	chi = chi_square(counts, shares, BINS, DRAWS, &freedom);
	good &= chi <= freedom + 3 * sqrt(2.0 * freedom);
	return good;
}

static void test_distribution(void)
{
	static const uint64_t intervals[] = { 2, 3, 100, 4096, 524288, HS_INTERVAL_MAX };

	for (size_t i = 0; i < COUNT(intervals); i++)
		CHECK(is_geometric(intervals[i], RIGHT, 4));
	CHECK(!is_geometric(2, WITHOUT_ONE, 4));
	CHECK(!is_geometric(100, WITHOUT_ONE, 4));
	CHECK(!is_geometric(4096, UNIFORM, 4));
	CHECK(!is_geometric(4096, CLAMPED, 4));
	CHECK(!is_geometric(524288, FEW_BITS, 4));
}

// Gaps that follow each other, and the first ones of threads that follow each other, have nothing to do with one
// another.
static void test_independence(void)
{
	enum { SIDE = 8, PAIRS = 1 << 18 };
	const uint64_t interval = 4096;
	uint64_t successive[SIDE * SIDE] = { 0 }, neighbours[SIDE * SIDE] = { 0 }, state = sampling_first_state(5, 0);
	double shares[SIDE * SIDE];
	unsigned freedom;

	for (unsigned i = 0; i < SIDE * SIDE; i++)
		shares[i] = 1.0 / (SIDE * SIDE);
	for (unsigned i = 0; i < PAIRS; i++) {
		unsigned eighths[4];
		uint64_t gaps[4], first = sampling_first_state(5, 2 * i), second = sampling_first_state(5, 2 * i + 1);

		gaps[0] = draw(&state, interval, RIGHT);
		gaps[1] = draw(&state, interval, RIGHT);
		gaps[2] = draw(&first, interval, RIGHT);
		gaps[3] = draw(&second, interval, RIGHT);
		// the middle of the whole number's range: the bins are not cut at whole numbers
		for (unsigned k = 0; k < 4; k++)
			eighths[k] = (unsigned)(-expm1(-((double)gaps[k] - 0.5) / (double)interval) * SIDE);
		successive[eighths[0] * SIDE + eighths[1]]++;
		neighbours[eighths[2] * SIDE + eighths[3]]++;
	}
	CHECK(chi_square(successive, shares, SIDE * SIDE, PAIRS, &freedom) <= 63 + 3 * sqrt(2.0 * 63));
	CHECK(chi_square(neighbours, shares, SIDE * SIDE, PAIRS, &freedom) <= 63 + 3 * sqrt(2.0 * 63));
	CHECK_EQUAL(freedom, 63);
	CHECK(sampling_first_state(-UINT64_C(0x9e3779b97f4a7c15), 0) != 0); // the one seed for which the mixing gives 0
}

int main(void)
{
	test_weights();
	test_keeping();
	test_gaps();
	test_distribution();
	test_independence();
	return CHECK_RESULT();
}
