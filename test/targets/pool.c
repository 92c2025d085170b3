// SPDX-License-Identifier: Apache-2.0
// Allocators of a program's own: a pool on top of mmap, with a static function; and one on top of malloc that has the
// same addresses, with a result by pointer. "work" makes blocks from known sites and prints the account, "finish" gives
// all back and prints "ok".
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "commands.h"

enum { CHUNK = 1 << 20, KEPT = 16, WORK = 100 };

struct pool {
	char *next, *end;
	struct piece {
		struct piece *next;
		size_t size;
	} * freed;
};

#define STAY()   __asm__ volatile("" ::: "memory") // no tail call
#define FUNCTION __attribute__((noipa))

FUNCTION void *pool_alloc(struct pool *pool, size_t size)
{
	size_t room = (size + 15) / 16 * 16 + sizeof(struct piece);
	struct piece *piece;

	for (struct piece **link = &pool->freed; *link; link = &(*link)->next) {
		if ((*link)->size >= room) {
			piece = *link;
			*link = piece->next;
			return piece + 1;
		}
	}
	if (room > CHUNK)
		return NULL;
	if (pool->next + room > pool->end) {
		pool->next = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pool->next == MAP_FAILED)
			abort();
		pool->end = pool->next + CHUNK;
	}
	piece = (struct piece *)(void *)pool->next;
	pool->next += room;
	piece->size = room;
	return piece + 1;
}

FUNCTION void pool_free(struct pool *pool, void *block)
{
	struct piece *piece = block;

	piece--;
	piece->next = pool->freed;
	pool->freed = piece;
}

// On top of another function that is added.
FUNCTION void *pool_realloc(int flags, struct pool *pool, double unused, void *block, size_t count, size_t size)
{
	void *larger = pool_alloc(pool, count * size);

	if (flags != 7 || unused != 1.5)
		abort();
	if (!larger)
		return NULL;
	if (block) {
		memcpy(larger, block, 8);
		pool_free(pool, block);
	}
	return larger;
}

static FUNCTION void pool_drop(struct pool *pool, void *block, const char *why)
{
	if (strcmp(why, "dropped") != 0)
		abort();
	pool_free(pool, block);
}

FUNCTION int take_block(size_t size, void **block)
{
	if (size > CHUNK)
		return 12;
	*block = malloc(size);
	return *block ? 0 : 12;
}

static volatile unsigned long given;

FUNCTION void give_block(void *block)
{
	given++;
	free(block);
	STAY();
}

// Calls before there is room for a hook.
FUNCTION void *cannot_be_hooked(size_t size)
{
	void *block = malloc(size);

	STAY();
	return block;
}

static struct pool pool;

// As gcc names a copy for callers who pass the same pool. It stands for one: no caller of this program is given it.
static void *copy_for_one_pool(size_t size) __asm__("pool_alloc.constprop.0");
static __attribute__((noinline, used)) void *copy_for_one_pool(size_t size) { return pool_alloc(&pool, size); }
// And what no caller comes to but through the function itself.
static void moved_away(void) __asm__("pool_alloc.part.0");
static __attribute__((noinline, used)) void moved_away(void) { __asm__ volatile(""); }

FUNCTION void *site_pool_alloc(size_t size)
{
	void *block = pool_alloc(&pool, size);

	STAY();
	return block;
}

FUNCTION void *site_pool_realloc(size_t size)
{
	void *block = pool_realloc(7, &pool, 1.5, NULL, size, 2);

	STAY();
	if (pool_realloc(7, &pool, 1.5, block, CHUNK, 2)) // too large: the block stays
		abort();
	block = pool_realloc(7, &pool, 1.5, block, size / 8, 8);
	STAY();
	return block;
}

FUNCTION void *site_take_block(size_t size)
{
	void *block;

	if (take_block(size, &block))
		abort();
	STAY();
	return block;
}

FUNCTION void *site_malloc(size_t size)
{
	void *block = malloc(size);

	STAY();
	return block;
}

static void pool_give(void *block) { pool_free(&pool, block); }
static void drop_give(void *block) { pool_drop(&pool, block, "dropped"); }

static struct site {
	const char *name;
	void *(*make)(size_t);
	void (*give)(void *);
	unsigned calls_each;
	void *kept[KEPT];
} sites[] = {
	{ "site_pool_alloc", site_pool_alloc, pool_give, 1, { 0 } },
	{ "site_pool_realloc", site_pool_realloc, drop_give, 2, { 0 } },
	{ "site_take_block", site_take_block, give_block, 1, { 0 } },
	{ "site_malloc", site_malloc, free, 1, { 0 } },
};
enum { SITES = sizeof(sites) / sizeof(sites[0]) };

static void work(struct site *site)
{
	size_t bytes = 0;

	for (size_t i = 0; i < WORK; i++)
		site->give(site->make(8 * (1 + i)));
	for (size_t i = 0; i < KEPT; i++) {
		site->kept[i] = site->make(8 * (1 + i));
		bytes += 8 * (1 + i);
	}
	printf("{\"site\": \"%s\", \"objects\": %d, \"bytes\": %zu, \"calls\": %u}\n", site->name, KEPT, bytes,
	       (WORK + KEPT) * site->calls_each);
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "work") == 0) {
			for (int i = 0; i < SITES; i++)
				work(&sites[i]);
			puts("{\"end\": 4}");
		} else if (strcmp(command, "finish") == 0) {
			for (int i = 0; i < SITES; i++)
				for (int j = 0; j < KEPT; j++)
					sites[i].give(sites[i].kept[j]);
			puts("ok");
		}
	}
	return 0;
}
