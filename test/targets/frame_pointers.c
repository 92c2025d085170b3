// SPDX-License-Identifier: Apache-2.0
// A program with frame pointers, whose allocators walk their chain, as heap profilers of such programs do: an allocator
// of its own, and a pool. Each walk must come to main, past the caller. Commands: "malloc", "pool". Answer: how many
// walks did not come to main, and how many not past the caller.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

#define FUNCTION __attribute__((noinline, used, no_stack_protector))
enum { SIZE = 1 << 22, PIECE = 4096, ROUNDS = 3000, STEPS_MAX = 64, CALLER_MAX = 300 }; // bytes of a caller's code

static char memory[SIZE] __attribute__((aligned(64)));
static size_t used;
static struct piece {
	struct piece *next;
} * pieces;
static void **top; // the frame of main; NULL: nobody walks
static uintptr_t caller;
static unsigned lost, missed;

static inline __attribute__((always_inline)) void walk(void)
{
	void **frame = __builtin_frame_address(0);
	unsigned past_caller = 0, steps = 0;

	if (!top)
		return;
	for (; frame != top && steps < STEPS_MAX && frame > (void **)&frame; steps++, frame = *frame)
		past_caller += (uintptr_t)frame[1] - caller < CALLER_MAX;
	lost += frame != top;
	missed += past_caller != 1;
}

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

FUNCTION void *malloc(size_t size)
{
	walk();
	return size <= PIECE ? take() : NULL;
}

FUNCTION void free(void *block)
{
	struct piece *piece = block;

	if (!piece)
		return;
	piece->next = pieces;
	pieces = piece;
}

FUNCTION void *calloc(size_t count, size_t size)
{
	char *piece;

	walk();
	piece = take();
	for (size_t i = 0; piece && i < count * size; i++)
		((volatile char *)piece)[i] = 0;
	return piece;
}

FUNCTION void *realloc(void *block, size_t size)
{
	walk();
	(void)size;
	return block ? block : take();
}

FUNCTION void *pool_alloc(size_t size)
{
	walk();
	(void)size;
	return take();
}

FUNCTION static void use_malloc(unsigned round)
{
	char *block = malloc(100 + round % 50), *other;

	*block = 1;
	block = realloc(block, 300);
	other = calloc(3, round % 9);
	free(other);
	free(block);
}

FUNCTION static void use_pool(unsigned round)
{
	char *block = pool_alloc(round % 99);

	*block = 1;
	free(block);
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		int uses_pool = strcmp(command, "pool") == 0;

		caller = (uintptr_t)(uses_pool ? use_pool : use_malloc);
		lost = missed = 0;
		top = __builtin_frame_address(0);
		for (unsigned round = 0; round < ROUNDS; round++)
			(uses_pool ? use_pool : use_malloc)(round);
		top = NULL;
		printf("%u %u\n", lost, missed);
	}
	return 0;
}
