// SPDX-License-Identifier: Apache-2.0
// The frame of the restless_*.c programs: behaviours that never stand still, each of which checks its own results.
// usage: NAME BEHAVIOUR. Commands on standard input: "start"; "work", answered by "right" once every worker has come
// further twice; "stop", answered by "stopped" when all workers have ended; "keep", which allocates 100 blocks of 70
// bytes.
#ifndef HEAPSNAP_TEST_RESTLESS_H
#define HEAPSNAP_TEST_RESTLESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

enum { WORKERS_MAX = 600 };

struct behaviour {
	const char *name;
	int workers;
	void (*prepare)(void);     // once, before the first start; NULL = nothing
	void (*step)(int number);  // of one worker, again and again
	void (*begin)(int number); // at a worker's start; NULL = nothing
	void (*end)(int number);   // at its end; NULL = nothing
};

static const struct behaviour *behaviour;
static atomic_bool ends;
static atomic_ulong progress[WORKERS_MAX];

#define EXPECT(condition)                                                                                              \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			printf("wrong: %s, line %d\n", #condition, __LINE__);                                          \
			fflush(stdout);                                                                                \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

// Allocates, checks, frees: a few blocks.
static inline void allocate_and_check(unsigned seed)
{
	unsigned char *blocks[20];

	for (unsigned i = 0; i < 20; i++) {
		size_t size = 16 + (seed * 31 + i * 17) % 2000;

		blocks[i] = malloc(size);
		EXPECT(blocks[i]);
		memset(blocks[i], (int)(seed + i), size);
	}
	for (unsigned i = 0; i < 20; i++) {
		EXPECT(blocks[i][15] == (unsigned char)(seed + i));
		if (i % 3 == 0) {
			blocks[i] = realloc(blocks[i], 3000);
			EXPECT(blocks[i] && blocks[i][0] == (unsigned char)(seed + i));
		}
		free(blocks[i]);
	}
}

static void *restless_worker(void *argument)
{
	int number = (int)(size_t)argument;

	if (behaviour->begin)
		behaviour->begin(number);
	while (!atomic_load(&ends)) {
		behaviour->step(number);
		atomic_fetch_add(&progress[number], 1);
	}
	if (behaviour->end)
		behaviour->end(number);
	return NULL;
}

static void restless_wait(void)
{
	static unsigned long before[WORKERS_MAX];

	for (int i = 0; i < behaviour->workers; i++)
		before[i] = atomic_load(&progress[i]);
	for (int i = 0; i < behaviour->workers; i++) {
		for (int tries = 0; atomic_load(&progress[i]) < before[i] + 2; tries++) {
			EXPECT(tries < 60000);
			usleep(1000);
		}
	}
	puts("right");
}

static __attribute__((noipa)) void restless_kept(void)
{
	static void *kept[100];

	for (int i = 0; i < 100; i++)
		kept[i] = malloc(70);
	__asm__ volatile("" : : "r"(kept) : "memory");
}

static int restless_main(int argc, char **argv, const struct behaviour *behaviours, size_t count)
{
	static pthread_t threads[WORKERS_MAX];
	pthread_attr_t attributes;
	const char *command;

	for (size_t i = 0; i < count; i++)
		if (argc > 1 && strcmp(argv[1], behaviours[i].name) == 0)
			behaviour = &behaviours[i];
	if (!behaviour)
		return 2;
	if (behaviour->prepare)
		behaviour->prepare();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 262144);
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "start") == 0) {
			atomic_store(&ends, false);
			for (int i = 0; i < behaviour->workers; i++)
				EXPECT(pthread_create(&threads[i], &attributes, restless_worker, (void *)(size_t)i) ==
				       0);
			puts("started");
		} else if (strcmp(command, "work") == 0) {
			restless_wait();
		} else if (strcmp(command, "keep") == 0) {
			restless_kept();
			puts("kept");
		} else if (strcmp(command, "stop") == 0) {
			atomic_store(&ends, true);
			for (int i = 0; i < behaviour->workers; i++)
				pthread_join(threads[i], NULL);
			puts("stopped");
		}
	}
	return 0;
}

#endif
