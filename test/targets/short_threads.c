// SPDX-License-Identifier: Apache-2.0
// Short-lived threads and coroutines that leave blocks behind. Commands on standard input, each answered by "done":
//   threads N       N threads, one after the other, of 10 blocks of 1,000 bytes each (in_thread)
//   coroutines N    N coroutines, eight at a time in turn, of 10 blocks of 1,000 bytes each (in_coroutine)
//   busy N          N blocks made and freed (in_load)
//   keep N          N blocks of 512 bytes that stay (in_quiet)
// Ends with 0 at end of input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define SITE(name)                                                                                                     \
	static __attribute__((noipa)) void *name(size_t size)                                                          \
	{                                                                                                              \
		void *block = malloc(size);                                                                            \
		__asm__ volatile("" ::: "memory");                                                                     \
		return block;                                                                                          \
	}
SITE(in_thread)
SITE(in_coroutine)
SITE(in_load)
SITE(in_quiet)

enum { BLOCKS = 10, SIZE = 1000, COROUTINES = 8, STACK = 65536 };

static void *run_thread(void *context)
{
	for (int i = 0; i < BLOCKS; i++)
		(void)in_thread(SIZE);
	return context;
}

static ucontext_t scheduler, coroutines[COROUTINES];
static char *stacks[COROUTINES];

static void run_coroutine(int number)
{
	for (int i = 0; i < BLOCKS; i++) {
		(void)in_coroutine(SIZE);
		swapcontext(&coroutines[number], &scheduler);
	}
}

static void run_coroutines(long count)
{
	for (volatile long done = 0; done < count; done += COROUTINES) {
		for (int i = 0; i < COROUTINES; i++) {
			if (!stacks[i] && !(stacks[i] = malloc(STACK)))
				abort();
			getcontext(&coroutines[i]);
			coroutines[i].uc_stack.ss_sp = stacks[i];
			coroutines[i].uc_stack.ss_size = STACK;
			coroutines[i].uc_link = &scheduler;
			makecontext(&coroutines[i], (void (*)(void))run_coroutine, 1, i);
		}
		for (int turn = 0; turn <= BLOCKS; turn++)
			for (int i = 0; i < COROUTINES; i++)
				swapcontext(&scheduler, &coroutines[i]);
	}
}

int main(void)
{
	char line[64];
	long count;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "threads %ld", &count) == 1) {
			for (long i = 0; i < count; i++) {
				pthread_t thread;

				if (pthread_create(&thread, NULL, run_thread, NULL) != 0 ||
				    pthread_join(thread, NULL) != 0)
					abort();
			}
		} else if (sscanf(line, "coroutines %ld", &count) == 1) {
			run_coroutines(count);
		} else if (sscanf(line, "busy %ld", &count) == 1) {
			for (long i = 0; i < count; i++)
				free(in_load(50 + (size_t)i % 9));
		} else if (sscanf(line, "keep %ld", &count) == 1) {
			for (long i = 0; i < count; i++)
				(void)in_quiet(512);
		} else {
			abort();
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
