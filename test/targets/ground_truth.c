// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: one program, whose phases know each other's counts.
// A program that knows what is live, site by site. usage: ground_truth THREADS SEED PLUGIN.so
//
// Commands on standard input, one line each; each is answered by a line (or lines) on standard output:
//   noise   all threads allocate and free at full speed until the next "go": attach happens in the middle of it
//   go      noise ends and is freed; each thread allocates through the sites below, frees and reallocates blocks of its
//           neighbour, and stops; what is live is printed, one JSON object for each site, then {"end":...}
//   finish  checks the contents of every live block, frees all, prints "ok"
// Ends with 0 at end of input.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE   static __attribute__((noipa))     // never inlined, cloned or merged: the name must be on the stack
#define STAY() __asm__ volatile("" ::: "memory") // after the call, so that it is no tail call

#define SITES(X)                                                                                                       \
	X(site_malloc_a)                                                                                               \
	X(site_malloc_zero)                                                                                            \
	X(site_malloc_mapped)                                                                                          \
	X(site_calloc_b)                                                                                               \
	X(site_realloc_seed)                                                                                           \
	X(site_realloc_null)                                                                                           \
	X(site_realloc_grow_in_place)                                                                                  \
	X(site_realloc_move)                                                                                           \
	X(site_realloc_shrink)                                                                                         \
	X(site_realloc_fail)                                                                                           \
	X(site_realloc_zero)                                                                                           \
	X(site_realloc_foreign)                                                                                        \
	X(site_reallocarray)                                                                                           \
	X(site_memalign)                                                                                               \
	X(site_posix_memalign)                                                                                         \
	X(site_aligned_alloc)                                                                                          \
	X(site_valloc)                                                                                                 \
	X(site_pvalloc)                                                                                                \
	X(site_recursive)                                                                                              \
	X(site_through_pointer)                                                                                        \
	X(truth_library_allocate)                                                                                      \
	X(truth_plugin_allocate)                                                                                       \
	X(noise_allocate)                                                                                              \
	X(noise_reallocate)

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

enum { THREADS_MAX = 64, BLOCKS_MAX = 2048, NOISE_BLOCKS = 64 };

struct block {
	unsigned char *address; // NULL = freed
	size_t size;            // bytes asked for
	enum site site;
};

struct worker {
	struct block blocks[BLOCKS_MAX];
	size_t count;
	uint64_t calls[SITE_COUNT]; // successful allocations
	uint64_t random;
	void *noise[NOISE_BLOCKS];
};

enum command { COMMAND_NOISE, COMMAND_ALLOCATE, COMMAND_EXCHANGE, COMMAND_CHECK, COMMAND_EXIT };

static struct worker workers[THREADS_MAX];
static size_t worker_count;
static pthread_barrier_t start_barrier, end_barrier;
static enum command command;
static atomic_bool noise_ends;
static atomic_ulong noise_rounds;

void *truth_library_allocate(size_t size);
static void *(*plugin_allocate)(size_t size);
static void *(*volatile allocate_pointer)(size_t size) = malloc;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "ground_truth: %s\n", what);
	abort();
}

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static size_t random_between(struct worker *worker, size_t low, size_t high)
{
	return low + next_random(worker) % (high - low + 1);
}

SITE void *site_malloc_a(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}

SITE void *site_malloc_zero(void)
{
	void *block = malloc(0);
	STAY();
	return block;
}

SITE void *site_malloc_mapped(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}

SITE void *site_calloc_b(size_t count, size_t size)
{
	unsigned char *block = calloc(count, size);
	STAY();
	for (size_t i = 0; block && i < count * size; i++)
		if (block[i])
			fail("calloc returned memory that is not zero");
	return block;
}

SITE void *site_realloc_seed(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}

SITE void *site_realloc_null(size_t size)
{
	void *block = realloc(NULL, size);
	STAY();
	return block;
}

#define REALLOC_SITE(name)                                                                                             \
	SITE void *name(void *old, size_t size)                                                                        \
	{                                                                                                              \
		void *block = realloc(old, size);                                                                      \
		STAY();                                                                                                \
		return block;                                                                                          \
	}

REALLOC_SITE(site_realloc_grow_in_place)
REALLOC_SITE(site_realloc_move)
REALLOC_SITE(site_realloc_shrink)
REALLOC_SITE(site_realloc_fail)
REALLOC_SITE(site_realloc_zero)
REALLOC_SITE(site_realloc_foreign)
REALLOC_SITE(noise_reallocate)

SITE void *site_reallocarray(void *old, size_t count, size_t size)
{
	void *block = reallocarray(old, count, size);
	STAY();
	return block;
}

SITE void *site_memalign(size_t alignment, size_t size)
{
	void *block = memalign(alignment, size);
	STAY();
	return block;
}

SITE void *site_posix_memalign(size_t alignment, size_t size)
{
	void *block = NULL;
	if (posix_memalign(&block, alignment, size))
		block = NULL;
	STAY();
	return block;
}

SITE void *site_aligned_alloc(size_t alignment, size_t size)
{
	void *block = aligned_alloc(alignment, size);
	STAY();
	return block;
}

SITE void *site_valloc(size_t size)
{
	void *block = valloc(size);
	STAY();
	return block;
}

SITE void *site_pvalloc(size_t size)
{
	void *block = pvalloc(size);
	STAY();
	return block;
}

SITE void *site_recursive(size_t size, size_t depth)
{
	void *block = depth ? site_recursive(size, depth - 1) : malloc(size);
	STAY();
	return block;
}

SITE void *site_through_pointer(size_t size)
{
	void *block = allocate_pointer(size);
	STAY();
	return block;
}

SITE void *noise_allocate(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}

static unsigned char pattern(const struct block *block, size_t i)
{
	return (unsigned char)(((uintptr_t)block->address >> 4) + block->size + i * 7);
}

static void fill(struct block *block)
{
	for (size_t i = 0; i < block->size; i++)
		block->address[i] = pattern(block, i);
}

static void check(const struct block *block)
{
	for (size_t i = 0; i < block->size; i++)
		if (block->address[i] != pattern(block, i))
			fail("a block does not hold what was written into it");
}

static void keep(struct worker *worker, enum site site, void *address, size_t size)
{
	struct block *block = &worker->blocks[worker->count++];

	if (!address)
		fail("an allocation failed");
	if (worker->count > BLOCKS_MAX)
		fail("too many blocks");
	*block = (struct block){ address, size, site };
	worker->calls[site]++;
	fill(block);
}

static void *seed(struct worker *worker, size_t size)
{
	void *block = site_realloc_seed(size);

	if (!block)
		fail("an allocation failed");
	memset(block, 0x5a, size);
	worker->calls[SITE_site_realloc_seed]++;
	return block;
}

static void allocate_simple(struct worker *worker)
{
	static const size_t alignments[] = { 16, 32, 64, 256, 4096, 65536 };
	size_t size = random_between(worker, 1, 1500);
	size_t alignment = alignments[random_between(worker, 0, 5)];

	keep(worker, SITE_site_malloc_a, site_malloc_a(size), size);
	keep(worker, SITE_site_malloc_zero, site_malloc_zero(), 0);
	keep(worker, SITE_site_calloc_b, site_calloc_b(random_between(worker, 3, 3), size), 3 * size);
	keep(worker, SITE_site_realloc_null, site_realloc_null(size), size);
	keep(worker, SITE_site_memalign, site_memalign(alignment, size), size);
	keep(worker, SITE_site_posix_memalign, site_posix_memalign(alignment, size), size);
	keep(worker, SITE_site_aligned_alloc, site_aligned_alloc(alignment, size), size);
	keep(worker, SITE_site_valloc, site_valloc(size), size);
	keep(worker, SITE_site_pvalloc, site_pvalloc(size), size);
	keep(worker, SITE_site_recursive, site_recursive(size, random_between(worker, 0, 30)), size);
	keep(worker, SITE_site_through_pointer, site_through_pointer(size), size);
	keep(worker, SITE_truth_library_allocate, truth_library_allocate(size), size);
	keep(worker, SITE_truth_plugin_allocate, plugin_allocate(size), size);
}

static void reallocate(struct worker *worker)
{
	volatile size_t too_much = SIZE_MAX / 4;
	size_t size = random_between(worker, 24, 900);
	void *old, *block;

	old = seed(worker, size);
	size_t usable = malloc_usable_size(old);
	if ((block = site_realloc_grow_in_place(old, usable)) != old)
		fail("realloc to the usable size moved the block");
	keep(worker, SITE_site_realloc_grow_in_place, block, usable);

	old = seed(worker, size);
	keep(worker, SITE_site_malloc_a, site_malloc_a(40), 40); // in the way
	keep(worker, SITE_site_realloc_move, site_realloc_move(old, size + 60000), size + 60000);

	keep(worker, SITE_site_realloc_shrink, site_realloc_shrink(seed(worker, size + 3000), size), size);

	old = seed(worker, size);
	if (site_realloc_fail(old, too_much))
		fail("realloc to a quarter of the address space did not fail");
	worker->calls[SITE_site_realloc_seed]--; // keep counts it again
	keep(worker, SITE_site_realloc_seed, old, size);

	if (site_realloc_zero(seed(worker, size), 0))
		fail("realloc to 0 bytes did not free");

	size_t count = random_between(worker, 2, 30);
	keep(worker, SITE_site_reallocarray, site_reallocarray(seed(worker, size), count, size), count * size);
}

static void allocate(struct worker *worker)
{
	size_t rounds = random_between(worker, 10, 60);

	for (size_t i = 0; i < rounds; i++) {
		allocate_simple(worker);
		if (i % 2 == 0)
			reallocate(worker);
		if (i % 16 == 0)
			keep(worker, SITE_site_malloc_mapped, site_malloc_mapped(300000 + i), 300000 + i);
	}
}

// Frees and reallocates blocks that the neighbour allocated, and writes it into the neighbour's list.
static void exchange(struct worker *self, struct worker *neighbour)
{
	for (size_t i = 0; i < neighbour->count; i++) {
		struct block *block = &neighbour->blocks[i];

		if (i % 3 == 0) {
			check(block);
			free(block->address);
			block->address = NULL;
		} else if (i % 11 == 0) {
			size_t size = random_between(self, 1, 4000);

			block->address = site_realloc_foreign(block->address, size);
			if (!block->address)
				fail("an allocation failed");
			block->size = size;
			block->site = SITE_site_realloc_foreign;
			self->calls[SITE_site_realloc_foreign]++;
			fill(block);
		}
	}
}

static void check_and_free(struct worker *worker)
{
	for (size_t i = 0; i < worker->count; i++) {
		if (!worker->blocks[i].address)
			continue;
		check(&worker->blocks[i]);
		free(worker->blocks[i].address);
	}
	worker->count = 0;
}

static void make_noise(struct worker *worker)
{
	do {
		for (size_t i = 0; i < NOISE_BLOCKS; i++) {
			size_t size = random_between(worker, 1, 700);

			if (worker->noise[i] && size % 4 == 0) {
				worker->noise[i] = noise_reallocate(worker->noise[i], size);
			} else {
				free(worker->noise[i]);
				worker->noise[i] = noise_allocate(size);
			}
		}
		atomic_fetch_add_explicit(&noise_rounds, 1, memory_order_relaxed);
	} while (!atomic_load_explicit(&noise_ends, memory_order_relaxed));

	for (size_t i = 0; i < NOISE_BLOCKS; i++) {
		free(worker->noise[i]);
		worker->noise[i] = NULL;
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	size_t index = (size_t)(worker - workers);

	pthread_barrier_wait(&end_barrier); // started
	for (;;) {
		pthread_barrier_wait(&start_barrier);
		switch (command) {
		case COMMAND_NOISE:
			make_noise(worker);
			break;
		case COMMAND_ALLOCATE:
			allocate(worker);
			break;
		case COMMAND_EXCHANGE:
			exchange(worker, &workers[(index + 1) % worker_count]);
			break;
		case COMMAND_CHECK:
			check_and_free(worker);
			break;
		case COMMAND_EXIT:
			return NULL;
		}
		pthread_barrier_wait(&end_barrier);
	}
}

static void run(enum command what)
{
	command = what;
	pthread_barrier_wait(&start_barrier);
	pthread_barrier_wait(&end_barrier);
}

static void print_truth(void)
{
	for (int site = 0; site < SITE_COUNT; site++) {
		uint64_t objects = 0, bytes = 0, calls = 0;

		for (size_t i = 0; i < worker_count; i++) {
			calls += workers[i].calls[site];
			for (size_t j = 0; j < workers[i].count; j++) {
				const struct block *block = &workers[i].blocks[j];

				if (!block->address || (int)block->site != site)
					continue;
				objects++;
				bytes += block->size;
			}
		}
		printf("{\"site\": \"%s\", \"objects\": %lu, \"bytes\": %lu, \"calls\": %lu}\n", site_names[site],
		       objects, bytes, calls);
	}
	printf("{\"end\": true, \"threads\": %zu, \"noise_rounds\": %lu}\n", worker_count, atomic_load(&noise_rounds));
	fflush(stdout);
}

// Longer than 60 lines: the program's phases in their order.
int main(int argc, char **argv)
{
	static char output_buffer[1 << 16];
	static pthread_t threads[THREADS_MAX];
	char line[64];
	bool noisy = false;

	setvbuf(stdout, output_buffer, _IOFBF, sizeof(output_buffer));
	static char input_buffer[256];
	setvbuf(stdin, input_buffer, _IOFBF, sizeof(input_buffer));
	if (argc != 4 || (worker_count = strtoul(argv[1], NULL, 10)) < 1 || worker_count > THREADS_MAX)
		fail("usage: ground_truth THREADS SEED PLUGIN.so");
	pthread_barrier_init(&start_barrier, NULL, (unsigned)worker_count + 1);
	pthread_barrier_init(&end_barrier, NULL, (unsigned)worker_count + 1);
	for (size_t i = 0; i < worker_count; i++) {
		workers[i].random = (strtoul(argv[2], NULL, 10) * THREADS_MAX + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			fail("cannot create a thread");
	}
	pthread_barrier_wait(&end_barrier); // a thread that starts has all signals blocked for a moment
	puts("ready");
	fflush(stdout);

	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "noise\n") == 0) {
			noisy = true;
			command = COMMAND_NOISE;
			pthread_barrier_wait(&start_barrier);
			while (!atomic_load(&noise_rounds))
				;
			puts("noisy");
			fflush(stdout);
		} else if (strcmp(line, "go\n") == 0) {
			if (!plugin_allocate) {
				void *plugin = dlopen(argv[3], RTLD_NOW);
				if (!plugin)
					fail(dlerror());
				*(void **)&plugin_allocate = dlsym(plugin, "truth_plugin_allocate");
				if (!plugin_allocate)
					fail(dlerror());
			}
			if (noisy) {
				atomic_store(&noise_ends, true);
				pthread_barrier_wait(&end_barrier);
				noisy = false;
			}
			run(COMMAND_ALLOCATE);
			run(COMMAND_EXCHANGE);
			print_truth();
		} else if (strcmp(line, "finish\n") == 0) {
			run(COMMAND_CHECK);
			puts("ok");
			fflush(stdout);
		}
	}
	if (noisy) {
		atomic_store(&noise_ends, true);
		pthread_barrier_wait(&end_barrier);
	}
	command = COMMAND_EXIT;
	pthread_barrier_wait(&start_barrier);
	for (size_t i = 0; i < worker_count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
