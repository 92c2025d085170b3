// SPDX-License-Identifier: Apache-2.0
// An allocator and its callers in one file, in the main program: the compiler knows which registers the allocator
// changes, and keeps values in the others across its calls (gcc's -fipa-ra, part of -O2; this file is compiled with
// it). Two: the C library's names, and a pool. Commands on standard input: "work" uses malloc and free, "pool" the
// pool, "watched" one that may be left by a jump. Answer: a sum over the work.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define FUNCTION __attribute__((noinline, no_stack_protector))

enum { SIZE = 1 << 24, ROUNDS = 1000 };

static char memory[SIZE] __attribute__((aligned(16)));
static size_t used;
static jmp_buf outside;
static volatile int leaves;

static inline void *take(size_t size)
{
	size_t *header;

	if (used + size + 64 > SIZE)
		used = SIZE / 2;
	header = (size_t *)(memory + used);
	used += ((size + 15) & ~(size_t)15) + 16;
	header[0] = size;
	return header + 2;
}

FUNCTION void *malloc(size_t size) { return take(size); }

FUNCTION void free(void *block)
{
	if (block)
		((size_t *)block)[-1]++;
}

void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }

void *realloc(void *block, size_t size)
{
	size_t old = block ? ((size_t *)block)[-2] : 0;
	void *copy = memcpy(malloc(size), block ? block : "", old < size ? old : size);

	free(block);
	return copy;
}

FUNCTION void *pool_alloc(size_t size) { return take(size); }

FUNCTION void pool_free(void *block) { ((size_t *)block)[-1]++; }

// It may be left by a jump.
FUNCTION void *jumping_alloc(size_t size)
{
	if (leaves)
		longjmp(outside, 1);
	return take(size);
}

#define WORK(name, allocate, release)                                                                                  \
	FUNCTION static uint64_t name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, double x, double y)              \
	{                                                                                                              \
		uint64_t sum = 0;                                                                                      \
		double real = 0;                                                                                       \
                                                                                                                       \
		for (uint64_t i = 0; i < ROUNDS; i++) {                                                                \
			char *block = allocate(16 + (i & 31));                                                         \
                                                                                                                       \
			*block = (char)i;                                                                              \
			sum += a * i + b * 3 + c * 5 + d * 7 + (uint64_t)(block - memory) % 16;                        \
			real += x * (double)i + y;                                                                     \
			a += b;                                                                                        \
			b ^= c;                                                                                        \
			c += d;                                                                                        \
			d += i;                                                                                        \
			release(block);                                                                                \
		}                                                                                                      \
		return sum + (uint64_t)real;                                                                           \
	}

WORK(with_malloc, malloc, free)
WORK(with_pool, pool_alloc, pool_free)
WORK(with_jumps, jumping_alloc, pool_free)

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		uint64_t sum = strcmp(command, "work") == 0   ? with_malloc(1, 2, 3, 4, 1.5, 2.5)
			       : strcmp(command, "pool") == 0 ? with_pool(1, 2, 3, 4, 1.5, 2.5)
							      : with_jumps(1, 2, 3, 4, 1.5, 2.5);

		printf("%llx\n", (unsigned long long)sum);
	}
	return 0;
}
