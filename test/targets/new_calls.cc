// SPDX-License-Identifier: Apache-2.0
// Blocks by operator new, of 100 to 1,099 bytes. With OWN_OPERATORS the operators are like those of jemalloc
// before 5.3, in the same file as a static function of that name: they call malloc (that of the jemalloc which is
// linked in) and end with a call or a jump. "hold" makes 40,000 and prints how many bytes they have; "free" gives them
// back.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "commands.h"

enum { BLOCKS = 40000 };

#ifdef OWN_OPERATORS
__attribute__((used, noinline)) static void *handleOOM(size_t size, bool)
{
	fprintf(stderr, "no %zu bytes\n", size);
	abort();
}

__attribute__((noinline)) void *operator new(size_t size)
{
	void *block = malloc(size ? size : 1);

	return block ? block : handleOOM(size, false);
}

__attribute__((noinline)) void *operator new[](size_t size) { return malloc(size ? size : 1); } // a jump

void operator delete(void *block) noexcept { free(block); }
void operator delete(void *block, size_t) noexcept { free(block); }
void operator delete[](void *block) noexcept { free(block); }
void operator delete[](void *block, size_t) noexcept { free(block); }
#endif

static void *blocks[BLOCKS];

// Not new expressions, which a compiler may leave out; and a call, so that its caller is this function.
__attribute__((noinline)) static void hold()
{
	size_t bytes = 0;

	for (size_t i = 0; i < BLOCKS; i++) {
		size_t size = 100 + i % 1000;

		blocks[i] = i % 2 ? ::operator new(size) : ::operator new[](size);
		memset(blocks[i], 1, size);
		bytes += size;
	}
	printf("{\"blocks\": %d, \"bytes\": %zu}\n", (int)BLOCKS, bytes);
}

int main()
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "hold") == 0) {
			hold();
			continue;
		}
		for (size_t i = 0; i < BLOCKS; i++)
			i % 2 ? ::operator delete(blocks[i]) : ::operator delete[](blocks[i]);
		puts("freed");
	}
	return 0;
}
