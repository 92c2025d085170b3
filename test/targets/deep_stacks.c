// SPDX-License-Identifier: Apache-2.0
// Threads with much stack in use. usage: deep_stacks THREADS MIB written|unwritten: so many threads, the main one as
// well, each with an automatic array of so many MiB, below which it allocates now and then. Commands on standard input:
//   "rest"      they allocate no more, and wait; prints "rests" when all do
//   "block"     the main thread calls take_block, which has an automatic array of its own, as large, and stands below
//               that until "go on"; prints "blocks" before and "returned" afterwards
//   "pause"     prints the longest time, in ms, for which a thread that only sleeps did not run
#include <alloca.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "jump_out.h"

#define FUNCTION __attribute__((noipa, no_stack_protector)) // called as if it were elsewhere

static size_t bytes;
static int is_written;
static atomic_int rests, started, resting;
static atomic_long longest_ms;
static char pool[1 << 20];
static int count;

static FUNCTION void fill(volatile char *array)
{
	for (size_t i = 0; i < (is_written ? bytes : 1); i += 4096)
		array[i] = 1;
}

static void wait_for_go_on(void)
{
	const char *command;

	puts("blocks");
	do
		command = next_command();
	while (command && strcmp(command, "go on") != 0);
}

FUNCTION static void *take_deep_in(size_t size)
{
	volatile char *array = alloca(bytes);

	fill(array);
	wait_for_go_on();
	return pool + size + array[0];
}

FUNCTION void *take_block(size_t size) { return jump_out(take_deep_in(size)); }

FUNCTION void give_block(void *block) { *(void *volatile *)&block = block; }

static FUNCTION void allocate(volatile char *array)
{
	const struct timespec wait = { 0, 20000000 };

	(void)array;
	while (!atomic_load(&rests)) {
		free(malloc(100));
		nanosleep(&wait, NULL);
	}
}

static FUNCTION void *deep(void *unused)
{
	volatile char *array = alloca(bytes);

	fill(array);
	atomic_fetch_add(&started, 1);
	allocate(array);
	atomic_fetch_add(&resting, 1);
	for (;;)
		pause();
	return unused;
}

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void *watch(void *unused)
{
	const struct timespec wait = { 0, 2000000 };

	atomic_fetch_add(&started, 1);
	for (long last = now_ms(), now; (now = now_ms()) != 0; last = now) {
		if (now - last > atomic_load(&longest_ms))
			atomic_store(&longest_ms, now - last);
		nanosleep(&wait, NULL);
	}
	return unused;
}

static FUNCTION void obey_below(volatile char *array)
{
	const char *command;

	fill(array);
	while (atomic_load(&started) < count + 1)
		usleep(1000);
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "rest") == 0) {
			atomic_store(&rests, 1);
			while (atomic_load(&resting) < count)
				usleep(1000);
			puts("rests");
		} else if (strcmp(command, "block") == 0) {
			give_block(take_block(100));
			puts("returned");
		} else if (strcmp(command, "pause") == 0) {
			printf("%ld\n", atomic_load(&longest_ms));
		} else {
			free(malloc(100));
			puts("allocated");
		}
	}
}

int main(int argument_count, char **arguments)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (argument_count != 4)
		return 2;
	count = atoi(arguments[1]);
	bytes = (size_t)atol(arguments[2]) << 20;
	is_written = strcmp(arguments[3], "written") == 0;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, bytes + (1 << 20));
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, &attributes, deep, NULL) != 0)
			return 1;
	pthread_create(&thread, NULL, watch, NULL);
	obey_below(alloca(bytes));
	return 0;
}
