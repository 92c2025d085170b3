// SPDX-License-Identifier: Apache-2.0
// A program with a malloc of its own, which calls a function through a pointer, as glibc's once did (__malloc_hook).
// Nothing in the program itself throws; the library that is given as its argument (throwing_hook.cc) sets the pointer,
// and throws through malloc. Commands on standard input:
//   work     makes blocks and gives them back; prints "right"
//   throw    prints "caught" or "returned"
#include "commands.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 16 };

static char memory[1 << 26] __attribute__((aligned(64)));
static size_t used;
static volatile size_t touched; // before anything is called, so that there is room for a hook

__attribute__((visibility("default"))) void (*volatile allocation_hook)(size_t size);

__attribute__((noipa)) void *malloc(size_t size)
{
	void (*hook)(size_t);
	size_t start;

	touched = size;
	hook = allocation_hook;
	if (hook)
		hook(size);
	start = (used + HEAD + 15) & ~(size_t)15;
	if (size > sizeof(memory) || start + size > sizeof(memory))
		return NULL;
	used = start + size;
	memcpy(memory + start - HEAD, &size, sizeof(size));
	return memory + start;
}

// Blocks are never used again.
__attribute__((noipa)) void free(void *block) { touched = (uintptr_t)block; }

__attribute__((noipa)) void *calloc(size_t count, size_t size)
{
	void *block;

	touched = size;
	block = malloc(count * size);
	return block ? memset(block, 0, count * size) : NULL;
}

__attribute__((noipa)) void *realloc(void *block, size_t size)
{
	void *other;
	size_t old = 0;

	touched = size;
	other = malloc(size);
	if (block)
		memcpy(&old, (char *)block - HEAD, sizeof(old));
	return other && block ? memcpy(other, block, old < size ? old : size) : other;
}

static const char *work(void)
{
	for (size_t i = 1; i < 100; i++) {
		unsigned char *block = malloc(i);

		if (!block)
			return "wrong";
		memset(block, (int)i, i);
		for (size_t at = 0; at < i; at++)
			if (block[at] != i)
				return "wrong";
		free(block);
	}
	return "right";
}

int main(int count, char **arguments)
{
	void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
	int (*throws)(void) = library ? (int (*)(void))(uintptr_t)dlsym(library, "throw_through_malloc") : NULL;
	const char *command;

	if (!throws)
		return 1;
	say_ready();
	while ((command = next_command()))
		puts(strcmp(command, "throw") != 0 ? work() : throws() ? "caught" : "returned");
	return 0;
}
