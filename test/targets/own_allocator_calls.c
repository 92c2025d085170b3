// SPDX-License-Identifier: Apache-2.0
// Calls each function of own_allocator.c and keeps the account of it. Each site makes blocks in its own way and gives
// them back in its own. Commands on standard input:
//   early      makes blocks at all sites
//   drop       gives these back; prints {"count", "sized", "sized_bytes"}: all of them, and those whose size the caller
//              says
//   work       makes blocks at all sites and gives most of them back; prints {"site", "objects", "bytes", "calls"} for
//              each, then {"end": sites}
//   finish     gives the rest back; prints "ok"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "own_allocator.h"

enum { KEPT = 16, WORK = 100, ALIGNMENT = 128, LOGARITHM = 7 };

// No tail call, and nothing is assumed of what a function of that name returns.
#define LOOK_AT(block) __asm__ volatile("" : "+r"(block) : : "memory")
#define EXPECT(condition)                                                                                              \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static bool is_zero(const char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i])
			return false;
	return true;
}

FUNCTION void *site_malloc(size_t size)
{
	void *block = NAME(malloc)(size);

	LOOK_AT(block);
	return block;
}

FUNCTION void *site_calloc(size_t size)
{
	void *block = NAME(calloc)(size / 8, 8);

	LOOK_AT(block);
	EXPECT(is_zero(block, size));
	return block;
}

FUNCTION void *site_realloc(size_t size)
{
	void *block = NAME(realloc)(NULL, 2 * size);

	LOOK_AT(block);
	EXPECT(!NAME(realloc)(block, SIZE_MAX / 2));
	block = NAME(realloc)(block, size);
	LOOK_AT(block);
	return block;
}

FUNCTION void *site_posix_memalign(size_t size)
{
	void *block = NULL;

	EXPECT(NAME(posix_memalign)(&block, ALIGNMENT, size) == 0 && (uintptr_t)block % ALIGNMENT == 0);
	return block;
}

FUNCTION void *site_aligned_alloc(size_t size)
{
	void *block = NAME(aligned_alloc)(ALIGNMENT, size);

	LOOK_AT(block);
	EXPECT((uintptr_t)block % ALIGNMENT == 0);
	return block;
}

FUNCTION void *site_memalign(size_t size)
{
	void *block = NAME(memalign)(ALIGNMENT, size);

	LOOK_AT(block);
	EXPECT((uintptr_t)block % ALIGNMENT == 0);
	return block;
}

FUNCTION void *site_valloc(size_t size)
{
	void *block = NAME(valloc)(size);

	LOOK_AT(block);
	EXPECT((uintptr_t)block % 4096 == 0);
	return block;
}

FUNCTION void *site_pvalloc(size_t size)
{
	void *block = NAME(pvalloc)(size);

	LOOK_AT(block);
	EXPECT((uintptr_t)block % 4096 == 0);
	return block;
}

static void give(void *block, size_t size)
{
	(void)size;
	NAME(free)(block);
}
static void give_sized(void *block, size_t size)
{
	NAME(free_sized)(NULL, size); // nothing
	NAME(free_sized)(block, size);
}
static void give_aligned_sized(void *block, size_t size)
{
	NAME(free_aligned_sized)(NULL, ALIGNMENT, size);
	NAME(free_aligned_sized)(block, ALIGNMENT, size);
}

#ifdef PREFIX
FUNCTION void *site_mallocx(size_t size)
{
	void *block = NAME(mallocx)(size, LOGARITHM | ZEROED);

	LOOK_AT(block);
	EXPECT((uintptr_t)block % ALIGNMENT == 0 && is_zero(block, size));
	return block;
}

FUNCTION void *site_rallocx(size_t size)
{
	void *block = NAME(mallocx)(2 * size, 0);

	LOOK_AT(block);
	EXPECT(!NAME(rallocx)(block, SIZE_MAX / 2, 0));
	block = NAME(rallocx)(block, size, 0);
	LOOK_AT(block);
	return block;
}

// Eight bytes of the size are asked for as welcome.
FUNCTION void *site_xallocx(size_t size)
{
	void *block = NAME(mallocx)(3 * size, 0);

	LOOK_AT(block);
	EXPECT(NAME(xallocx)(block, SIZE_MAX / 2, 0, 0) < SIZE_MAX / 2); // the block stays
	EXPECT(NAME(xallocx)(block, size - 8, 8, 0) >= size);
	return block;
}

static void give_aligned_x(void *block, size_t size)
{
	(void)size;
	NAME(dallocx)(block, LOGARITHM);
}
static void give_sized_x(void *block, size_t size) { NAME(sdallocx)(block, size, 0); }
#endif

static struct site {
	const char *name;
	void *(*make)(size_t size);
	void (*give)(void *block, size_t size);
	unsigned calls_each; // that make or change a block
	bool sized;          // `give` says the size
	void *kept[KEPT], *early[KEPT];
} sites[] = {
	{ "site_malloc", site_malloc, give_sized, 1, true, { 0 }, { 0 } },
	{ "site_calloc", site_calloc, give, 1, false, { 0 }, { 0 } },
	{ "site_realloc", site_realloc, give_sized, 2, true, { 0 }, { 0 } },
	{ "site_posix_memalign", site_posix_memalign, give_aligned_sized, 1, true, { 0 }, { 0 } },
	{ "site_aligned_alloc", site_aligned_alloc, give_aligned_sized, 1, true, { 0 }, { 0 } },
	{ "site_memalign", site_memalign, give, 1, false, { 0 }, { 0 } },
	{ "site_valloc", site_valloc, give, 1, false, { 0 }, { 0 } },
	{ "site_pvalloc", site_pvalloc, give_sized, 1, true, { 0 }, { 0 } },
#ifdef PREFIX
	{ "site_mallocx", site_mallocx, give_aligned_x, 1, false, { 0 }, { 0 } },
	{ "site_rallocx", site_rallocx, give_sized_x, 2, true, { 0 }, { 0 } },
	{ "site_xallocx", site_xallocx, give_sized_x, 2, true, { 0 }, { 0 } },
#endif
};
enum { SITES = sizeof(sites) / sizeof(sites[0]) };

static size_t size_of(size_t number) { return 8 * (3 + number); }

static void keep(const struct site *site, void **blocks)
{
	for (size_t i = 0; i < KEPT; i++) {
		blocks[i] = site->make(size_of(i));
		EXPECT(blocks[i]);
		memset(blocks[i], (int)('a' + i), size_of(i));
	}
}

static void give_kept(const struct site *site, void **blocks)
{
	for (size_t i = 0; i < KEPT; i++) {
		for (size_t j = 0; j < size_of(i); j++)
			EXPECT(((char *)blocks[i])[j] == (char)('a' + i));
		site->give(blocks[i], size_of(i));
	}
}

static void work(struct site *site)
{
	size_t bytes = 0;

	for (size_t i = 0; i < WORK; i++)
		site->give(site->make(size_of(i)), size_of(i));
	keep(site, site->kept);
	for (size_t i = 0; i < KEPT; i++)
		bytes += size_of(i);
	printf("{\"site\": \"%s\", \"objects\": %d, \"bytes\": %zu, \"calls\": %u}\n", site->name, KEPT, bytes,
	       (WORK + KEPT) * site->calls_each);
}

static void drop(void)
{
	size_t bytes = 0;
	int sized = 0;

	for (int i = 0; i < SITES; i++) {
		give_kept(&sites[i], sites[i].early);
		for (size_t j = 0; j < KEPT && sites[i].sized; j++) {
			bytes += size_of(j);
			sized++;
		}
	}
	printf("{\"count\": %d, \"sized\": %d, \"sized_bytes\": %zu}\n", SITES * KEPT, sized, bytes);
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "early") == 0) {
			for (int i = 0; i < SITES; i++)
				keep(&sites[i], sites[i].early);
			puts("made");
		} else if (strcmp(command, "drop") == 0) {
			drop();
		} else if (strcmp(command, "work") == 0) {
			for (int i = 0; i < SITES; i++)
				work(&sites[i]);
			printf("{\"end\": %d}\n", SITES);
		} else if (strcmp(command, "finish") == 0) {
			for (int i = 0; i < SITES; i++)
				give_kept(&sites[i], sites[i].kept);
			puts("ok");
		}
	}
	return 0;
}
