// SPDX-License-Identifier: Apache-2.0
#include "inject/sampling/sampling_math.h"

#include "inject/abi/records.h"

uint64_t sampling_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t sampling_first_state(uint64_t seed, uint64_t thread)
{
	uint64_t x = seed + (thread + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	x ^= x >> 31;
	return x ? x : 1;
}

#define LOG_BITS  40u                          // fractional bits of logarithms
#define LN_2      UINT64_C(0x2c5c85fdf473de6b) // ln 2 with 62 fractional bits
#define LN_2_BITS 62u

// -log2(x / 2^64), above 0, with LOG_BITS fractional bits. The bits of a logarithm, one by one: squaring doubles it.
// Errors double with each squaring as well; they begin at 2^-63 and end below one of the last bits.
static uint64_t minus_log2(uint64_t x)
{
	unsigned zeros = (unsigned)__builtin_clzll(x);
	uint64_t m = x << zeros; // [1, 2) with 63 fractional bits
	uint64_t fraction = 0;

	for (unsigned i = 0; i < LOG_BITS; i++) {
		unsigned __int128 square = (unsigned __int128)m * m;
		unsigned is_two = (unsigned)(square >> 127);

		m = (uint64_t)(square >> (63 + is_two));
		fraction = fraction << 1 | is_two;
	}
	return ((uint64_t)(zeros + 1) << LOG_BITS) - fraction;
}

int64_t sampling_gap(uint64_t random, uint64_t interval)
{
	uint64_t minus_ln = (uint64_t)((unsigned __int128)minus_log2(random | 1) * LN_2 >> LN_2_BITS);

	return (int64_t)((unsigned __int128)minus_ln * interval >> LOG_BITS) + 1;
}

// All with 32 fractional bits:

// With a = size / interval < 1: 1 / p = 1/a + 1/2 + a/12 - a^3/720 + a^5/30240 - a^7/1209600 + ... (Bernoulli numbers;
// the next term is below 2^-25). Nothing is subtracted from its like, so small blocks lose no digits. This is the sum
// from a/12 on.
static uint64_t series(uint64_t a)
{
	uint64_t a2 = a * a >> 32, a3 = a2 * a >> 32, a5 = a3 * a2 >> 32, a7 = a5 * a2 >> 32;

	return a / 12 - a3 / 720 + a5 / 30240 - a7 / 1209600;
}

// 1 / p where 1 <= a < 32: a is halved k times, and 1 / p = w led back by 1 / p(2a) = w / (2 - 1 / w), which makes
// errors smaller.
static uint64_t large_weight(uint64_t size, uint64_t interval)
{
	unsigned k = 0, bits = size >> 32 ? 28 : 32; // size < 2^36
	uint64_t a, weight;

	while (size >= interval << k)
		k++;
	a = (size << bits) / (interval << k) << (32 - bits);
	weight = ((UINT64_C(1) << 63) / a << 1) + (UINT64_C(1) << 31) + series(a);
	for (; k > 0; k--) {
		uint64_t inverse = (UINT64_C(1) << 63) / weight; // 31 bits

		weight = (weight << 29) / ((UINT64_C(1) << 32) - inverse) << 2;
	}
	return weight;
}

// To the nearest: what is rounded down each time adds up.
#define HALF_OBJECTS (UINT64_C(1) << (31 - HS_OBJECTS_SHIFT))
#define HALF_BYTES   (UINT64_C(1) << (31 - HS_BYTES_SHIFT))

static uint64_t to_objects(uint64_t weight) { return (weight + HALF_OBJECTS) >> (32 - HS_OBJECTS_SHIFT); }

struct sampling_weight sampling_weight(uint64_t size, uint64_t interval)
{
	uint64_t s = size ? size : 1;
	struct sampling_weight weight = { HS_OBJECTS_ONE, size << HS_BYTES_SHIFT };

	if (s / 32 >= interval) // 1 - p is below 2^-46
		return weight;
	if (s >= interval) {
		uint64_t large = large_weight(s, interval), more = large - (UINT64_C(1) << 32);

		weight.objects = to_objects(large);
		weight.bytes += (uint64_t)(((unsigned __int128)s * more + HALF_BYTES) >> (32 - HS_BYTES_SHIFT));
		return weight;
	}

	uint64_t small = series((s << 32) / interval);

	weight.objects = to_objects((interval << 32) / s + (UINT64_C(1) << 31) + small);
	if (size)
		weight.bytes = (interval << HS_BYTES_SHIFT) + (s << (HS_BYTES_SHIFT - 1)) +
			       ((s * small + HALF_BYTES) >> (32 - HS_BYTES_SHIFT));
	return weight;
}

bool sampling_keeps(uint64_t random, uint64_t size, uint64_t old_interval, uint64_t new_interval)
{
	uint64_t old_weight = HS_OBJECTS_ONE;

	if (size >= new_interval)
		return true;
	if (old_interval > 1 && size < old_interval) // at 1 every block was recorded, also one of no bytes
		old_weight = sampling_weight(size, old_interval).objects;
	return (unsigned __int128)random * sampling_weight(size, new_interval).objects >> 64 < old_weight;
}
