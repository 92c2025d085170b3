// SPDX-License-Identifier: Apache-2.0
// One program, linked in many ways: allocates through every function that all C libraries have, in main and in threads,
// at the end of a known chain of calls, and knows what is live. It uses nothing else of its library between main and
// the allocator.
//   begin   starts the threads
//   go      one round in main and in each thread; prints "<site> <objects> <bytes>" of what is live, for each site,
//           then "end"
//   check   the content of every live block: "ok"
//   free    frees all of them: "freed"
//   series  five threads, one after the other, that allocate and free: "ended". They get each other's memory
//   handle  allocates in a signal handler that has interrupted main in a function of its own: "handled"
// usage: linked THREADS
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "commands.h"

#ifdef EXPORTED // the names must be in .dynsym
#define FRAME __attribute__((noipa))
#else
#define FRAME static __attribute__((noipa))
#endif
#define STAY() __asm__ volatile("" ::: "memory") // no tail call

#define SITES(X)                                                                                                       \
	X(site_malloc)                                                                                                 \
	X(site_calloc)                                                                                                 \
	X(site_realloc_new)                                                                                            \
	X(site_realloc_grow)                                                                                           \
	X(site_aligned_alloc)                                                                                          \
	X(site_posix_memalign)                                                                                         \
	X(site_in_handler)                                                                                             \
	X(site_freed)

enum site {
#define X(name) SITE_##name,
	SITES(X)
#undef X
		SITE_COUNT
};

static const char *const site_names[] = {
#define X(name) #name,
	SITES(X)
#undef X
};

enum { THREADS_MAX = 16, ROUNDS_MAX = 200, KEPT_MAX = ROUNDS_MAX * SITE_COUNT };

struct block {
	unsigned char *address;
	size_t size;
	enum site site;
};

struct worker {
	struct block kept[KEPT_MAX];
	unsigned count;
};

static struct worker workers[THREADS_MAX + 1]; // main is the last
static int thread_count;
static pthread_barrier_t barrier;

static void keep(struct worker *worker, void *address, size_t size, enum site site)
{
	if (!address || worker->count == KEPT_MAX)
		abort();
	memset(address, (int)(size & 0xff), size);
	worker->kept[worker->count++] = (struct block){ address, size, site };
}

FRAME void *site_malloc(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}

FRAME void *site_calloc(size_t size)
{
	unsigned char *block = calloc(2, size / 2);
	STAY();
	for (size_t i = 0; block && i < size / 2 * 2; i++)
		if (block[i])
			abort();
	return block;
}

FRAME void *site_realloc_new(size_t size)
{
	void *block = realloc(NULL, size);
	STAY();
	return block;
}

FRAME void *site_realloc_grow(void *block, size_t size)
{
	block = realloc(block, size);
	STAY();
	return block;
}

FRAME void *site_aligned_alloc(size_t size)
{
	void *block = aligned_alloc(64, size);
	STAY();
	if ((uintptr_t)block % 64)
		abort();
	return block;
}

FRAME void *site_posix_memalign(size_t size)
{
	void *block = NULL;
	if (posix_memalign(&block, 256, size) || (uintptr_t)block % 256)
		abort();
	STAY();
	return block;
}

FRAME void *site_freed(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}

FRAME void all_sites(struct worker *worker)
{
	size_t size = 32 + 16 * (worker->count % 50);
	void *block;

	keep(worker, site_malloc(size), size, SITE_site_malloc);
	keep(worker, site_calloc(size), size, SITE_site_calloc);
	keep(worker, site_realloc_new(size), size, SITE_site_realloc_new);
	block = site_realloc_new(size);
	if (!block)
		abort();
	memset(block, 0x5a, size);
	block = site_realloc_grow(block, 100 * size);
	for (size_t i = 0; i < size; i++)
		if (((unsigned char *)block)[i] != 0x5a)
			abort();
	keep(worker, block, 100 * size, SITE_site_realloc_grow);
	keep(worker, site_aligned_alloc(size), size, SITE_site_aligned_alloc);
	keep(worker, site_posix_memalign(size), size, SITE_site_posix_memalign);
	free(site_freed(size));
	STAY();
}

FRAME void middle(struct worker *worker, int depth)
{
	if (depth)
		middle(worker, depth - 1);
	else
		all_sites(worker);
	STAY();
}

FRAME void from_main(void)
{
	middle(&workers[THREADS_MAX], 5);
	STAY();
}

FRAME void *thread_entry(void *argument)
{
	struct worker *worker = argument;

	pthread_barrier_wait(&barrier);
	for (;;) {
		pthread_barrier_wait(&barrier); // begins a round
		middle(worker, 5);
		pthread_barrier_wait(&barrier); // ends it
	}
	return NULL;
}

FRAME void *short_life(void *argument)
{
	free(site_freed(100));
	STAY();
	return argument;
}

static void series(void)
{
	pthread_t thread;

	for (int i = 0; i < 5; i++)
		if (pthread_create(&thread, NULL, short_life, NULL) != 0 || pthread_join(thread, NULL) != 0)
			abort();
	puts("ended");
}

FRAME void *site_in_handler(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}

FRAME void on_signal(int number)
{
	(void)number;
	keep(&workers[THREADS_MAX], site_in_handler(320), 320, SITE_site_in_handler);
	STAY();
}

// The call is made here, not in the library: the interrupted function has unwind information whatever the library has.
FRAME void interrupted(void)
{
	long result = SYS_tgkill;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"((long)getpid()), "S"((long)getpid()), "d"((long)SIGUSR1)
			 : "rcx", "r11", "memory");
	if (result != 0)
		abort();
}

FRAME void handle(void)
{
	signal(SIGUSR1, on_signal);
	interrupted();
	puts("handled");
}

static void print_truth(void)
{
	size_t objects[SITE_COUNT] = { 0 }, bytes[SITE_COUNT] = { 0 };

	for (int i = 0; i <= THREADS_MAX; i++) {
		for (unsigned j = 0; j < workers[i].count; j++) {
			objects[workers[i].kept[j].site]++;
			bytes[workers[i].kept[j].site] += workers[i].kept[j].size;
		}
	}
	for (int i = 0; i < SITE_COUNT; i++)
		printf("%s %zu %zu\n", site_names[i], objects[i], bytes[i]);
	puts("end");
}

static void check_blocks(void)
{
	for (int i = 0; i <= THREADS_MAX; i++)
		for (unsigned j = 0; j < workers[i].count; j++)
			for (size_t k = 0; k < workers[i].kept[j].size; k++)
				if (workers[i].kept[j].address[k] != (workers[i].kept[j].size & 0xff))
					abort();
	puts("ok");
}

static void free_blocks(void)
{
	for (int i = 0; i <= THREADS_MAX; i++) {
		for (unsigned j = 0; j < workers[i].count; j++)
			free(workers[i].kept[j].address);
		workers[i].count = 0;
	}
	puts("freed");
}

static void begin(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, (unsigned)thread_count + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < thread_count; i++) {
		static _Alignas(64) char given[THREADS_MAX][65536];

		if (i % 3 == 2 && pthread_attr_setstack(&attributes, given[i], sizeof(given[i])) != 0)
			abort();
		if (pthread_create(&thread, &attributes, thread_entry, &workers[i]) != 0)
			abort();
		if (i % 3 == 2) {
			pthread_attr_init(&attributes);
			pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		}
	}
	pthread_barrier_wait(&barrier); // all run
	puts("begun");
}

FRAME void go(void)
{
	from_main();
	if (thread_count) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	STAY();
}

int main(int argc, char **argv)
{
	const char *command;

	thread_count = argc > 1 ? atoi(argv[1]) : 0;
	if (thread_count > THREADS_MAX)
		return 2;
	say_ready();
	while ((command = next_command())) {
		if (command[0] == 'b') {
			begin();
		} else if (command[0] == 'g') {
			go();
			print_truth();
		} else if (command[0] == 'c') {
			check_blocks();
		} else if (command[0] == 'f') {
			free_blocks();
		} else if (command[0] == 's') {
			series();
		} else if (command[0] == 'h') {
			handle();
		} else {
			return 2;
		}
	}
	return 0;
}
