// SPDX-License-Identifier: Apache-2.0
// Many threads, one after the other or all at once, with stacks of ever other sizes. Each makes three blocks: one of
// 100 bytes that stays, one of 40 that it gives back, and one of 60 that another thread gives back. "chain N",
// "detached N": N threads in four chains; the end of each is the beginning of the next one. They are never joined, or
// detached. The answer comes when the last one is through. "alive N": N threads that are there together, until
// "finish". "rest" ends those of "chain" that have not quite ended.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "commands.h"

enum { CHAINS = 4, STACK_LEAST = 32 << 10, STACK_STEPS = 9, STACK_STEP = 4096 };

static atomic_int left, through, failed;
static bool detached;
static sem_t done, leave;
static _Atomic(void *) passed_on[CHAINS];

__attribute__((noipa)) static void life_kept(void)
{
	void *block = malloc(100);

	__asm__ volatile("" : : "r"(block) : "memory");
}

__attribute__((noipa)) static void life_freed(void)
{
	void *block = malloc(40);

	__asm__ volatile("" : : "r"(block) : "memory");
	free(block);
}

__attribute__((noipa)) static void life_passed_on(unsigned chain)
{
	void *block = malloc(60);

	__asm__ volatile("" : : "r"(block) : "memory");
	free(atomic_exchange(&passed_on[chain], block));
}

static void live(unsigned chain)
{
	life_kept();
	life_freed();
	life_passed_on(chain);
}

static void begin(void *(*work)(void *), uintptr_t number)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setguardsize(&attributes, 0);
	pthread_attr_setstacksize(&attributes, STACK_LEAST + number * 7 % STACK_STEPS * STACK_STEP);
	if (detached)
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attributes, work, (void *)number) != 0) {
		failed++;
		sem_post(&done);
	}
	pthread_attr_destroy(&attributes);
}

static void *link_of_chain(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	int number_left = atomic_fetch_sub(&left, 1);

	live(number % CHAINS);
	if (number_left > CHAINS)
		begin(link_of_chain, number + CHAINS);
	if (atomic_fetch_sub(&through, 1) == 1)
		sem_post(&done);
	return NULL;
}

static void *stay(void *argument)
{
	live((uintptr_t)argument % CHAINS);
	sem_post(&done);
	sem_wait(&leave);
	return NULL;
}

int main(void)
{
	const char *line;

	sem_init(&done, 0, 0);
	sem_init(&leave, 0, 0);
	say_ready();
	while ((line = next_command())) {
		char how[16];
		int count = 0;

		sscanf(line, "%15s %d", how, &count);
		detached = strcmp(how, "chain") != 0;
		if (strcmp(how, "chain") == 0 || strcmp(how, "detached") == 0) {
			left = through = count;
			for (uintptr_t i = 0; i < CHAINS; i++)
				begin(link_of_chain, i);
			sem_wait(&done);
			puts(failed ? "failed" : "done");
		} else if (strcmp(how, "alive") == 0) {
			for (int i = 0; i < count; i++)
				begin(stay, (uintptr_t)i);
			for (int i = 0; i < count && !failed; i++)
				sem_wait(&done);
			puts(failed ? "failed" : "done");
		} else {
			for (int i = 0; i < count; i++)
				sem_post(&leave);
			puts("ok");
		}
	}
	return 0;
}
