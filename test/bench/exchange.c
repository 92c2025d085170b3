// SPDX-License-Identifier: Apache-2.0
// Blocks that are freed by another thread than the one that allocated them. usage: exchange FRAMES
//
// The main thread allocates and hands over through a ring; the other one checks and frees. FRAMES: as in pair.c, for
// the main thread. Commands: "measure MS" answers "MEDIAN MEAN BLOCKS": nanoseconds for a block, allocated, handed over
// and freed.
#include "commands.h"
#include "workload.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

// The ring is long, so that a thread that stands still for a moment does not hold up the other one.
enum { RING = 65536, BATCH = 500, BLOCK_SIZE = 64 };

// next_in - next_out blocks lie in the ring. Each counter is written by one thread only, and has a cache line of its
// own.
static uint64_t *ring[RING];
static _Alignas(128) atomic_size_t next_in;
static _Alignas(128) atomic_size_t next_out;
static _Alignas(128) uint64_t serial; // of the last block made
static uint64_t stop_at;
static struct batches batches;
static size_t blocks;

static void *take(void *unused)
{
	(void)unused;
	for (size_t out = 0;; out++) {
		while (atomic_load_explicit(&next_in, memory_order_acquire) == out)
			sched_yield();
		uint64_t *block = ring[out % RING];
		if (*block != out + 1)
			fail("a block came late, twice or not at all");
		free(block);
		atomic_store_explicit(&next_out, out + 1, memory_order_release);
	}
	return NULL;
}

static inline __attribute__((always_inline)) void give_one(void)
{
	size_t in = atomic_load_explicit(&next_in, memory_order_relaxed);
	uint64_t *block = malloc(BLOCK_SIZE);

	if (!block)
		fail("no memory");
	*block = ++serial;
	while (in - atomic_load_explicit(&next_out, memory_order_acquire) == RING)
		sched_yield();
	ring[in % RING] = block;
	atomic_store_explicit(&next_in, in + 1, memory_order_release);
}

static __attribute__((noipa)) void give(void *unused)
{
	uint64_t start, time;

	(void)unused;
	start = now_ns();
	do { // one batch at least, also when the time was over before this thread began
		for (size_t i = 0; i < BATCH; i++)
			give_one();
		time = now_ns();
		add_batch(&batches, (double)(time - start) / BATCH);
		blocks += BATCH;
		start = time;
	} while (start < stop_at);
	while (atomic_load_explicit(&next_out, memory_order_acquire) !=
	       atomic_load_explicit(&next_in, memory_order_relaxed))
		sched_yield();
}

int main(int argc, char **argv)
{
	size_t frames = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	const char *command;
	pthread_t thread;

	if (frames < FRAMES_OF_MAIN + 1) {
		fprintf(stderr, "usage: exchange FRAMES\n");
		return 2;
	}
	if (pthread_create(&thread, NULL, take, NULL))
		fail("no thread");
	say_ready();
	while ((command = next_command())) {
		uint64_t start = now_ns();

		if (strncmp(command, "measure ", 8) != 0)
			continue;
		stop_at = start + strtoul(command + 8, NULL, 10) * 1000000;
		batches.count = 0;
		blocks = 0;
		call_at_depth(frames, FRAMES_OF_MAIN, give, NULL);
		printf("%.3f %.3f %zu\n", median_of(&batches), (double)(now_ns() - start) / (double)blocks, blocks);
	}
	return 0;
}
