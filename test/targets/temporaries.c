// SPDX-License-Identifier: Apache-2.0
// Allocates in ways that make a block temporary, given back before its thread allocates another, or not. Command "run
// N": each way N times; the answer is how often each function has allocated temporarily, as JSON.
#include "commands.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#define APART __attribute__((noinline))
// Not by a jump to malloc, which would leave no frame.
#define ALLOCATED(size)                                                                                                \
	void *volatile block = malloc(size);                                                                           \
	return block

static void *volatile kept, *volatile handed, *volatile taken;
static sem_t is_handed, is_taken;
static int rounds;

APART static void simple(void)
{
	void *volatile block = malloc(64);

	free(block);
}

// The inner one alone.
APART static void *outer(void) { ALLOCATED(80); }
APART static void inner(void)
{
	void *volatile block = malloc(48);

	free(block);
}

// What the thread gives back in between changes nothing.
APART static void beside_other_frees(void)
{
	void *volatile block = malloc(96);

	free(kept);
	kept = NULL;
	free(block);
}

APART static void *replaced(void) { ALLOCATED(112); }

APART static void reallocated(void)
{
	void *volatile block = malloc(40);

	block = realloc(block, 400); // another block, and the temporary one
	free(block);
}

// Each thread gives back what the other has allocated last: nothing of it is temporary, whose records they may be by
// now.
APART static void *give(void) { ALLOCATED(64); }
APART static void *give_back(void) { ALLOCATED(72); }

static void *exchange(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		sem_wait(&is_handed);
		free(handed);
		taken = give_back();
		sem_post(&is_taken);
	}
	return unused;
}

static void run(void)
{
	pthread_t thread;

	for (int i = 0; i < rounds; i++) {
		void *block = outer();

		inner();
		free(block);
		simple();
		kept = replaced();
		beside_other_frees();
		reallocated();
	}
	if (pthread_create(&thread, NULL, exchange, NULL))
		exit(2);
	for (int i = 0; i < rounds; i++) {
		handed = give();
		sem_post(&is_handed);
		sem_wait(&is_taken);
		free(taken);
	}
	pthread_join(thread, NULL);
}

int main(void)
{
	const char *command;

	sem_init(&is_handed, 0, 0);
	sem_init(&is_taken, 0, 0);
	say_ready();
	while ((command = next_command())) {
		if (sscanf(command, "run %d", &rounds) != 1)
			return 2;
		run();
		printf("{\"simple\": %d, \"inner\": %d, \"beside_other_frees\": %d, \"reallocated\": %d, "
		       "\"outer\": 0, \"replaced\": 0, \"give\": 0, \"give_back\": 0}\n",
		       rounds, rounds, rounds, rounds);
	}
	return 0;
}
