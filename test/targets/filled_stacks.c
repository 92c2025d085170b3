// SPDX-License-Identifier: Apache-2.0
// Threads on whose stacks no memory is proven free for a signal frame: filled beforehand, and [stack] is in use as far
// as it may grow. Arguments: how many threads; "blocked" for such that block every signal on stacks of zeros. Answers
// "longest" by the longest time in ms in which no thread ran.
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

// STACK: room for a signal frame in half of it, also where the processor's state is 12 KiB (AMX). OF_MAIN: what the
// main thread leaves of its own, in which no frame has room.
enum { STACK = 128 << 10, STACK_LIMIT = 1 << 20, OF_MAIN = 2560 };

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

// In little stack: nothing of stdio, which takes more than OF_MAIN leaves.
static char *put_number(char *at, uint64_t value)
{
	if (value >= 10)
		at = put_number(at, value / 10);
	*at = (char)('0' + value % 10);
	return at + 1;
}

static void put(const char *text, size_t size)
{
	if (write(STDOUT_FILENO, text, size) != (ssize_t)size)
		_exit(3);
}

static __attribute__((noinline)) void answer(void)
{
	static char line[64];
	char *end;

	put("ready\n", 6);
	while (read(STDIN_FILENO, line, sizeof(line)) > 0) {
		end = put_number(line, longest / 1000000);
		*end = ' ';
		end = put_number(end + 1, sum / 1000000);
		*end = '\n';
		put(line, (size_t)(end + 1 - line));
		longest = sum = 0;
	}
}

// The end of [stack], from which its limit counts: what lies there above main's frame depends on the environment.
static uintptr_t end_of_stack(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			break;
	if (!end)
		exit(2);
	fclose(maps);
	return end;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 8, blocked = argc > 2 && strcmp(argv[2], "blocked") == 0;
	struct rlimit limit = { STACK_LIMIT, STACK_LIMIT };
	volatile char here = 0;
	sigset_t all;
	size_t size;
	char *rest;

	sigfillset(&all);
	if (blocked)
		pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < count; i++)
		start(idle, blocked ? 0 : 0xaa);
	start(watch, 0xaa);
	setrlimit(RLIMIT_STACK, &limit);
	size = (size_t)((uintptr_t)&here - (end_of_stack() - STACK_LIMIT)) - OF_MAIN;
	rest = alloca(size);
	memset(rest, 0xaa, size);
	__asm__ volatile("" : : "r"(rest), "r"(&here) : "memory");
	answer();
	_exit(0);
}
