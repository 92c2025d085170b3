// SPDX-License-Identifier: Apache-2.0
// Blocks of known threads, sizes and ages. usage: keys. Two threads, named "first" and "second", wait for commands:
//   first N SIZE, second N SIZE   that thread allocates so many blocks of so many bytes and keeps them: "kept"
//   free N                        frees the last N blocks that were kept, whoever allocated them: "freed"
//   end                           the thread "second" ends: "ended"
//   quit
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

enum { KEPT_MAX = 100000 };

static struct worker {
	const char *name;
	pthread_t thread;
	sem_t begin, done;
	unsigned count; // of blocks that are to be made; 0 = end
	size_t size;
} workers[] = { { .name = "first" }, { .name = "second" } };

static void *kept[KEPT_MAX];
static unsigned kept_count;

__attribute__((noinline)) static void keep(unsigned count, size_t size)
{
	for (unsigned i = 0; i < count && kept_count < KEPT_MAX; i++)
		kept[kept_count++] = malloc(size);
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	pthread_setname_np(pthread_self(), worker->name);
	sem_post(&worker->done);
	for (;;) {
		while (sem_wait(&worker->begin) != 0)
			;
		if (!worker->count)
			return NULL;
		keep(worker->count, worker->size);
		sem_post(&worker->done);
	}
}

static void ask(struct worker *worker, unsigned count, size_t size)
{
	worker->count = count;
	worker->size = size;
	sem_post(&worker->begin);
	if (!count) {
		pthread_join(worker->thread, NULL);
		return;
	}
	while (sem_wait(&worker->done) != 0)
		;
}

static bool obey(const char *command)
{
	unsigned count;
	size_t size;
	char name[16];

	if (strcmp(command, "end") == 0) {
		ask(&workers[1], 0, 0);
		puts("ended");
	} else if (sscanf(command, "free %u", &count) == 1) {
		while (count-- > 0 && kept_count > 0)
			free(kept[--kept_count]);
		puts("freed");
	} else if (sscanf(command, "%15s %u %zu", name, &count, &size) == 3 && count > 0) {
		ask(&workers[strcmp(name, "second") == 0], count, size);
		puts("kept");
	} else {
		return false;
	}
	return true;
}

int main(void)
{
	const char *command;

	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
		sem_init(&workers[i].begin, 0, 0);
		sem_init(&workers[i].done, 0, 0);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return 2;
		while (sem_wait(&workers[i].done) != 0)
			;
	}
	say_ready();
	while ((command = next_command()) && obey(command))
		;
	return 0;
}
