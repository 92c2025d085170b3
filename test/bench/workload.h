// SPDX-License-Identifier: Apache-2.0
// What the programs that are measured have in common: a clock, random numbers that are the same in each run, a stack of
// known depth.
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STAY() __asm__ volatile("" ::: "memory") // no tail call

enum {
	FRAMES_OF_MAIN = 4,   // _start, __libc_start_main, __libc_start_call_main, main
	FRAMES_OF_THREAD = 3, // clone3, start_thread, the thread's function
	BATCHES_MAX = 65536
}; // what comes later is not looked at

struct random_numbers {
	uint64_t state; // not 0
};

static inline uint64_t next_random(struct random_numbers *numbers)
{
	uint64_t x = numbers->state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return numbers->state = x;
}

static inline size_t random_below(struct random_numbers *numbers, size_t bound)
{
	return (size_t)(((next_random(numbers) >> 32) * bound) >> 32);
}

static inline uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// Of the batches of one measurement: what most of them took, whatever else ran beside a few of them.
struct batches {
	size_t count;
	double ns[BATCHES_MAX]; // for each operation
};

static inline double median_of(struct batches *batches)
{
	qsort(batches->ns, batches->count, sizeof(*batches->ns), compare_doubles);
	return batches->ns[batches->count / 2];
}

static inline void add_batch(struct batches *batches, double ns)
{
	if (batches->count < BATCHES_MAX)
		batches->ns[batches->count++] = ns;
}

typedef void deep_function(void *argument);

static __attribute__((noipa, unused)) void call_deeper(size_t more, deep_function *function, void *argument)
{
	if (more > 0)
		call_deeper(more - 1, function, argument);
	else
		function(argument);
	STAY();
}

// Calls `function` so that its frame is number `frames` from the first of the thread, both counted. pre: frames >
// frames_of_caller, the number of the caller's frame.
static inline __attribute__((always_inline)) void call_at_depth(size_t frames, size_t frames_of_caller,
								deep_function *function, void *argument)
{
	if (frames == frames_of_caller + 1)
		function(argument);
	else
		call_deeper(frames - frames_of_caller - 2, function, argument);
	STAY();
}

static inline void fail(const char *message)
{
	fprintf(stderr, "%s\n", message);
	exit(3);
}

#endif
