// SPDX-License-Identifier: Apache-2.0
// Allocators of a program's own that may be left by an exception, or because their thread is cancelled. In the usual
// case each cuts blocks from an array, to which a word is written back when one is given back.
//   pool_alloc    reads from a pipe where it is told to (a cancellation point), or throws
//   calm_alloc    does neither, nor does what it calls
//   far_alloc     as calm_alloc, and ends the program unless its last arguments, which come on the stack, and its
//                 return address are what they are to be
//   jump_alloc    as pool_alloc, and ends with a jump through a pointer
//   pool_realloc  on top of pool_alloc
//   pool_free     reads, where it is told to
// Commands on standard input, NAME is one of these functions but for the last:
//   work NAME     makes blocks and gives most of them back; prints {"objects", "bytes", "calls"}
//   finish NAME   gives the rest back; prints "ok"
//   cancel NAME   a thread that is in it, below a cleanup handler, a destructor and a lock, is cancelled; another one
//                 then makes a block at site_next_thread and one at site_between, and gives them back; prints what of
//                 the first three ran, and whether the lock is free
//   throw NAME    it throws below the same; prints what of these ran, and what was caught; then makes a block at
//                 site_between and gives it back
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

#include "commands.h"

#define FUNCTION extern "C" __attribute__((noipa))
#define STAY()   __asm__ volatile("" ::: "memory") // no tail call

enum { CLASSES = 8, LEAST = 64, BLOCKS = 4096, KEPT = 16, WORK = 200 };

struct own_exception {
};

static int pipe_ends[2];
static volatile int is_inside; // of a read
static thread_local int what;  // 0 = a block, 1 = read first, 2 = throw
static char memory[BLOCKS][LEAST * CLASSES] __attribute__((aligned(16)));
static char *freed;
static size_t used;

static __attribute__((noinline)) void wait_for_byte()
{
	char byte;

	is_inside = 1;
	if (read(pipe_ends[0], &byte, 1) != 1)
		abort();
}

static inline __attribute__((always_inline)) void *take(size_t size)
{
	char *block = freed;

	if (size > sizeof(memory[0]))
		return nullptr;
	if (block)
		memcpy(&freed, block, sizeof(freed));
	else if (used < BLOCKS)
		block = memory[used++];
	else
		abort();
	return block;
}

static __attribute__((noinline)) void be_told()
{
	if (what == 1)
		wait_for_byte();
	else if (what == 2)
		throw own_exception();
}

FUNCTION void *pool_alloc(int pool, size_t size)
{
	void *block;

	if (what)
		be_told();
	block = take(size);
	if (block)
		memset(block, pool, size);
	return block;
}

FUNCTION void *calm_alloc(int pool, size_t size)
{
	void *block = take(size);

	if (block)
		memset(block, pool, size);
	return block;
}

static void *volatile far_caller; // the first one's return address

FUNCTION void *far_alloc(int pool, size_t size, int c, int d, int e, int f, int g, int h)
{
	void *caller = __builtin_return_address(0);

	if (g != pool + 6 || h != c + d + e + f || (far_caller && caller != far_caller))
		abort();
	far_caller = caller;
	return take(size);
}

static void *taken(size_t size) { return take(size); }
static void *(*volatile take_by)(size_t) = taken;

FUNCTION void *jump_alloc(int pool, size_t size)
{
	if (what && pool)
		be_told();
	return take_by(size);
}

FUNCTION void pool_free(int pool, void *block)
{
	if (pool && what == 1)
		wait_for_byte();
	memcpy(block, &freed, sizeof(freed));
	freed = static_cast<char *>(block);
}

FUNCTION void *pool_realloc(int pool, void *block, size_t size)
{
	void *other = pool_alloc(pool, size);

	if (other && block) {
		memcpy(other, block, LEAST);
		pool_free(pool, block);
	}
	return other;
}

FUNCTION void *site_pool_alloc(size_t size)
{
	void *block = pool_alloc(1, size);
	STAY();
	return block;
}
FUNCTION void *site_calm_alloc(size_t size)
{
	void *block = calm_alloc(1, size);
	STAY();
	return block;
}
FUNCTION void *site_far_alloc(size_t size)
{
	void *block = far_alloc(1, size, 3, 4, 5, 6, 7, 18);
	STAY();
	return block;
}
FUNCTION void *site_jump_alloc(size_t size)
{
	void *block = jump_alloc(1, size);
	STAY();
	return block;
}
FUNCTION void *site_pool_realloc(size_t size)
{
	void *block = pool_realloc(1, nullptr, size);
	STAY();
	return block;
}
FUNCTION void *site_pool_free(size_t size)
{
	void *block = calm_alloc(1, size);
	pool_free(1, block);
	STAY();
	return nullptr;
}
FUNCTION void *site_between(size_t size)
{
	void *block = pool_alloc(1, size);
	STAY();
	return block;
}

static struct site {
	const char *name;
	void *(*make)(size_t size);
	void *kept[KEPT];
} sites[] = {
	{ "pool_alloc", site_pool_alloc, {} },     { "calm_alloc", site_calm_alloc, {} },
	{ "far_alloc", site_far_alloc, {} },       { "jump_alloc", site_jump_alloc, {} },
	{ "pool_realloc", site_pool_realloc, {} }, { "pool_free", site_pool_free, {} },
};

static size_t size_of(size_t number) { return 8 * (1 + 3 * number); }

static void work(struct site *site)
{
	size_t bytes = 0;

	for (size_t i = 0; i < WORK; i++) {
		void *block = site->make(size_of(i % KEPT));

		if (i >= KEPT) {
			pool_free(1, block);
			continue;
		}
		site->kept[i] = block;
		bytes += size_of(i);
	}
	printf("{\"objects\": %d, \"bytes\": %zu, \"calls\": %d}\n{\"end\": 1}\n", (int)KEPT, bytes, (int)WORK);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int handlers, destructors;

static void handle(void *) { handlers++; }

struct guard {
	guard() { pthread_mutex_lock(&lock); }
	~guard()
	{
		destructors++;
		pthread_mutex_unlock(&lock);
	}
};

static __attribute__((noipa)) void leave(struct site *site)
{
	guard held;

	pthread_cleanup_push(handle, nullptr);
	site->make(100);
	pthread_cleanup_pop(0);
}

static void *cancelled(void *site)
{
	what = 1;
	leave(static_cast<struct site *>(site));
	return nullptr;
}

static void say(const char *how)
{
	int is_free = pthread_mutex_trylock(&lock) == 0;

	if (!is_free)
		pthread_mutex_init(&lock, nullptr);
	else
		pthread_mutex_unlock(&lock);
	printf("%s, handlers %d, destructors %d, lock %s\n", how, handlers, destructors, is_free ? "free" : "held");
	handlers = destructors = 0;
}

// Blocks of a thread that gets the stack of one that was cancelled, with what is left there.
FUNCTION void *site_next_thread(volatile char *array, size_t size)
{
	void *block = malloc(size + (array[0] == 77 && array[1] == 78));

	STAY();
	return block;
}

static __attribute__((noipa)) void *next_thread(void *)
{
	volatile char array[512];

	array[0] = 1;
	free(site_next_thread(array, 24));
	pool_free(1, site_between(24));
	return nullptr;
}

static void cancel(struct site *site)
{
	pthread_t thread;
	void *result;

	is_inside = 0;
	pthread_create(&thread, nullptr, cancelled, site);
	while (!is_inside)
		usleep(1000);
	usleep(20000); // so that it sleeps there
	pthread_cancel(thread);
	pthread_join(thread, &result);
	pthread_create(&thread, nullptr, next_thread, nullptr);
	pthread_join(thread, nullptr);
	say(result == PTHREAD_CANCELED ? "cancelled" : "returned");
}

static void throw_through(struct site *site)
{
	const char *how = "returned";

	what = 2;
	try {
		leave(site);
	} catch (const own_exception &) {
		how = "caught";
	}
	what = 0;
	pool_free(1, site_between(24));
	say(how);
}

int main()
{
	const char *command;

	if (pipe(pipe_ends) != 0)
		return 1;
	say_ready();
	while ((command = next_command())) {
		const char *name = strchr(command, ' ');

		for (auto &site : sites) {
			if (!name || strcmp(name + 1, site.name) != 0)
				continue;
			if (strncmp(command, "work ", 5) == 0) {
				work(&site);
			} else if (strncmp(command, "finish ", 7) == 0) {
				for (void *block : site.kept)
					pool_free(1, block);
				puts("ok");
			} else if (strncmp(command, "cancel ", 7) == 0) {
				cancel(&site);
			} else if (strncmp(command, "throw ", 6) == 0) {
				throw_through(&site);
			}
		}
	}
	return 0;
}
