// SPDX-License-Identifier: Apache-2.0
// What a malloc+free pair costs under a stack of known depth, and live blocks from many stacks. usage: pair FRAMES LIVE
//
// FRAMES: frames from _start to the caller of malloc, both included (at least 5). LIVE: blocks live all the time; each pair replaces one of them.
// Commands on standard input: "measure" replaces every block once, then prints nanoseconds for each pair, the median of the batches;
// "fill N" allocates N more blocks from 1,000 stacks, "drop" frees them; each prints "done".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES_OF_MAIN = 4, // _start, __libc_start_main, __libc_start_call_main, main
       BATCH = 100000, BATCHES = 31, BLOCK_SIZE = 64 };

#define STAY() __asm__ volatile("" ::: "memory") // no tail call

static void **live;
static size_t live_count;
static void **filled;
static size_t filled_count;
static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static __attribute__((noipa)) double measure(size_t depth)
{
	double batches[BATCHES], result;

	if (depth > 0) {
		result = measure(depth - 1);
		STAY();
		return result;
	}
	for (size_t i = 0; i < live_count; i++) {
		free(live[i]);
		live[i] = malloc(BLOCK_SIZE);
	}
	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = now();
		for (int i = 0; i < BATCH; i++) {
			size_t index = (size_t)(((next_random() >> 32) * live_count) >> 32);
			free(live[index]);
			live[index] = malloc(BLOCK_SIZE);
		}
		batches[batch] = (double)(now() - start) / BATCH;
	}
	qsort(batches, BATCHES, sizeof(*batches), compare);
	return batches[BATCHES / 2];
}

// 10 functions, called in an order that three decimal digits say: 1,000 stacks.
static void *walk(unsigned digits, int left, size_t size);

#define WALKER(digit)                                                                                                  \
	static __attribute__((noipa)) void *walk_##digit(unsigned digits, int left, size_t size)                       \
	{                                                                                                              \
		void *block = walk(digits, left, size);                                                                \
		STAY();                                                                                                \
		return block;                                                                                          \
	}
WALKER(0) WALKER(1) WALKER(2) WALKER(3) WALKER(4) WALKER(5) WALKER(6) WALKER(7) WALKER(8) WALKER(9)

static __attribute__((noipa)) void *walk(unsigned digits, int left, size_t size)
{
	static void *(*const walkers[])(unsigned, int, size_t) = { walk_0, walk_1, walk_2, walk_3, walk_4,
								   walk_5, walk_6, walk_7, walk_8, walk_9 };
	void *block = left ? walkers[digits % 10](digits / 10, left - 1, size) : malloc(size);

	STAY();
	return block;
}

int main(int argc, char **argv)
{
	static char output_buffer[4096], input_buffer[256];
	char line[64];
	size_t frames = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;

	live_count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	if (frames < FRAMES_OF_MAIN + 1 || live_count < 1) {
		fprintf(stderr, "usage: pair FRAMES LIVE\n");
		return 2;
	}
	setvbuf(stdout, output_buffer, _IOLBF, sizeof(output_buffer));
	setvbuf(stdin, input_buffer, _IOFBF, sizeof(input_buffer));
	live = calloc(live_count, sizeof(*live));
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "measure\n") == 0) {
			printf("%.3f\n", measure(frames - FRAMES_OF_MAIN - 1));
		} else if (strncmp(line, "fill ", 5) == 0) {
			size_t count = strtoul(line + 5, NULL, 10);
			filled = calloc(count, sizeof(*filled));
			for (filled_count = 0; filled_count < count; filled_count++)
				filled[filled_count] = walk((unsigned)(filled_count % 1000), 3, 16 + next_random() % 300);
			puts("done");
		} else if (strcmp(line, "drop\n") == 0) {
			while (filled_count)
				free(filled[--filled_count]);
			free(filled);
			puts("done");
		}
	}
	return 0;
}
