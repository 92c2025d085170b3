// SPDX-License-Identifier: Apache-2.0
// Threads allocate, free, reallocate and hand blocks to each other at full speed, each in an order that a snapshot must
// show. How many blocks of which function may be live at any instant is said here; test/e2e/running_dump.py counts.
// usage: list_moves [THREADS [BLOCKS]]
//
//   pair_first, pair_second   first = pair_first(); second = pair_second(); free(second); free(first)
//   changed                   one block in each place, reallocated again and again
//   moved                     one or two in each place: a new one, then the old one goes
//   gap                       one or none in each place: the old one goes, then a new one
//   standing                  BLOCKS blocks that stay, but for those that a "release N" gives back
// The places are in a list that all threads take from and put back to: what one has begun another one goes on with. At
// end of input: "ok".
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define SITE   static __attribute__((noipa))
#define STAY() __asm__ volatile("" ::: "memory") // after the call, so that it is no tail call

enum kind { PAIR, CHANGED, MOVED, GAP, KINDS };
enum { PLACES = 256, THREADS_MAX = 64 };

static struct place {
	struct place *next;
	enum kind kind;
	unsigned step;
	char *blocks[2];
} places[PLACES];

static struct place *list;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ends;
static atomic_ulong steps_made;

#define ALLOCATES(name)                                                                                                \
	SITE char *name(size_t size)                                                                                   \
	{                                                                                                              \
		char *block = malloc(size);                                                                            \
		if (!block)                                                                                            \
			abort();                                                                                       \
		STAY();                                                                                                \
		memset(block, 1, size < 16 ? size : 16);                                                               \
		return block;                                                                                          \
	}
ALLOCATES(pair_first)
ALLOCATES(pair_second)
ALLOCATES(moved)
ALLOCATES(gap)
ALLOCATES(standing)

SITE char *changed(char *block, size_t size)
{
	block = realloc(block, size);
	if (!block)
		abort();
	STAY();
	return block;
}

static size_t some_size(unsigned number) { return 16 + number * 2654435761u % 400; }

static void pair_step(struct place *place)
{
	switch (place->step % 4) {
	case 0:
		place->blocks[0] = pair_first(some_size(place->step));
		break;
	case 1:
		place->blocks[1] = pair_second(some_size(place->step));
		break;
	case 2:
		free(place->blocks[1]);
		place->blocks[1] = NULL;
		break;
	default:
		free(place->blocks[0]);
		place->blocks[0] = NULL;
	}
}

static void moved_step(struct place *place)
{
	unsigned to = place->step / 2 % 2;

	if (place->step % 2 == 0) {
		place->blocks[!to] = moved(some_size(place->step));
	} else {
		free(place->blocks[to]);
		place->blocks[to] = NULL;
	}
}

static void gap_step(struct place *place)
{
	if (place->step % 2 == 0) {
		free(place->blocks[0]);
		place->blocks[0] = NULL;
	} else {
		place->blocks[0] = gap(some_size(place->step));
	}
}

static void make_step(struct place *place)
{
	switch (place->kind) {
	case PAIR:
		pair_step(place);
		break;
	case CHANGED:
		place->blocks[0] = changed(place->blocks[0], some_size(place->step));
		break;
	case MOVED:
		moved_step(place);
		break;
	default:
		gap_step(place);
	}
	place->step++;
}

static struct place *take(void)
{
	struct place *place;

	pthread_mutex_lock(&list_lock);
	place = list;
	if (place)
		list = place->next;
	pthread_mutex_unlock(&list_lock);
	return place;
}

static void put(struct place *place)
{
	pthread_mutex_lock(&list_lock);
	place->next = list;
	list = place;
	pthread_mutex_unlock(&list_lock);
}

static void *work(void *argument)
{
	unsigned steps = (unsigned)(uintptr_t)argument;

	while (!atomic_load_explicit(&ends, memory_order_relaxed)) {
		struct place *place = take();

		if (!place)
			continue;
		// Some steps alone, so that threads are not always at the lock; then another one goes on.
		for (unsigned i = steps++ % 13; i < 13; i++)
			make_step(place);
		put(place);
		atomic_fetch_add_explicit(&steps_made, 1, memory_order_relaxed);
	}
	return NULL;
}

// In a list, through their first words.
static void *standing_list;

static void release(unsigned long count)
{
	for (; count > 0 && standing_list; count--) {
		void *next = *(void **)standing_list;

		free(standing_list);
		standing_list = next;
	}
}

static void fill(unsigned long standing_blocks)
{
	for (unsigned long i = 0; i < standing_blocks; i++) {
		void **block = (void **)standing(32);

		*block = standing_list;
		standing_list = block;
	}
	for (unsigned i = 0; i < PLACES; i++) {
		struct place *place = &places[i];

		place->kind = (enum kind)(i % KINDS);
		if (place->kind == CHANGED)
			place->blocks[0] = changed(NULL, 32);
		else if (place->kind == MOVED)
			place->blocks[0] = moved(32);
		else if (place->kind == GAP)
			place->blocks[0] = gap(32);
		put(place);
	}
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MAX];
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 4,
		      blocks = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	const char *command;
	bool runs = false;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "begin") == 0 && !runs) {
			fill(blocks);
			for (unsigned long i = 0; i < count; i++)
				if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
					return 2;
			runs = true;
			puts("begun");
		} else if (strncmp(command, "release ", 8) == 0) {
			release(strtoul(command + 8, NULL, 10));
			puts("released");
		} else if (strcmp(command, "count") == 0) {
			printf("%lu\n", atomic_load(&steps_made));
		}
	}
	atomic_store(&ends, true);
	for (unsigned long i = 0; i < count && runs; i++)
		pthread_join(threads[i], NULL);
	puts("ok");
	return 0;
}
