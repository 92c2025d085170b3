// SPDX-License-Identifier: Apache-2.0
// A heap of so many live blocks from so many stacks. Commands: "fill BLOCKS SIZE DIGITS" allocates blocks of SIZE bytes
// (0: of 16 to 315) from 10^DIGITS stacks, "drop" frees them; each prints "done". The list of the blocks does not lie
// in the heap.
#include "commands.h"
#include "workload.h"
#include <sys/mman.h>

static void **blocks;
static size_t count;

// 10 functions, called in an order that decimal digits say.
static void *walk(size_t number, int left, size_t size);

#define WALKER(digit)                                                                                                  \
	static __attribute__((noipa)) void *walk_##digit(size_t number, int left, size_t size)                         \
	{                                                                                                              \
		void *block = walk(number, left, size);                                                                \
		STAY();                                                                                                \
		return block;                                                                                          \
	}
WALKER(0)
WALKER(1)
WALKER(2)
WALKER(3)
WALKER(4)
WALKER(5)
WALKER(6)
WALKER(7)
WALKER(8)
WALKER(9)

static __attribute__((noipa)) void *walk(size_t number, int left, size_t size)
{
	static void *(*const walkers[])(size_t, int, size_t) = { walk_0, walk_1, walk_2, walk_3, walk_4,
								 walk_5, walk_6, walk_7, walk_8, walk_9 };
	void *block = left ? walkers[number % 10](number / 10, left - 1, size) : malloc(size);

	STAY();
	return block;
}

static void drop(void)
{
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
	if (blocks)
		munmap(blocks, count * sizeof(*blocks));
	blocks = NULL;
	count = 0;
}

static void fill(size_t wanted, size_t size, int digits)
{
	struct random_numbers numbers = { UINT64_C(0x9e3779b97f4a7c15) };

	drop();
	blocks = mmap(NULL, wanted * sizeof(*blocks), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (blocks == MAP_FAILED)
		fail("no memory");
	for (; count < wanted; count++) {
		size_t bytes = size ? size : 16 + random_below(&numbers, 300);
		char *block = walk(count, digits, bytes);
		if (!block)
			fail("no memory");
		for (size_t i = 0; i < bytes; i += 4096) // resident, as a heap in use is
			block[i] = 1;
		blocks[count] = block;
	}
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		size_t wanted, size;
		int digits;

		if (strcmp(command, "drop") == 0)
			drop();
		else if (sscanf(command, "fill %zu %zu %d", &wanted, &size, &digits) == 3 && wanted > 0 &&
			 digits >= 0 && digits < 8)
			fill(wanted, size, digits);
		else
			fail("no such command");
		puts("done");
	}
	return 0;
}
