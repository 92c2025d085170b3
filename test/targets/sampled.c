// SPDX-License-Identifier: Apache-2.0
// A program that holds many blocks of known sizes, of several sites. usage: sampled THREADS
//
// Commands on standard input:
//   hold    each thread allocates what the table below says and keeps it, and makes and frees as much again at the site
//           of blocks that do not stay; answered by one JSON object for each site, with what is live and what was
//           allocated in all, then {"end":...}
//   free    all of it is freed; prints "freed"
// Ends with 0 at end of input.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAY() __asm__ volatile("" ::: "memory") // after the call, so that it is no tail call

// name, blocks of each thread, smallest and largest size. Sizes go through the range evenly.
#define SITES(X)                                                                                                       \
	X(site_small, 60000, 16, 64)                                                                                   \
	X(site_medium, 4000, 200, 4000)                                                                                \
	X(site_mixed, 3000, 1, 30000)                                                                                  \
	X(site_large, 100, 20000, 120000)                                                                              \
	X(site_huge, 4, 1000000, 8000000)                                                                              \
	X(site_passing, 20000, 100, 2000)

enum site {
#define X(name, blocks, low, high) SITE_##name,
	SITES(X)
#undef X
		SITE_COUNT
};

static const struct {
	const char *name;
	size_t blocks, low, high;
} sites[] = {
#define X(name, blocks, low, high) { #name, blocks, low, high },
	SITES(X)
#undef X
};

#define X(name, blocks, low, high)                                                                                     \
	static __attribute__((noipa)) void *name(size_t size)                                                          \
	{                                                                                                              \
		void *block = malloc(size);                                                                            \
		STAY();                                                                                                \
		return block;                                                                                          \
	}
SITES(X)
#undef X

static void *(*const allocate[])(size_t) = {
#define X(name, blocks, low, high) name,
	SITES(X)
#undef X
};

enum { THREADS_MAX = 16 };

static unsigned thread_count;
static void **held[THREADS_MAX][SITE_COUNT];
static pthread_barrier_t begin, end;
static enum { HOLD, FREE, STOP } command;

static size_t size_of(enum site site, size_t index)
{
	return sites[site].low + index * (sites[site].high - sites[site].low) / (sites[site].blocks - 1);
}

static void take(unsigned thread)
{
	for (enum site site = 0; site < SITE_COUNT; site++) {
		for (size_t i = 0; i < sites[site].blocks; i++) {
			void *block = allocate[site](size_of(site, i));

			if (!block)
				abort();
			if (site == SITE_site_passing)
				free(block);
			else
				held[thread][site][i] = block;
		}
	}
}

static void give(unsigned thread)
{
	for (enum site site = 0; site < SITE_COUNT; site++)
		for (size_t i = 0; i < sites[site].blocks && site != SITE_site_passing; i++)
			free(held[thread][site][i]);
}

static void *work(void *context)
{
	unsigned thread = (unsigned)(uintptr_t)context;

	pthread_barrier_wait(&end);
	for (;;) {
		pthread_barrier_wait(&begin);
		if (command == STOP)
			return NULL;
		if (command == HOLD)
			take(thread);
		else
			give(thread);
		pthread_barrier_wait(&end);
	}
}

static void run(int what)
{
	command = what;
	pthread_barrier_wait(&begin);
	if (what != STOP)
		pthread_barrier_wait(&end);
}

static void print_truth(void)
{
	for (enum site site = 0; site < SITE_COUNT; site++) {
		uint64_t bytes = 0;

		for (size_t i = 0; i < sites[site].blocks; i++)
			bytes += size_of(site, i) * thread_count;
		printf("{\"site\": \"%s\", \"blocks\": %zu, \"bytes\": %lu, \"stay\": %s, \"low\": %zu, \"high\": %zu}\n",
		       sites[site].name, sites[site].blocks * thread_count, bytes,
		       site == SITE_site_passing ? "false" : "true", sites[site].low, sites[site].high);
	}
	printf("{\"end\": true}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	char line[64];

	if (argc != 2 || (thread_count = (unsigned)atoi(argv[1])) < 1 || thread_count > THREADS_MAX)
		return 2;
	pthread_barrier_init(&begin, NULL, thread_count + 1);
	pthread_barrier_init(&end, NULL, thread_count + 1);
	for (unsigned i = 0; i < thread_count; i++) {
		for (enum site site = 0; site < SITE_COUNT; site++)
			held[i][site] = calloc(sites[site].blocks, sizeof(void *));
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
			return 1;
	}
	pthread_barrier_wait(&end); // a thread that starts has all signals blocked for a moment
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "hold\n") == 0) {
			run(HOLD);
			print_truth();
		} else if (strcmp(line, "free\n") == 0) {
			run(FREE);
			puts("freed");
			fflush(stdout);
		}
	}
	run(STOP);
	for (unsigned i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
