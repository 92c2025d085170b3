// SPDX-License-Identifier: Apache-2.0
// What a malloc+free pair costs under a stack of known depth. usage: pair FRAMES LIVE THREADS SIZE
//
// FRAMES: frames from the first of the thread to the caller of malloc, both included (at least 5). LIVE: blocks live
// all the time, shared out among the threads; each pair replaces one of them. SIZE: bytes of each block; 0: random, 16
// to 511, so that the freed block is seldom the one that the next malloc gives. Each block holds its serial number, so
// every pair can be checked. Commands on standard input: "replace"     replaces every block once: "done" "measure MS"
// makes pairs for so many milliseconds in each thread: "MEDIAN MEAN PAIRS", nanoseconds for a pair in the thread that
// makes it,
//               the median of the batches of the first thread and the mean of all threads, by the clock on the wall
// "pairs N"     makes N pairs in the first thread: a checksum of the serial numbers freed, which depends on N, LIVE and
// SIZE alone "steps N"     the same with a breakpoint before each pair and one behind the last: for a tracer (steps.c),
// without one it is the end
#include "commands.h"
#include "workload.h"
#include <pthread.h>
#include <semaphore.h>

enum {
	BATCH = 500, // short, so that most are not interrupted by what else the machine does
	THREADS_MAX = 64
};

enum work { REPLACE, MEASURE, PAIRS, STEPS, END };

struct worker {
	uint64_t **live;
	size_t count;
	struct random_numbers random;
	uint64_t serial; // of the last block made
	uint64_t freed;  // sum of the serial numbers of freed blocks
	uint64_t checksum;
	size_t pairs; // of this measurement
	sem_t begin, done;
	struct batches batches;
};

static struct worker workers[THREADS_MAX];
static size_t thread_count, frames, block_size;
static enum work work;
static uint64_t work_amount; // pairs, or when to stop

static inline __attribute__((always_inline)) uint64_t *make_block(struct worker *worker)
{
	uint64_t *block = malloc(block_size ? block_size : 16 + random_below(&worker->random, 496));

	if (!block)
		fail("no memory");
	*block = ++worker->serial;
	return block;
}

static inline __attribute__((always_inline)) void replace_one(struct worker *worker, size_t index)
{
	uint64_t *block = worker->live[index];

	worker->freed += *block;
	worker->checksum = worker->checksum * 31 + *block;
	free(block);
	worker->live[index] = make_block(worker);
}

static inline __attribute__((always_inline)) void make_pairs(struct worker *worker, size_t count)
{
	for (size_t i = 0; i < count; i++)
		replace_one(worker, random_below(&worker->random, worker->count));
}

// The calls of malloc and free are in this frame, the one that FRAMES counts.
static __attribute__((noipa)) void do_work(void *argument)
{
	struct worker *worker = argument;
	uint64_t start, time;

	switch (work) {
	case REPLACE:
		for (size_t i = 0; i < worker->count; i++)
			replace_one(worker, i);
		break;
	case MEASURE:
		start = now_ns();
		do { // one batch at least, also when the time was over before this thread began
			make_pairs(worker, BATCH);
			time = now_ns();
			add_batch(&worker->batches, (double)(time - start) / BATCH);
			worker->pairs += BATCH;
			start = time;
		} while (start < work_amount);
		break;
	case PAIRS:
		make_pairs(worker, work_amount);
		break;
	case STEPS:
		for (size_t i = 0; i < work_amount; i++) {
			__asm__ volatile("int3" ::: "memory");
			make_pairs(worker, 1);
		}
		__asm__ volatile("int3" ::: "memory");
		break;
	case END:
		break;
	}
}

static void *run_thread(void *argument)
{
	struct worker *worker = argument;

	for (;;) {
		sem_wait(&worker->begin);
		if (work == END)
			return NULL;
		call_at_depth(frames, FRAMES_OF_THREAD, do_work, worker);
		sem_post(&worker->done);
	}
}

// Each block that was made was freed or is there.
static void check_blocks(const struct worker *worker)
{
	uint64_t live = 0;

	for (size_t i = 0; i < worker->count; i++)
		live += *worker->live[i];
	if (worker->freed + live != worker->serial * (worker->serial + 1) / 2)
		fail("a block was lost");
}

static void allocate(struct worker *worker, size_t count)
{
	worker->live = calloc(count, sizeof(*worker->live));
	worker->count = count;
	worker->random.state = UINT64_C(0x9e3779b97f4a7c15);
	sem_init(&worker->begin, 0, 0);
	sem_init(&worker->done, 0, 0);
	for (size_t i = 0; i < count; i++)
		worker->live[i] = make_block(worker);
}

// Lets the first `count` threads do it; the first of them is the caller, which then calls do_work.
static void begin(enum work what, size_t count)
{
	work = what;
	for (size_t i = 0; i < count; i++) {
		workers[i].batches.count = 0;
		workers[i].pairs = 0;
		if (i > 0)
			sem_post(&workers[i].begin);
	}
}

static void finish(size_t count)
{
	for (size_t i = 1; i < count; i++)
		sem_wait(&workers[i].done);
	for (size_t i = 0; i < count; i++)
		check_blocks(&workers[i]);
}

static void print_result(uint64_t elapsed)
{
	size_t pairs = 0;

	for (size_t i = 0; i < thread_count; i++)
		pairs += workers[i].pairs;
	printf("%.3f %.3f %zu\n", median_of(&workers[0].batches),
	       (double)elapsed * (double)thread_count / (double)pairs, pairs);
}

int main(int argc, char **argv)
{
	size_t live = argc == 5 ? strtoul(argv[2], NULL, 10) : 0;
	const char *command;
	pthread_t thread;

	frames = argc == 5 ? strtoul(argv[1], NULL, 10) : 0;
	thread_count = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
	block_size = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
	if (frames < FRAMES_OF_MAIN + 1 || thread_count < 1 || thread_count > THREADS_MAX || live < thread_count ||
	    (block_size && block_size < sizeof(uint64_t))) {
		fprintf(stderr, "usage: pair FRAMES LIVE THREADS SIZE\n");
		return 2;
	}
	for (size_t i = 0; i < thread_count; i++) {
		allocate(&workers[i], live / thread_count);
		if (i > 0 && pthread_create(&thread, NULL, run_thread, &workers[i]))
			fail("no thread");
	}
	say_ready();
	while ((command = next_command())) {
		uint64_t start = now_ns(), number = strtoul(command + strcspn(command, " "), NULL, 10);

		if (strcmp(command, "replace") == 0) {
			begin(REPLACE, thread_count);
			call_at_depth(frames, FRAMES_OF_MAIN, do_work, &workers[0]);
			finish(thread_count);
			puts("done");
		} else if (strncmp(command, "measure ", 8) == 0) {
			work_amount = start + number * 1000000;
			begin(MEASURE, thread_count);
			call_at_depth(frames, FRAMES_OF_MAIN, do_work, &workers[0]);
			finish(thread_count);
			print_result(now_ns() - start);
		} else if (strncmp(command, "pairs ", 6) == 0 || strncmp(command, "steps ", 6) == 0) {
			workers[0].checksum = 0;
			work_amount = number;
			begin(command[0] == 'p' ? PAIRS : STEPS, 1);
			call_at_depth(frames, FRAMES_OF_MAIN, do_work, &workers[0]);
			finish(1);
			printf("%016llx\n", (unsigned long long)workers[0].checksum);
		}
	}
	work = END;
	for (size_t i = 1; i < thread_count; i++)
		sem_post(&workers[i].begin);
	return 0;
}
