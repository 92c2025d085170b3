// SPDX-License-Identifier: Apache-2.0
// Threads made by the C library that it is built against, with the stacks and control blocks that this one gives them;
// they allocate from known sites. usage: userland THREADS. "work": every thread makes blocks and keeps some; prints the
// account of all that live, a JSON object for each site, then
// {"end": 1}. "more": as many threads again: "made". "finish": every thread gives back what it has: "done".
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

enum { THREADS_MAX = 64, KEPT = 16, MADE = 100 };
#define STAY()   __asm__ volatile("" ::: "memory") // no tail call
#define FUNCTION __attribute__((noinline, noclone))

static struct worker {
	pthread_t thread;
	void *kept[KEPT];
	size_t objects, bytes;
} workers[THREADS_MAX];
static size_t worker_count;
static pthread_barrier_t begin, end; // of a command
static enum { WORK, FINISH, LEAVE } command;

FUNCTION void *site_thread(size_t size)
{
	void *block = malloc(size);

	STAY();
	return block;
}

FUNCTION void *site_main(size_t size)
{
	void *block = calloc(1, size);

	STAY();
	return block;
}

static void do_command(struct worker *worker, void *(*make)(size_t))
{
	for (int i = 0; i < KEPT; i++) {
		free(worker->kept[i]);
		worker->kept[i] = NULL;
	}
	worker->objects = worker->bytes = 0;
	if (command != WORK)
		return;
	for (size_t i = 0; i < MADE; i++)
		free(make(8 * (1 + i)));
	for (size_t i = 0; i < KEPT; i++) {
		worker->kept[i] = make(8 * (1 + i));
		worker->objects++;
		worker->bytes += 8 * (1 + i);
	}
}

static void *serve(void *argument)
{
	struct worker *worker = argument;
	bool leaves;

	for (;;) {
		pthread_barrier_wait(&begin);
		do_command(worker, site_thread);
		leaves = command == LEAVE; // behind the barrier it may be the next one
		pthread_barrier_wait(&end);
		if (leaves)
			return NULL;
	}
}

// The barriers are for all threads that there are.
static void make_threads(size_t count)
{
	worker_count += count;
	pthread_barrier_init(&begin, NULL, (unsigned)worker_count + 1);
	pthread_barrier_init(&end, NULL, (unsigned)worker_count + 1);
	for (size_t i = 0; i < worker_count; i++)
		if (pthread_create(&workers[i].thread, NULL, serve, &workers[i]))
			exit(2);
}

static void run_all(struct worker *own)
{
	pthread_barrier_wait(&begin);
	do_command(own, site_main);
	pthread_barrier_wait(&end);
}

static void join_all(struct worker *own)
{
	command = LEAVE;
	run_all(own);
	for (size_t i = 0; i < worker_count; i++)
		pthread_join(workers[i].thread, NULL);
}

static void print_account(const struct worker *own)
{
	size_t objects = 0, bytes = 0;

	for (size_t i = 0; i < worker_count; i++) {
		objects += workers[i].objects;
		bytes += workers[i].bytes;
	}
	printf("{\"site\": \"site_thread\", \"objects\": %zu, \"bytes\": %zu}\n", objects, bytes);
	printf("{\"site\": \"site_main\", \"objects\": %zu, \"bytes\": %zu}\n", own->objects, own->bytes);
	puts("{\"end\": 1}");
}

int main(int argc, char **argv)
{
	static struct worker own;
	size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
	const char *line;

	make_threads(threads);
	say_ready();
	while ((line = next_command())) {
		if (strcmp(line, "more") == 0) {
			join_all(&own);
			make_threads(threads);
			puts("made");
			continue;
		}
		command = strcmp(line, "work") == 0 ? WORK : FINISH;
		run_all(&own);
		if (command == WORK)
			print_account(&own);
		else
			puts("done");
	}
	join_all(&own);
	return 0;
}
