// SPDX-License-Identifier: Apache-2.0
// An allocator in which what heapsnap calls in a function's place, or beside it, changes other registers than the
// function does, and callers that know which that one changes (gcc's -fipa-ra; this file is compiled with it): mi_new
// and mi_malloc, free and malloc_usable_size. Built with VECTORS, mi_malloc changes those. Commands: "new", "new real"
// use mi_new; "old" gives blocks back that were made at the start. Answer: how many results were wrong.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

#define FUNCTION __attribute__((noinline, used, no_stack_protector))
enum { OLD = 4000, EACH = 500, ROUNDS = 20000, SIZE = 1 << 25, PIECE = 4096 };

static char memory[SIZE] __attribute__((aligned(64)));
static size_t used;
static struct piece {
	struct piece *next;
} * pieces;
static void *old[OLD];

static inline __attribute__((always_inline)) char *take(void)
{
	struct piece *piece = pieces;

	if (piece) {
		pieces = piece->next;
		return (char *)piece;
	}
	if (used + PIECE > SIZE)
		return NULL;
	used += PIECE;
	return memory + used - PIECE;
}

static inline __attribute__((always_inline)) void give(void *block)
{
	struct piece *piece = block;

	piece->next = pieces;
	pieces = piece;
}

FUNCTION void *malloc(size_t size) { return size <= PIECE ? take() : NULL; }

FUNCTION void __libc_free(void *block)
{
	if (block)
		give(block);
}

void free(void *block) __attribute__((alias("__libc_free")));

FUNCTION void *calloc(size_t count, size_t size)
{
	volatile char *block = malloc(count * size);

	for (size_t i = 0; block && i < count * size; i++)
		block[i] = 0;
	return (void *)block;
}

FUNCTION void *realloc(void *block, size_t size) { return block ? block : malloc(size); }

#define CHANGE_VECTORS()                                                                                                     \
	__asm__ volatile(                                                                                                    \
		"pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1; pxor %%xmm2, %%xmm2; pxor %%xmm3, %%xmm3; pxor %%xmm4, %%xmm4" :: \
			: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4")

FUNCTION size_t malloc_usable_size(void *block)
{
	(void)block;
	CHANGE_VECTORS();
	return PIECE;
}

FUNCTION void *mi_new(size_t size)
{
	(void)size;
	return take();
}

FUNCTION void *mi_malloc(size_t size)
{
	(void)size;
#ifdef VECTORS
	CHANGE_VECTORS();
#else
	__asm__ volatile(
		"xor %%ecx, %%ecx; xor %%esi, %%esi; xor %%r8, %%r8; xor %%r9, %%r9; xor %%r10, %%r10; xor %%r11, %%r11" ::
			: "rcx", "rsi", "r8", "r9", "r10", "r11");
#endif
	return take();
}

FUNCTION void mi_free(void *block) { give(block); }

FUNCTION static uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t *block = mi_new(16), sum = a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f;

	*block = sum;
	mi_free(block);
	return sum ^ (a * c) ^ (b * d) ^ (e * f);
}

FUNCTION static double mix_real(double a, double b, double c)
{
	double *block = mi_new(16);

	*block = a;
	mi_free(block);
	return a * 2 + b * 3 + c * 5;
}

FUNCTION static double mix_around_free(double a, double b, double c, void *block)
{
	__libc_free(block);
	return a * 2 + b * 3 + c * 5;
}

static unsigned work(const char *command)
{
	static uint64_t n, next;
	unsigned wrong = 0;

	if (strcmp(command, "old") == 0) {
		for (int i = 0; i < EACH && next < OLD; i++, next++) {
			double x = (double)next;

			wrong += mix_around_free(x, x + 1, x + 2, old[next]) != x * 2 + (x + 1) * 3 + (x + 2) * 5;
		}
		return wrong;
	}
	for (int i = 0; i < ROUNDS; i++, n++) {
		uint64_t a = n * 7 + 1, b = n ^ 0x55, c = n + 9, d = n * n, e = ~n, f = n << 3;
		double x = (double)n;

		if (strcmp(command, "new") == 0)
			wrong += mix(a, b, c, d, e, f) !=
				 ((a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f) ^ (a * c) ^ (b * d) ^ (e * f));
		else
			wrong += mix_real(x, x + 1, x + 2) != x * 2 + (x + 1) * 3 + (x + 2) * 5;
	}
	return wrong;
}

int main(void)
{
	const char *command;

	for (int i = 0; i < OLD; i++)
		old[i] = malloc(10);
	say_ready();
	while ((command = next_command()))
		printf("%u\n", work(command));
	return 0;
}
