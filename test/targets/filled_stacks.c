// SPDX-License-Identifier: Apache-2.0
// Threads on whose stacks no memory is proven free for a signal frame: filled beforehand, and [stack] is in use as far as it may grow. Arguments: how many
// threads; "blocked" for such that block every signal on stacks of zeros. Answers "longest" by the longest time in ms in which no thread ran.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// STACK: room for a signal frame in half of it, also where the processor's state is 12 KiB (AMX). OF_MAIN: no room for one.
enum { STACK = 128 << 10, STACK_LIMIT = 1 << 20, OF_MAIN = 20480 };

static atomic_uint_fast64_t longest, sum; // ns; sum: of those above 20 ms

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *idle(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *watch(void *unused)
{
	uint64_t last = now();

	for (;;) {
		uint64_t time;

		usleep(2000);
		time = now();
		if (time - last > longest)
			longest = time - last;
		if (time - last > 20000000)
			sum += time - last;
		last = time;
	}
	return unused;
}

static void start(void *(*function)(void *), int fill)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	if (stack == MAP_FAILED)
		exit(2);
	memset(stack, fill, STACK);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK);
	if (pthread_create(&thread, &attributes, function, NULL))
		exit(2);
}

static __attribute__((noinline)) void answer(void)
{
	char line[64];

	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		printf("%lu %lu\n", (unsigned long)(longest / 1000000), (unsigned long)(sum / 1000000));
		longest = sum = 0;
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 8, blocked = argc > 2 && strcmp(argv[2], "blocked") == 0;
	struct rlimit limit = { STACK_LIMIT, STACK_LIMIT };
	static char output[4096];
	volatile char here;
	sigset_t all;
	char *rest;

	setvbuf(stdout, output, _IOLBF, sizeof(output));
	sigfillset(&all);
	if (blocked)
		pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < count; i++)
		start(idle, blocked ? 0 : 0xaa);
	start(watch, 0xaa);
	setrlimit(RLIMIT_STACK, &limit);
	rest = alloca(STACK_LIMIT - OF_MAIN);
	memset(rest, 0xaa, STACK_LIMIT - OF_MAIN);
	__asm__ volatile("" : : "r"(rest), "r"(&here) : "memory");
	answer();
	return 0;
}
