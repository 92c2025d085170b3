// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/estimate.h"

#include <math.h>

// With a = size / interval, a block is recorded with probability p = 1 - exp(-a). Each one that is counts for w = 1 / p
// blocks, and adds (1 - p) / p^2 = w / (exp(a) - 1) to the estimated variance of their number (Horvitz and Thompson).
// Both by expm1, which loses no digits where a is small; where it is large they become 1 and 0.
void estimate_add(struct estimate *sum, const struct block_record *record)
{
	double size = (double)record->size;

	sum->records++;
	if (record->interval <= 1 || (record->size >= record->interval && record->samples == 0)) {
		sum->objects += 1;
		sum->bytes += size;
		return;
	}

	double a = (record->size ? size : 1) / record->interval;
	double weight = -1 / expm1(-a), variance = weight / expm1(a);

	sum->objects += weight;
	sum->bytes += size * weight;
	sum->objects_variance += variance;
	sum->bytes_variance += size * size * variance;
}

uint64_t estimate_round(double value)
{
	const double half = 9223372036854775808.0; // 2^63: what llround takes is below

	if (value < half)
		return (uint64_t)llround(value);
	return value < 2 * half ? (uint64_t)value : UINT64_MAX; // doubles of that size are integers
}
