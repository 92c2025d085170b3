// SPDX-License-Identifier: Apache-2.0
// C++ operators of its own on top of malloc, which count and put a header before each block: a hook that made a block
// by malloc in their place would spoil both. And functions under the names of allocators' extensions, with other
// arguments. "work" makes blocks, keeps some, and prints how many and how often it was called; "finish" gives them
// back.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "commands.h"

enum { HEADER = 32, KEPT = 20, WORK = 1000, SIZE = 48 };

static unsigned long made, given;
static const uint64_t magic = 0x1122334455667788;

void *operator new(size_t size)
{
	char *block = static_cast<char *>(malloc(size + HEADER));

	made++;
	memcpy(block, &magic, sizeof(magic));
	return block + HEADER;
}

void operator delete(void *block) noexcept
{
	char *start = static_cast<char *>(block) - HEADER;

	given++;
	if (memcmp(start, &magic, sizeof(magic)) != 0)
		abort();
	memset(start, 0, sizeof(magic));
	free(start);
}

void operator delete(void *block, size_t) noexcept { operator delete(block); }
void *operator new[](size_t size) { return operator new(size); }
void operator delete[](void *block) noexcept { operator delete(block); }
void operator delete[](void *block, size_t) noexcept { operator delete(block); }

#define OWN extern "C" __attribute__((noipa))

static unsigned long odd;
OWN double vfree(double number, const char *text)
{
	odd += text[0] == 'x' && number == 2.5;
	return number * 2;
}
OWN int sdallocx_pool(int number)
{
	odd += number == 3;
	return number;
}
OWN char *reallocf(char *text, const char *more, int number)
{
	odd += more[0] == 'm' && number == 9;
	return text;
}

OWN void *site_new(size_t size)
{
	void *block = operator new(size);

	__asm__ volatile("" ::: "memory");
	return block;
}

static void *kept[KEPT];

int main()
{
	const char *command;
	char text[] = "text";

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "work") == 0) {
			made = given = odd = 0;
			for (int i = 0; i < WORK; i++)
				operator delete(site_new(SIZE));
			for (int i = 0; i < KEPT; i++)
				kept[i] = site_new(SIZE);
			for (int i = 0; i < WORK; i++)
				if (vfree(2.5, "x") != 5 || sdallocx_pool(3) != 3 || reallocf(text, "m", 9) != text)
					abort();
			printf("%lu %lu %lu\n", made, given, odd);
		} else if (strcmp(command, "finish") == 0) {
			for (int i = 0; i < KEPT; i++)
				operator delete(kept[i]);
			puts("ok");
		}
	}
	return 0;
}
