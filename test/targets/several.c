// SPDX-License-Identifier: Apache-2.0
// Four allocators in one process: the C library's, which comes first in the order of libraries, and three more that are
// used by their own names. "work" makes blocks in all of them and prints the account; "finish" gives them back, by
// several threads, and prints "ok".
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

enum { BLOCKS = 500, FAMILIES = 4, THREADS = 4 };

#define SITE   __attribute__((noipa))
#define STAY() __asm__ volatile("" ::: "memory") // no tail call

void *mi_malloc(size_t);
void mi_free(void *);
void *mallocx(size_t, int);
void dallocx(void *, int);
void *tc_malloc(size_t);
void tc_free(void *);

SITE void *site_libc(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}
SITE void *site_mimalloc(size_t size)
{
	void *block = mi_malloc(size);
	STAY();
	return block;
}
SITE void *site_jemalloc(size_t size)
{
	void *block = mallocx(size, 0);
	STAY();
	return block;
}
SITE void *site_tcmalloc(size_t size)
{
	void *block = tc_malloc(size);
	STAY();
	return block;
}

static void give_jemalloc(void *block) { dallocx(block, 0); }
static void give_mimalloc(void *block) { mi_free(block); }
static void give_tcmalloc(void *block) { tc_free(block); }

static struct family {
	const char *site;
	void *(*make)(size_t);
	void (*give)(void *);
	void *block[BLOCKS];
} families[FAMILIES] = {
	{ "site_libc", site_libc, free, { 0 } },
	{ "site_mimalloc", site_mimalloc, give_mimalloc, { 0 } },
	{ "site_jemalloc", site_jemalloc, give_jemalloc, { 0 } },
	{ "site_tcmalloc", site_tcmalloc, give_tcmalloc, { 0 } },
};

static void *give_some(void *first)
{
	for (int i = 0; i < FAMILIES; i++)
		for (size_t j = (size_t)(char *)first - (size_t)(char *)families; j < BLOCKS; j += THREADS)
			families[i].give(families[i].block[j]);
	return NULL;
}

static void work(void)
{
	size_t bytes[FAMILIES] = { 0 };

	for (size_t j = 0; j < BLOCKS; j++) {
		for (int i = 0; i < FAMILIES; i++) { // in turn
			size_t size = 1 + (j * 37 + (size_t)i) % 1000;

			families[i].block[j] = families[i].make(size);
			bytes[i] += size;
		}
	}
	for (int i = 0; i < FAMILIES; i++)
		printf("{\"site\": \"%s\", \"objects\": %d, \"bytes\": %zu}\n", families[i].site, BLOCKS, bytes[i]);
	puts("{\"end\": 4}");
}

static void finish(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, give_some, (char *)families + i))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("ok");
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "work") == 0)
			work();
		else if (strcmp(command, "finish") == 0)
			finish();
	}
	return 0;
}
