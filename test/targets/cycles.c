// SPDX-License-Identifier: Apache-2.0
// Eight threads allocate, reallocate and free at full speed and check every block that they hold. usage: cycles
// [THREADS]
//
// Commands on standard input: "count" prints the number of operations so far, "pause" and "continue" stop and go on
// (each is answered once all threads did). At end of input all blocks are checked and freed, "ok OPERATIONS" is
// printed, exit status 0. Corruption: a message and abort.
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

enum { THREADS_MAX = 64, BLOCKS = 256 };

struct block {
	uint64_t *words; // NULL = none
	size_t size;     // bytes, a multiple of 8
};

struct worker {
	_Alignas(64) struct block blocks[BLOCKS];
	atomic_ulong operations;
	uint64_t random;
};

static struct worker workers[THREADS_MAX];
static size_t worker_count = 8;
static atomic_bool ends, pauses;
static pthread_barrier_t pause_barrier;

static _Noreturn void corrupt(const char *what, const void *address, size_t size)
{
	fprintf(stderr, "cycles: %s: block %p of %zu bytes\n", what, address, size);
	abort();
}

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static uint64_t pattern(uintptr_t address, size_t size, size_t i) { return (address ^ size << 48) + i; }

static void fill(struct block *block)
{
	for (size_t i = 0; i < block->size / 8; i++)
		block->words[i] = pattern((uintptr_t)block->words, block->size, i);
}

static void check(const struct block *block)
{
	for (size_t i = 0; i < block->size / 8; i++)
		if (block->words[i] != pattern((uintptr_t)block->words, block->size, i))
			corrupt("contents changed", block->words, block->size);
}

static __attribute__((noipa)) void allocate(struct worker *worker, struct block *block)
{
	uint64_t random = next_random(worker);
	// Now and then one that the allocator maps by itself.
	size_t size = random % 2048 == 0 ? 200000 : 8 + (random >> 20) % (random % 16 ? 400 : 8000) / 8 * 8;
	void *aligned = NULL;

	switch (random >> 50 & 7) {
	case 0:
		block->words = calloc(size / 8, 8);
		for (size_t i = 0; block->words && i < size / 8; i++)
			if (block->words[i])
				corrupt("calloc did not clear", block->words, size);
		break;
	case 1:
		block->words = posix_memalign(&aligned, 128, size) ? NULL : aligned;
		if ((uintptr_t)block->words % 128)
			corrupt("not aligned", block->words, size);
		break;
	case 2:
		block->words = memalign(64, size);
		if ((uintptr_t)block->words % 64)
			corrupt("not aligned", block->words, size);
		break;
	default:
		block->words = malloc(size);
	}
	if (!block->words)
		corrupt("allocation failed", NULL, size);
	block->size = size;
	fill(block);
}

static __attribute__((noipa)) void reallocate(struct worker *worker, struct block *block)
{
	size_t size = 8 + next_random(worker) % 3000 / 8 * 8, common = size < block->size ? size : block->size;
	uintptr_t old = (uintptr_t)block->words;
	uint64_t *words = realloc(block->words, size);

	if (!words)
		corrupt("reallocation failed", NULL, size);
	for (size_t i = 0; i < common / 8; i++)
		if (words[i] != pattern(old, block->size, i))
			corrupt("contents changed by realloc", words, size);
	block->words = words;
	block->size = size;
	fill(block);
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	while (!atomic_load_explicit(&ends, memory_order_relaxed)) {
		struct block *block = &worker->blocks[next_random(worker) % BLOCKS];

		if (!block->words) {
			allocate(worker, block);
		} else {
			check(block);
			if (next_random(worker) % 4 == 0) {
				reallocate(worker, block);
			} else {
				memset(block->words, 0xdd, block->size < 64 ? block->size : 64);
				free(block->words);
				block->words = NULL;
			}
		}
		atomic_fetch_add_explicit(&worker->operations, 1, memory_order_relaxed);
		if (atomic_load_explicit(&pauses, memory_order_relaxed)) {
			pthread_barrier_wait(&pause_barrier); // all have stopped
			pthread_barrier_wait(&pause_barrier); // go on
		}
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		if (worker->blocks[i].words)
			check(&worker->blocks[i]);
		free(worker->blocks[i].words);
	}
	return NULL;
}

static unsigned long operations(void)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < worker_count; i++)
		sum += atomic_load(&workers[i].operations);
	return sum;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MAX];
	const char *command;

	if (argc > 1)
		worker_count = strtoul(argv[1], NULL, 10);
	if (worker_count < 1 || worker_count > THREADS_MAX)
		return 2;
	pthread_barrier_init(&pause_barrier, NULL, (unsigned)worker_count + 1);
	for (size_t i = 0; i < worker_count; i++) {
		workers[i].random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			return 2;
	}
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "count") == 0) {
			printf("%lu\n", operations());
		} else if (strcmp(command, "pause") == 0) {
			atomic_store(&pauses, true);
			pthread_barrier_wait(&pause_barrier);
			puts("paused");
		} else if (strcmp(command, "continue") == 0) {
			atomic_store(&pauses, false);
			pthread_barrier_wait(&pause_barrier);
			puts("continued");
		}
	}
	if (atomic_exchange(&pauses, false))
		pthread_barrier_wait(&pause_barrier);
	atomic_store(&ends, true);
	for (size_t i = 0; i < worker_count; i++)
		pthread_join(threads[i], NULL);
	printf("ok %lu\n", operations());
	return 0;
}
