// SPDX-License-Identifier: Apache-2.0
// Functions of its own under names that the C library uses otherwise and no standard reserves, with other arguments.
// Each line of input: calls them, and answers "right" if they got what they were given.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

struct pool {
	char memory[1 << 12];
	int used;
};

void *valloc(struct pool *pool, int size, const char *tag, double weight);
int cfree(struct pool *pool, void *block, int size, long check);

static bool right = true;

__attribute__((noipa)) void *valloc(struct pool *pool, int size, const char *tag, double weight)
{
	right &= size == 10 && strcmp(tag, "tag") == 0 && weight == 1.5;
	pool->used = (pool->used + size) % 4000;
	return pool->memory + pool->used;
}

__attribute__((noipa)) int cfree(struct pool *pool, void *block, int size, long check)
{
	right &= block == pool->memory + pool->used && size == 10 && check == 77;
	return pool->used;
}

int main(void)
{
	static struct pool pool;

	say_ready();
	while (next_command()) {
		for (int i = 0; i < 1000; i++)
			cfree(&pool, valloc(&pool, 10, "tag", 1.5), 10, 77);
		puts(right ? "right" : "wrong");
	}
	return 0;
}
