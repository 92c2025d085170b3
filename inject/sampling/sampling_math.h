// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Poisson sampling, in integers: the payload uses no vector register, so no floating point. Pure.
//
// Each byte that is allocated is a sample with the same small probability; a block is recorded when one of its bytes
// is. So a block of s bytes is recorded with probability p = 1 - exp(-s / R), where R is the mean distance of samples,
// the interval.
#ifndef HEAPSNAP_INJECT_SAMPLING_SAMPLING_MATH_H
#define HEAPSNAP_INJECT_SAMPLING_SAMPLING_MATH_H

#include <stdbool.h>
#include <stdint.h>

// The next of a thread's random numbers, uniform in 64 bits (xorshift64*: Vigna, "An experimental exploration of
// Marsaglia's xorshift generators, scrambled", 2014). *state is not 0, and stays so.
uint64_t sampling_random(uint64_t *state);

// A first state for a thread: not 0, and far from those of neighbours (the finalizer of splitmix64).
uint64_t sampling_first_state(uint64_t seed, uint64_t thread);

// Bytes up to and with the next sample: floor(-interval * ln u) + 1, where u in (0, 1) is made of `random`. That is
// geometric: P(gap > s) = exp(-s / interval) for every whole s. pre: 1 <= interval <= HS_INTERVAL_MAX
int64_t sampling_gap(uint64_t random, uint64_t interval);

// What one recorded block stands for, in the fixed point of a stack_node: 1 / p allocations, of size / p bytes. A block
// of no bytes is drawn as if it had one. Right to 2^-16 allocations and to 2^-8 bytes and a 2^-25th part. pre: size <
// 2^56, 2 <= interval <= HS_INTERVAL_MAX
struct sampling_weight {
	uint64_t objects, bytes;
};
struct sampling_weight sampling_weight(uint64_t size, uint64_t interval);

// Whether a block that was recorded at `old_interval` stays when the interval becomes `new_interval`: with the
// probability p(new) / p(old), so that it is recorded with p(new) in all. Blocks of new_interval bytes and more stay.
// pre: old_interval < new_interval <= HS_INTERVAL_MAX
bool sampling_keeps(uint64_t random, uint64_t size, uint64_t old_interval, uint64_t new_interval);

#endif
