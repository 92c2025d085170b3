// SPDX-License-Identifier: Apache-2.0
// Three sites that differ in what they hold: "work" makes one large block, many small ones, and then another thread
// makes blocks at 1 MiB a second of the clock until the program ends, or has made 128 MiB.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"

enum { LARGE = 24 << 20, SMALL = 40, SMALL_COUNT = 20000, GROWING = 4000, RATE = 1 << 20, MOST = 128 << 20 };

#define SITE __attribute__((noipa))

static void *volatile kept; // what is written here must be there

SITE static void make_large(void)
{
	kept = malloc(LARGE); // line of the large block
}

SITE static void make_small(void)
{
	kept = malloc(SMALL); // line of the small blocks
}

SITE static void make_growing(void)
{
	kept = memset(malloc(GROWING), 1, GROWING); // line of the growing site
}

SITE static void called_often(void)
{
	make_growing();
	__asm__ volatile("" ::: "memory"); // no tail call
}

SITE static void called_seldom(void)
{
	make_growing();
	__asm__ volatile("" ::: "memory");
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Three of four times by the one way.
static void *grow(void *unused)
{
	const double began = now();

	(void)unused;
	for (unsigned long made = 0; made * GROWING < MOST;) {
		for (; (double)(made * GROWING) < (now() - began) * RATE && made * GROWING < MOST; made++)
			(made % 4 ? called_often : called_seldom)();
		usleep(5000);
	}
	return NULL;
}

int main(void)
{
	const char *command;
	pthread_t thread;

	say_ready();
	while ((command = next_command())) {
		make_large();
		for (int i = 0; i < SMALL_COUNT; i++)
			make_small();
		if (pthread_create(&thread, NULL, grow, NULL) != 0)
			return 1;
		puts("working");
	}
	return 0;
}
