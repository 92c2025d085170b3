// SPDX-License-Identifier: Apache-2.0
// Pictures written as PNG and read again, by code that others wrote (libstb): a program to be linked statically with
// musl. "work N" on standard input makes N pictures in each of two threads, checks that they come back, and prints the
// sum of all bytes written.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_ONLY_PNG
#include <stb_image.h>
#include <stb_image_write.h>

enum { WIDTH = 96, HEIGHT = 64, CHANNELS = 3, THREADS = 2 };

struct file {
	unsigned char *bytes;
	size_t size;
};

struct task {
	unsigned seed, count;
	uint64_t sum;
	int wrong;
};

static void append(void *context, void *data, int size)
{
	struct file *file = context;

	file->bytes = realloc(file->bytes, file->size + (size_t)size);
	memcpy(file->bytes + file->size, data, (size_t)size);
	file->size += (size_t)size;
}

static void make_picture(struct task *task, unsigned number)
{
	unsigned char *pixels = malloc(WIDTH * HEIGHT * CHANNELS), *again;
	struct file file = { 0 };
	int width, height, channels;

	for (size_t i = 0; i < WIDTH * HEIGHT * CHANNELS; i++)
		pixels[i] = (unsigned char)(i / CHANNELS * (task->seed + number) + i % 7 * number);
	stbi_write_png_to_func(append, &file, WIDTH, HEIGHT, CHANNELS, pixels, 0);
	again = stbi_load_from_memory(file.bytes, (int)file.size, &width, &height, &channels, CHANNELS);
	if (!again || width != WIDTH || height != HEIGHT || memcmp(again, pixels, WIDTH * HEIGHT * CHANNELS) != 0)
		task->wrong = 1;
	for (size_t i = 0; i < file.size; i++)
		task->sum = task->sum * 31 + file.bytes[i];
	free(again);
	free(pixels);
	free(file.bytes);
}

static void *run(void *argument)
{
	struct task *task = argument;

	for (unsigned i = 0; i < task->count; i++)
		make_picture(task, i);
	return NULL;
}

int main(void)
{
	unsigned count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (scanf(" work %u", &count) == 1) {
		struct task tasks[THREADS] = { 0 };
		pthread_t threads[THREADS];

		for (unsigned i = 0; i < THREADS; i++) {
			tasks[i] = (struct task){ .seed = i + 1, .count = count };
			if (pthread_create(&threads[i], NULL, run, &tasks[i]))
				return 2;
		}
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		printf("%s %016llx %016llx\n", tasks[0].wrong || tasks[1].wrong ? "wrong" : "right",
		       (unsigned long long)tasks[0].sum, (unsigned long long)tasks[1].sum);
	}
	return 0;
}
