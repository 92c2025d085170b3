// SPDX-License-Identifier: Apache-2.0
// Buffers that grow by realloc, as vectors and strings do. usage: growth FRAMES
//
// 1,000 buffers; a random one grows by half, and begins anew when it has 16 KiB. Its first and last words are checked
// after each step. Commands: "measure MS" answers "MEDIAN MEAN STEPS", nanoseconds for a step: a realloc, now and then
// a free and a malloc.
#include "commands.h"
#include "workload.h"

enum { BUFFERS = 1000, BATCH = 500, FIRST_WORDS = 2, MOST_WORDS = 2048 };

static struct buffer {
	uint64_t *words;
	size_t count;
} buffers[BUFFERS];

static struct random_numbers numbers = { UINT64_C(0x9e3779b97f4a7c15) };
static uint64_t stop_at;
static struct batches batches;
static size_t steps;

static void mark(struct buffer *buffer)
{
	buffer->words[0] = buffer->count;
	buffer->words[buffer->count - 1] = buffer->count;
}

static inline __attribute__((always_inline)) void begin_anew(struct buffer *buffer)
{
	free(buffer->words);
	buffer->count = FIRST_WORDS;
	buffer->words = malloc(FIRST_WORDS * sizeof(*buffer->words));
	if (!buffer->words)
		fail("no memory");
	mark(buffer);
}

static inline __attribute__((always_inline)) void grow(struct buffer *buffer)
{
	size_t old = buffer->count;

	if (old + old / 2 > MOST_WORDS) {
		begin_anew(buffer);
		return;
	}
	buffer->count = old + old / 2;
	buffer->words = realloc(buffer->words, buffer->count * sizeof(*buffer->words));
	if (!buffer->words)
		fail("no memory");
	if (buffer->words[0] != old || buffer->words[old - 1] != old)
		fail("realloc lost what was in the block");
	mark(buffer);
}

static __attribute__((noipa)) void measure(void *unused)
{
	uint64_t start, time;

	(void)unused;
	start = now_ns();
	do { // one batch at least, also when the time was over before this thread began
		for (size_t i = 0; i < BATCH; i++)
			grow(&buffers[random_below(&numbers, BUFFERS)]);
		time = now_ns();
		add_batch(&batches, (double)(time - start) / BATCH);
		steps += BATCH;
		start = time;
	} while (start < stop_at);
}

int main(int argc, char **argv)
{
	size_t frames = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	const char *command;

	if (frames < FRAMES_OF_MAIN + 1) {
		fprintf(stderr, "usage: growth FRAMES\n");
		return 2;
	}
	for (size_t i = 0; i < BUFFERS; i++)
		begin_anew(&buffers[i]);
	say_ready();
	while ((command = next_command())) {
		uint64_t start = now_ns();

		if (strncmp(command, "measure ", 8) != 0)
			continue;
		stop_at = start + strtoul(command + 8, NULL, 10) * 1000000;
		batches.count = 0;
		steps = 0;
		call_at_depth(frames, FRAMES_OF_MAIN, measure, NULL);
		printf("%.3f %.3f %zu\n", median_of(&batches), (double)(now_ns() - start) / (double)steps, steps);
	}
	return 0;
}
